package join_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
)

// joinAll joins all servers at once, each by a joiner of its own, and returns
// their errors in order.
func joinAll(t *testing.T, ctx context.Context, c *etcdtest.Cluster, servers []*etcdtest.Server, change ...func(*member.Config)) []error {
	t.Helper()
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { _, errs[i] = kit.JoinLearner(t, ctx, c, s, change...) })
	}
	wg.Wait()
	return errs
}

func TestManyJoinersAtOnceNeedNoOrderAndNoSleeps(t *testing.T) {
	for _, tc := range []struct{ from, to int }{{1, 5}, {3, 7}} {
		t.Run(fmt.Sprintf("%d to %d", tc.from, tc.to), func(t *testing.T) {
			t.Parallel()
			if tc.from > 1 {
				kit.NotInEveryRun(t)
			}
			c := etcdtest.Start(t, tc.from, etcdtest.WithVersion("3.7.3"))
			w := c.WritersEvery(2, 20*time.Millisecond)
			var joiners []*etcdtest.Server
			for i := tc.from; i < tc.to; i++ {
				joiners = append(joiners, c.NewServer(fmt.Sprintf("joiner-%d", i+1)))
			}
			began := time.Now()
			for i, err := range joinAll(t, kit.Within(t, 3*time.Minute), c, joiners) {
				assert.NoError(t, err, joiners[i].Name)
			}
			t.Logf("%d joiners at once took %s", len(joiners), time.Since(began))
			voters, learners := kit.Roles(t, c)
			assert.Equal(t, tc.to, voters)
			assert.Zero(t, learners)
			kit.CheckWrites(t, w)
		})
	}
}

func TestTwoJoinersOfOneURLMakeOneMember(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1)
	s := c.NewServer("second")
	for _, err := range joinAll(t, kit.Within(t, time.Minute), c, []*etcdtest.Server{s, s}) {
		assert.NoError(t, err)
	}
	voters, learners := kit.Roles(t, c)
	assert.Equal(t, 2, voters)
	assert.Zero(t, learners)
	kit.TakesWrites(t, c)
}

func TestOfTwoJoinersOfOneNameOneIsRefused(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	servers := []*etcdtest.Server{c.NewServer("same"), c.NewServer("same")}
	errs := joinAll(t, kit.Within(t, 2*time.Minute), c, servers)
	if errs[0] != nil {
		errs[0], errs[1] = errs[1], errs[0]
	}
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], member.ErrNameTaken)
	voters, learners := kit.Roles(t, c)
	assert.Equal(t, 2, voters)
	assert.Zero(t, learners)
	kit.TakesWrites(t, c)
}

func TestAnOperatorInTheMiddleEndsInOneClearState(t *testing.T) {
	const held = 3 * time.Second // the vote waits that long for the operator
	for name, tc := range map[string]struct {
		when member.Kind
		do   func(*testing.T, *etcdtest.Cluster, *etcdtest.Server)
		err  error
	}{
		"removes our learner": {when: member.Started, err: member.ErrGone,
			do: func(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server) {
				_, err := c.Client().MemberRemove(kit.Within(t, 10*time.Second), kit.MemberOf(t, c, s).ID)
				require.NoError(t, err)
			}},
		"promotes our learner": {when: member.Started,
			do: func(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server) {
				go c.Promote(kit.MemberOf(t, c, s).ID)
			}},
		"updates our learner": {when: member.Added,
			do: func(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server) {
				_, err := c.Client().MemberUpdate(kit.Within(t, 10*time.Second), kit.MemberOf(t, c, s).ID, []string{s.PeerURL})
				require.NoError(t, err)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
			s := c.NewServer("second")
			_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, kit.Hold(held), kit.OnEvent(tc.when, func(member.Event) { tc.do(t, c, s) }))
			require.ErrorIs(t, err, tc.err)
			if tc.err == nil {
				assert.False(t, kit.MemberOf(t, c, s).IsLearner)
			}
			kit.TakesWrites(t, c)
		})
	}
}

func TestALeaderThatDiesBetweenAddAndPromoteStopsNoJoin(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"))
	s := c.NewServer("fourth")
	r, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s,
		kit.Hold(2*time.Second), func(c *member.Config) { c.AcceptNoMargin = true },
		kit.OnEvent(member.Started, func(member.Event) { c.Leader().Kill() }))
	require.NoError(t, err)
	assert.Equal(t, 4, r.Voters)
	assert.Equal(t, 0, r.Margin, "three of four answer")
	kit.TakesWrites(t, c)
}

// Without margin the vote is refused for as long as the killed voter is away.
func TestALearnerGetsItsVoteOnceADeadVoterIsBack(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"))
	s := c.NewServer("fourth")
	dead := c.Servers()[2]
	var back time.Time
	var once sync.Once
	r, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s, func(cfg *member.Config) {
		log := cfg.Observe
		kit.Hold(time.Second)(cfg)
		cfg.Observe = func(e member.Event) {
			log(e)
			if e.Kind == member.Started {
				dead.Kill()
			}
			if e.Kind == member.Waiting && strings.HasPrefix(e.Text, member.ErrQuorumAtRisk.Error()) {
				once.Do(func() {
					go func() {
						time.Sleep(2 * time.Second)
						back = time.Now()
						assert.NoError(t, dead.Start(""))
					}()
				})
			}
		}
	})
	require.NoError(t, err)
	assert.False(t, back.IsZero(), "it was never refused for want of margin")
	assert.True(t, r.Promoted.After(back))
	assert.Equal(t, 1, r.Margin)
}
