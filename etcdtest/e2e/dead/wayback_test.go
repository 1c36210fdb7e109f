package dead_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
)

// toldOneWay is whether a join was told that nobody can dial its member: it has ended
// for that, or, where the vote was quicker than what shows it, an event tells.
func toldOneWay(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server, change ...func(*member.Config)) error {
	rec := &kit.Recorder{}
	log := kit.LogEvents(t)
	watch := func(cfg *member.Config) {
		cfg.StallTimeout = 15 * time.Second
		cfg.Observe = func(e member.Event) { rec.Observe(e); log(e) }
	}
	r, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s, append(change, watch)...)
	t.Logf("%+v, %v", r, err)
	assert.NotEqual(t, cluster.WayProven, r.WayBack)
	if err != nil {
		require.ErrorIs(t, err, member.ErrOneWay)
		assert.NotContains(t, err.Error(), "no contact with the leader", "it is the leader that has none with it")
		assert.ErrorContains(t, err, s.PeerURL)
	}
	kit.TakesWrites(t, c)
	return err
}

// A firewall lets the joiner's raft out and nobody's in, and we are beside the joiner: its
// peer port answers us.
func TestAMemberThatTheVotersCannotDial(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.5.35", "3.7.3"} {
		t.Run(version+"/log", func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(version), etcdtest.WithLinks())
			s := c.NewServer("second")
			s.Link().CutRaft()
			_ = toldOneWay(t, c, s)
		})
		t.Run(version+"/snapshot", func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(version), etcdtest.WithLinks(), etcdtest.WithArgs("--snapshot-count=100"))
			c.PutIndex(6000)
			s := c.NewServer("second")
			s.Link().CutRaft()
			require.Error(t, toldOneWay(t, c, s), "no snapshot can be sent to it")
			assert.True(t, kit.MemberOf(t, c, s).IsLearner)
		})
	}
}
