package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
)

// A fault of a server, and how it ends.
type fault struct {
	name      string
	do, undo  func(*etcdtest.Server)
	needsLife bool
}

var faults = []fault{
	{"none", func(*etcdtest.Server) {}, func(*etcdtest.Server) {}, false},
	{"killed", (*etcdtest.Server).Kill, func(s *etcdtest.Server) { _ = s.Start("") }, true},
	{"stopped", (*etcdtest.Server).Pause, (*etcdtest.Server).Resume, true},
	{"cut off", func(s *etcdtest.Server) { s.Link().CutRaft() }, func(s *etcdtest.Server) { s.Link().Heal() }, false},
}

// One server of four has a fault while it or another joins, and the join is given up
// at any moment: the next one makes a voter of it, and no write is lost.
func TestFaultsAtRandomEndInOneMember(t *testing.T) {
	long := kit.FaultsFor(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"), etcdtest.WithLinks())
	w := c.WritersEvery(2, 20*time.Millisecond)
	for n, end := 0, time.Now().Add(long); time.Now().Before(end) && !t.Failed(); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) { joinsInSpite(t, c, c.NewServer(fmt.Sprintf("joiner-%d", n)), r) })
	}
	report, err := w.Check(kit.Within(t, time.Minute))
	t.Logf("writes: %+v", report)
	require.NoError(t, err, "acknowledged writes are lost")
}

func joinsInSpite(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server, r *rand.Rand) {
	upon := append(c.Servers(), s)[r.IntN(4)]
	what, after, patience := faults[r.IntN(len(faults))], upTo(r, 3*time.Second), upTo(r, 8*time.Second)
	t.Logf("%s is %s after %s, the join given up after %s", upon.Name, what.name, after, patience)
	keep := func(cfg *member.Config) { cfg.OnFailure = member.Keep }

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	given := make(chan error, 1)
	go func() {
		_, err := kit.JoinLearner(t, ctx, c, s, keep)
		given <- err
	}()
	time.Sleep(after)
	done := !what.needsLife || upon.Running()
	if done {
		what.do(upon)
	}
	t.Log("the first join:", <-given)
	if done {
		what.undo(upon)
	}

	_, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s, keep)
	require.NoError(t, err, "the second join")
	voters, learners := kit.Roles(t, c)
	assert.Equal(t, []int{4, 0}, []int{voters, learners}, "voters and learners")
	kit.TakesWrites(t, c)
	id := cluster.ID(kit.MemberOf(t, c, s).ID)
	require.NoError(t, member.Remove(kit.Within(t, 2*time.Minute), kit.NewClient(c), id, member.Config{Observe: kit.LogEvents(t)}))
	s.Kill()
}

func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
