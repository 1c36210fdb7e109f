package join_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

func TestTheOldWayAddsAVoterOnlyWhereItsFailureCostsNoQuorum(t *testing.T) {
	t.Parallel()
	t.Run("three, one of them dead", func(t *testing.T) {
		t.Parallel()
		c := etcdtest.Start(t, 3)
		c.Servers()[1].Kill()
		e := kit.Refused(t, func() []string { return kit.Entries(t, c.Client()) }, member.ErrQuorumAtRisk, func(ctx context.Context) error {
			_, err := kit.JoinVoter(t, ctx, c, c.NewServer("fourth"), kit.StartsNothing(t))
			return err
		})
		assert.NotEmpty(t, e.Hint)
		kit.TakesWrites(t, c)
	})
	t.Run("three, all of them alive", func(t *testing.T) {
		t.Parallel()
		c := etcdtest.Start(t, 3)
		fourth := c.NewServer("fourth")
		events := &kit.Recorder{}
		r, err := kit.JoinVoter(t, kit.Within(t, time.Minute), c, fourth, func(c *member.Config) { c.Observe = events.Observe })
		require.NoError(t, err)
		assert.Equal(t, []int{4, 3, 1}, []int{r.Voters, r.Quorum, r.Margin})
		assert.True(t, r.Promoted.IsZero(), "it never was a learner")
		assert.NotContains(t, events.Kinds(), string(member.Promoting))
		assert.False(t, kit.MemberOf(t, c, fourth).IsLearner)
		kit.TakesWrites(t, c)
	})
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		c := etcdtest.Start(t, 1)
		kit.Refused(t, func() []string { return kit.Entries(t, c.Client()) }, member.ErrQuorumAtRisk, func(ctx context.Context) error {
			_, err := kit.JoinVoter(t, ctx, c, c.NewServer("second"), kit.StartsNothing(t))
			return err
		})
		kit.TakesWrites(t, c)
	})
}

func TestTheFeatureGatePicksTheWayAtEachStage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		stage   learner.Stage
		set     string
		learner bool
		joins   bool // in earnest
	}{
		{learner.Alpha, "", false, true},
		{learner.Alpha, "EtcdLearnerMode=true", true, false},
		{learner.Beta, "EtcdLearnerMode=false", false, false},
		{learner.Beta, "", true, true},
		{learner.GA, "", true, false},
	} {
		t.Run(string(tc.stage)+" "+tc.set, func(t *testing.T) {
			gate, err := learner.NewFeatureGate(tc.stage)
			require.NoError(t, err)
			require.NoError(t, gate.Set(tc.set))
			c := etcdtest.Start(t, 1)
			s := c.NewServer("second")
			events := &kit.Recorder{}
			cfg := kit.Config(t, s)
			cfg.Observe = events.Observe
			j, err := gate.NewJoiner(kit.NewClient(c), s.Name, cfg)
			require.NoError(t, err)
			plan, err := j.(interface {
				Plan(context.Context, string) (member.Plan, error)
			}).Plan(kit.Within(t, time.Minute), s.PeerURL)
			require.NoError(t, err)
			assert.Equal(t, map[bool]member.Do{true: member.DoAddLearner, false: member.DoAddVoter}[tc.learner], plan.Do)
			if !tc.joins {
				return
			}
			r, err := j.Join(kit.Within(t, time.Minute), s.PeerURL)
			require.NoError(t, err)
			assert.Equal(t, []int{2, 2, 0}, []int{r.Voters, r.Quorum, r.Margin})
			assert.Equal(t, tc.learner, !r.Promoted.IsZero())
			assert.Equal(t, tc.learner, strings.Contains(events.Kinds(), string(member.Promoting)))
			assert.False(t, kit.MemberOf(t, c, s).IsLearner)
			kit.TakesWrites(t, c)
		})
	}
}

func TestThreeVotersOfOneClientURLAreNotTakenForThreeLiveOnes(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"))
	one := c.Servers()[0].ClientURL
	for _, s := range c.Servers()[1:] {
		s.Stop()
		require.NoError(t, s.StartArgs("", "--advertise-client-urls="+one))
		require.NoError(t, s.WaitServing(kit.Within(t, 30*time.Second)))
	}
	require.Eventually(t, func() bool { return allAdvertise(t, c, one) }, 20*time.Second, 50*time.Millisecond, "not all voters advertise %s", one)
	list := func() []string { return kit.Entries(t, c.Client()) }

	j, err := learner.NewJoiner(kit.NewClient(c), "fourth", member.Config{})
	require.NoError(t, err)
	plan, err := j.Plan(kit.Within(t, time.Minute), "http://127.0.0.1:1")
	require.NoError(t, err)
	t.Log(plan)
	assert.Len(t, plan.Snapshot.Voters(), 3)
	live := plan.Snapshot.LiveVoters()
	require.Len(t, live, 1)
	assert.Equal(t, c.Servers()[0].Name, live[0].Name)
	wrong := 0
	for _, m := range plan.Snapshot.Members {
		var other *cluster.WrongServerError
		if errors.As(m.Err, &other) {
			wrong++
		}
	}
	assert.Equal(t, 2, wrong, "who answers in whose place is not told")

	kit.Refused(t, list, member.ErrQuorumAtRisk, func(ctx context.Context) error {
		_, err := kit.JoinVoter(t, ctx, c, c.NewServer("fourth"), kit.StartsNothing(t))
		return err
	})

	s := c.NewServer("fourth")
	c.AddLearner(s)
	_, err = kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s, func(c *member.Config) { c.StallTimeout = 3 * time.Second })
	t.Log(err)
	require.ErrorIs(t, err, member.ErrQuorumAtRisk)
	assert.True(t, kit.MemberOf(t, c, s).IsLearner, "it got a vote")
	kit.TakesWrites(t, c)
}

func allAdvertise(t *testing.T, c *etcdtest.Cluster, url string) bool {
	list, err := c.Client().MemberList(kit.Within(t, 20*time.Second))
	if err != nil {
		return false
	}
	for _, m := range list.Members {
		if len(m.ClientURLs) != 1 || m.ClientURLs[0] != url {
			return false
		}
	}
	return true
}
