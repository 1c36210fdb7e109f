package e2e_test

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
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

func TestTheOldWayAddsAVoterOnlyWhereItsFailureCostsNoQuorum(t *testing.T) {
	t.Parallel()
	t.Run("three, one of them dead", func(t *testing.T) {
		t.Parallel()
		c := etcdtest.Start(t, 3)
		c.Servers()[1].Kill()
		e := refused(t, func() []string { return entries(t, c.Client()) }, member.ErrQuorumAtRisk, func(ctx context.Context) error {
			_, err := joinVoter(t, ctx, c, c.NewServer("fourth"), startsNothing(t))
			return err
		})
		assert.NotEmpty(t, e.Hint)
		takesWrites(t, c)
	})
	t.Run("three, all of them alive", func(t *testing.T) {
		t.Parallel()
		c := etcdtest.Start(t, 3)
		fourth := c.NewServer("fourth")
		events := &recorder{}
		r, err := joinVoter(t, within(t, time.Minute), c, fourth, func(c *member.Config) { c.Observe = events.observe })
		require.NoError(t, err)
		assert.Equal(t, []int{4, 3, 1}, []int{r.Voters, r.Quorum, r.Margin})
		assert.True(t, r.Promoted.IsZero(), "it never was a learner")
		assert.NotContains(t, events.kinds(), string(member.Promoting))
		assert.False(t, memberOf(t, c, fourth).IsLearner)
		takesWrites(t, c)
	})
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		c := etcdtest.Start(t, 1)
		refused(t, func() []string { return entries(t, c.Client()) }, member.ErrQuorumAtRisk, func(ctx context.Context) error {
			_, err := joinVoter(t, ctx, c, c.NewServer("second"), startsNothing(t))
			return err
		})
		takesWrites(t, c)
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
			events := &recorder{}
			cfg := config(t, s)
			cfg.Observe = events.observe
			j, err := gate.NewJoiner(newClient(c), s.Name, cfg)
			require.NoError(t, err)
			plan, err := j.(interface {
				Plan(context.Context, string) (member.Plan, error)
			}).Plan(within(t, time.Minute), s.PeerURL)
			require.NoError(t, err)
			assert.Equal(t, map[bool]member.Do{true: member.DoAddLearner, false: member.DoAddVoter}[tc.learner], plan.Do)
			if !tc.joins {
				return
			}
			r, err := j.Join(within(t, time.Minute), s.PeerURL)
			require.NoError(t, err)
			assert.Equal(t, []int{2, 2, 0}, []int{r.Voters, r.Quorum, r.Margin})
			assert.Equal(t, tc.learner, !r.Promoted.IsZero())
			assert.Equal(t, tc.learner, strings.Contains(events.kinds(), string(member.Promoting)))
			assert.False(t, memberOf(t, c, s).IsLearner)
			takesWrites(t, c)
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
		require.NoError(t, s.WaitServing(within(t, 30*time.Second)))
	}
	require.Eventually(t, func() bool { return allAdvertise(t, c, one) }, 20*time.Second, 50*time.Millisecond)
	list := func() []string { return entries(t, c.Client()) }

	j, err := learner.NewJoiner(newClient(c), "fourth", member.Config{})
	require.NoError(t, err)
	plan, err := j.Plan(within(t, time.Minute), "http://127.0.0.1:1")
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

	refused(t, list, member.ErrQuorumAtRisk, func(ctx context.Context) error {
		_, err := joinVoter(t, ctx, c, c.NewServer("fourth"), startsNothing(t))
		return err
	})

	s := c.NewServer("fourth")
	c.AddLearner(s)
	_, err = joinLearner(t, within(t, 2*time.Minute), c, s, func(c *member.Config) { c.StallTimeout = 3 * time.Second })
	t.Log(err)
	require.ErrorIs(t, err, member.ErrQuorumAtRisk)
	assert.True(t, memberOf(t, c, s).IsLearner, "it got a vote")
	takesWrites(t, c)
}

func allAdvertise(t *testing.T, c *etcdtest.Cluster, url string) bool {
	list, err := c.Client().MemberList(within(t, 20*time.Second))
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
