package clustertest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
)

func TestPromote(t *testing.T) {
	const l = 4 // the learner of a cluster of three
	for name, tc := range map[string]struct {
		version string
		before  func(t *testing.T, c *clustertest.Cluster)
		id      cluster.ID
		via     cluster.ID
		want    error
		takes   time.Duration
	}{
		"a learner that has caught up": {id: l},
		"an unknown member":            {id: 9, want: rpctypes.ErrMemberNotFound},
		"an unknown member, old":       {id: 9, version: "3.4.13", want: rpctypes.ErrMemberNotFound},
		"a voter":                      {id: 2, want: rpctypes.ErrMemberNotLearner},
		"the leader":                   {id: 1, want: rpctypes.ErrMemberNotLearner},
		"a voter that lags": {id: 2, want: rpctypes.ErrMemberLearnerNotReady,
			before: func(_ *testing.T, c *clustertest.Cluster) { c.Lag(2, 5) }},
		"a learner two of twelve behind": {id: l, want: rpctypes.ErrMemberLearnerNotReady,
			before: func(_ *testing.T, c *clustertest.Cluster) { c.Lag(l, 2) }},
		"a learner one of twelve behind": {id: l,
			before: func(_ *testing.T, c *clustertest.Cluster) { c.Lag(l, 1) }},
		"a learner a million of ten behind": {id: l,
			before: func(_ *testing.T, c *clustertest.Cluster) { c.Put(10_000_000); c.Lag(l, 1_000_000) }},
		"a learner that has received all and applied nothing": {id: l,
			before: func(_ *testing.T, c *clustertest.Cluster) { c.LagApply(l, 1000) }},
		"a dead learner": {id: l, before: func(_ *testing.T, c *clustertest.Cluster) { c.Kill(l) }},
		"a dead learner, after an election": {id: l, want: rpctypes.ErrMemberLearnerNotReady,
			before: func(_ *testing.T, c *clustertest.Cluster) { c.Kill(l); c.SetLeader(2); c.SetLeader(1) }},
		"a paused learner": {id: l, before: func(_ *testing.T, c *clustertest.Cluster) { c.Pause(l) }},
		"a cut learner":    {id: l, before: func(_ *testing.T, c *clustertest.Cluster) { c.CutPeer(l) }},
		"with one dead voter of three": {id: l,
			before: func(_ *testing.T, c *clustertest.Cluster) { c.Kill(2) }},
		"with unstarted voters": {id: l, want: rpctypes.ErrMemberNotEnoughStarted,
			before: func(_ *testing.T, c *clustertest.Cluster) { c.SetName(2, ""); c.SetName(3, "") }},
		"the rules off, with unstarted voters": {id: l,
			before: func(_ *testing.T, c *clustertest.Cluster) {
				c.SetName(2, "")
				c.SetName(3, "")
				c.SetStrict(false)
			}},
		"through a follower":              {id: l, via: 2},
		"unknown through a follower":      {id: 9, via: 2, want: rpctypes.ErrMemberNotFound},
		"a voter through a follower":      {id: 3, via: 2, want: rpctypes.ErrMemberNotLearner},
		"lagging through a follower":      {id: l, via: 2, want: rpctypes.ErrMemberLearnerNotReady, before: func(_ *testing.T, c *clustertest.Cluster) { c.Lag(l, 5) }},
		"through the learner":             {id: l, via: l, want: rpctypes.ErrGRPCNotSupportedForLearner},
		"a leader with a backlog":         {id: l, want: rpctypes.ErrTimeoutWaitAppliedIndex, takes: time.Second, before: func(_ *testing.T, c *clustertest.Cluster) { c.LagApply(1, 3) }},
		"a leader with a backlog, 3.5.6":  {id: l, version: "3.5.6", want: context.DeadlineExceeded, takes: 30 * time.Second, before: func(_ *testing.T, c *clustertest.Cluster) { c.LagApply(1, 3) }},
		"other reasons, through follower": {id: l, via: 2, want: rpctypes.ErrTimeout, takes: 7 * time.Second, before: func(_ *testing.T, c *clustertest.Cluster) { c.SetName(2, ""); c.SetName(3, "") }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
				learner(t, c, url(l))
				serving(t, c, l)
				if tc.version != "" {
					c.SetVersion(0, tc.version)
				}
				if tc.before != nil {
					tc.before(t, c)
				}
				if tc.via == 0 {
					tc.via = 1
				}
				before := c.Members()
				var err error
				takes := took(func() { err = c.Promote(within(t, 30*time.Second), at(c, tc.via), tc.id) })
				assert.InDelta(t, tc.takes, takes, float64(5*time.Millisecond))
				if tc.want != nil {
					require.ErrorContains(t, err, rpctypes.ErrorDesc(tc.want))
					assert.Equal(t, before, c.Members())
					return
				}
				require.NoError(t, err)
				m, _ := c.Member(tc.id)
				assert.False(t, m.Learner)
			})
		})
	}
}

// E§3.3: 3.4.0 to 3.4.3 count the started members wrongly.
func TestPromoteBesideOneVoter(t *testing.T) {
	for version, want := range map[string]error{"3.4.3": rpctypes.ErrMemberNotEnoughStarted, "3.4.4": nil, "3.6.16": nil} {
		bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
			c.SetVersion(0, version)
			id := learner(t, c, "http://b:2380")
			assert.ErrorIs(t, c.Promote(within(t, time.Second), at(c, 1), id), want, version)
		})
	}
}

func TestPromoteUnstarted(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		id := add(t, c, "http://b:2380", true)
		assert.ErrorIs(t, c.Promote(within(t, time.Second), at(c, 1), id), rpctypes.ErrMemberLearnerNotReady)
	})
}

// etcd #21694: an update makes a learner a voter in the list, and no more than
// that.
func TestUpdateOfALearner(t *testing.T) {
	for version, keeps := range map[string]bool{"3.4.45": false, "3.5.30": false, "3.5.31": true, "3.6.11": false, "3.6.12": true, "3.7.0": true} {
		bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
			c.SetVersion(0, version)
			id := learner(t, c, url(4))
			time.Sleep(time.Second)
			require.NoError(t, c.Update(within(t, time.Second), at(c, 1), id, []string{"http://d:2390"}))
			m, _ := c.Member(id)
			assert.Equal(t, []string{"http://d:2390"}, m.PeerURLs)
			assert.Equal(t, keeps, m.Learner, version)
			if keeps {
				return
			}
			assert.Len(t, c.LiveVoters(), 3, "it has no vote in raft")
			time.Sleep(time.Second)
			assert.ErrorIs(t, c.Promote(within(t, time.Second), at(c, 1), id), rpctypes.ErrMemberNotLearner)
		})
	}
}

func TestUpdateRefuses(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Minute)
		assert.ErrorIs(t, c.Update(ctx, at(c, 1), 9, []string{"http://x:2380"}), rpctypes.ErrMemberNotFound)
		assert.ErrorIs(t, c.Update(ctx, at(c, 1), 2, []string{"http://a:2380"}), rpctypes.ErrPeerURLExist)
		assert.NoError(t, c.Update(ctx, at(c, 1), 2, []string{"http://b:2380"}))
		c.Kill(2)
		assert.ErrorIs(t, c.Update(within(t, 5*time.Second), at(c, 1), 2, []string{"http://x:2380"}), context.DeadlineExceeded)
	})
}

func TestWitness(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(c *clustertest.Cluster)
		want   []string
	}{
		"healthy": {func(*clustertest.Cluster) {}, nil},
		"dead":    {func(c *clustertest.Cluster) { c.Kill(2) }, []string{"member 2 was given a vote: no server runs as it"}},
		"paused":  {func(c *clustertest.Cluster) { c.Pause(2) }, []string{"member 2 was given a vote: its server is stopped or about to crash"}},
		"cut":     {func(c *clustertest.Cluster) { c.CutPeer(2) }, []string{"member 2 was given a vote: its peer link is cut"}},
		"lagging": {func(c *clustertest.Cluster) { c.LagApply(2, 7) }, []string{"member 2 was given a vote: it has applied 5 of 13"}},
		"slow":    {func(c *clustertest.Cluster) { c.ApplyRate(2, 10); c.Put(1) }, nil},
		"too slow": {func(c *clustertest.Cluster) { c.Put(1000); c.ApplyRate(2, 100); c.LagApply(2, 0); c.Put(100) },
			[]string{"member 2 was given a vote: it has applied 1012 of 1113, 1.0 s behind"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
				c.Timing.Commit = 0
				id := learner(t, c, "http://b:2380")
				serving(t, c, id)
				tc.before(c)
				require.NoError(t, c.Promote(within(t, time.Second), at(c, 1), id))
				assert.Equal(t, tc.want, c.VotesGivenToDead())
			})
		})
	}
}
