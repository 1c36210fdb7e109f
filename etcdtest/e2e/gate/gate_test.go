package gate_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
)

// whenInSync calls do once, when the learner has caught up and may have its vote.
func whenInSync(do func()) func(*member.Config) {
	return func(c *member.Config) {
		var once sync.Once
		c.StallTimeout = 6 * time.Second
		c.MayPromote = func(context.Context, cluster.Member) error {
			once.Do(do)
			return nil
		}
	}
}

func TestALearnerThatDiedAfterItCaughtUpGetsNoVote(t *testing.T) {
	for name, tc := range map[string]struct {
		voters int
		end    func(*etcdtest.Server)
	}{
		"killed, 1 to 2":  {1, (*etcdtest.Server).Kill},
		"killed, 3 to 4":  {3, (*etcdtest.Server).Kill},
		"stopped, 1 to 2": {1, (*etcdtest.Server).Pause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, tc.voters, etcdtest.WithVersion("3.7.3"))
			c.PutIndex(500) // etcd asks for nine tenths of the log: one entry must not decide
			s := c.NewServer("dead")
			keep := func(c *member.Config) { c.OnFailure = member.Keep }
			_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, whenInSync(func() { tc.end(s) }), keep)

			require.ErrorIs(t, err, member.ErrNotLive)
			var stall *cluster.StallError
			require.ErrorAs(t, err, &stall)
			assert.False(t, stall.Progress.ReadAt.IsZero(), "the last evidence is missing")
			assert.Contains(t, err.Error(), "last read through it answered")
			m := kit.MemberOf(t, c, s)
			assert.True(t, m.IsLearner, "it got a vote")
			kit.TakesWrites(t, c)

			_, err = c.ClientFor(c.Leader()).MemberPromote(kit.Within(t, 10*time.Second), m.ID)
			t.Logf("for contrast: asked without the gate, etcd gives the dead learner its vote: %t (%v)", err == nil, err)
			err = kit.PutOne(kit.Within(t, 2*time.Second), c)
			t.Logf("for contrast: the cluster then takes writes: %t (%v)", err == nil, err)
		})
	}
}

func TestADeadLearnerIsUndoneAsThePolicySays(t *testing.T) {
	for policy, stays := range map[member.OnFailure]bool{
		member.Undo: false,
		// It has run: by default it is left to be looked at, and Join goes on from it.
		member.UndoUnstarted: true,
	} {
		t.Run("policy "+string(policy), func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
			s := c.NewServer("dead")
			_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, whenInSync(s.Kill), func(c *member.Config) { c.OnFailure = policy })
			require.ErrorIs(t, err, member.ErrNotLive)
			assert.Equal(t, stays, kit.MemberOf(t, c, s) != nil)
			kit.TakesWrites(t, c)
			var join *member.JoinError
			require.ErrorAs(t, err, &join)
			assert.NotEmpty(t, join.Undone)
		})
	}
}

func TestALearnerCutOffFromItsLeaderGetsItsVoteOnceTheLinkIsBack(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"), etcdtest.WithLinks())
	s := c.NewServer("cut")
	cut := make(chan time.Time, 1)
	events := &kit.Recorder{}
	ctx := kit.Within(t, 2*time.Minute)
	joined := make(chan error, 1)
	go func() {
		_, err := kit.JoinLearner(t, ctx, c, s, whenInSync(func() {
			c.Servers()[0].Link().CutRaft()
			s.Link().CutRaft()
			cut <- time.Now()
		}), func(cfg *member.Config) {
			log := cfg.Observe
			cfg.StallTimeout = time.Minute
			cfg.Observe = func(e member.Event) { log(e); events.Observe(e) }
		})
		joined <- err
	}()

	<-cut
	// All that others look at stays green, and the vote is not given.
	time.Sleep(8 * time.Second)
	assert.True(t, kit.MemberOf(t, c, s).IsLearner)
	st, err := c.ClientFor(s).Status(ctx, s.ClientURL)
	t.Logf("for contrast: the client port of the learner answers: %t (%v), with a leader: %t", err == nil, err, err == nil && st.Leader != 0)
	assert.NotContains(t, events.Kinds(), string(member.Promoting))

	c.Servers()[0].Link().Heal()
	s.Link().Heal()
	require.NoError(t, <-joined)
	assert.False(t, kit.MemberOf(t, c, s).IsLearner)
	kit.TakesWrites(t, c)
}

func TestJoinAgainAfterSuccessWritesNothing(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1)
	s := c.NewServer("second")
	first, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s)
	require.NoError(t, err)
	require.True(t, first.Changed)
	starts := 0
	again, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, func(c *member.Config) {
		c.Start = func(context.Context, member.StartSpec) error { starts++; return errors.New("must not be called") }
		c.MayAdd = func(context.Context, cluster.Member) error { return errors.New("must not be asked") }
		c.MayPromote, c.MayRemove = c.MayAdd, c.MayAdd
	})
	require.NoError(t, err)
	assert.Equal(t, first.Member.ID, again.Member.ID)
	assert.False(t, again.Changed)
	assert.Zero(t, starts)
}
