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

func TestRemove(t *testing.T) {
	for name, tc := range map[string]struct {
		voters int
		before prepare
		id     cluster.ID
		want   error
	}{
		"a live one of three":              {voters: 3, id: 3},
		"the leader itself":                {voters: 3, id: 1},
		"an unknown one":                   {voters: 3, id: 9, want: rpctypes.ErrMemberNotFound},
		"a dead one of three":              {voters: 3, id: 3, before: kill(3)},
		"a live one, another dead of 3":    {voters: 3, id: 3, before: kill(2), want: rpctypes.ErrUnhealthy},
		"the leader, another dead of 3":    {voters: 3, id: 1, before: kill(2), want: rpctypes.ErrUnhealthy},
		"a live one of five, one dead":     {voters: 5, id: 3, before: kill(2)},
		"a live one of two":                {voters: 2, id: 2},
		"the only one":                     {voters: 1, id: 1, want: rpctypes.ErrMemberNotEnoughStarted},
		"started beside an unstarted one":  {voters: 2, id: 2, before: unstarted(false), want: rpctypes.ErrMemberNotEnoughStarted},
		"an unstarted one of three":        {voters: 2, id: 3, before: unstarted(false)},
		"a learner":                        {voters: 3, id: 4, before: unstarted(true)},
		"a learner, one voter dead of 3":   {voters: 3, id: 4, before: both(unstarted(true), kill(2))},
		"a live one just restarted":        {voters: 3, id: 3, before: func(_ *testing.T, c *clustertest.Cluster) { c.Kill(3); c.Restart(3); time.Sleep(time.Second) }, want: rpctypes.ErrUnhealthy},
		"unknown, too few started anyway":  {voters: 1, id: 9, before: unstarted(false), want: rpctypes.ErrMemberNotEnoughStarted},
		"the rules off, another dead of 3": {voters: 3, id: 3, before: both(kill(2), func(_ *testing.T, c *clustertest.Cluster) { c.SetStrict(false) })},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tc.voters, func(t *testing.T, c *clustertest.Cluster) {
				if tc.before != nil {
					tc.before(t, c)
				}
				err := c.Remove(within(t, time.Second/2), at(c, 1), tc.id)
				_, there := c.Member(tc.id)
				if tc.want != nil {
					require.ErrorIs(t, err, tc.want)
					assert.Equal(t, tc.id != 9, there)
					return
				}
				require.NoError(t, err)
				assert.False(t, there)
			})
		})
	}
}

func TestARemovedServerExits(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Minute)
		id := learner(t, c, url(4))
		h := c.HostOf(id)
		require.NoError(t, c.Remove(ctx, at(c, 1), id))
		assert.Nil(t, h.Exited(ctx))
		time.Sleep(time.Second)
		assert.False(t, h.Running())
		assert.Equal(t, 0, h.Exited(ctx).Code)
		assert.ErrorIs(t, c.Remove(ctx, at(c, 1), id), rpctypes.ErrMemberNotFound)

		c.Restart(id) // on the data of a removed member
		assert.True(t, h.Running())
		time.Sleep(time.Second)
		assert.False(t, h.Running())
		assert.ErrorContains(t, h.Exited(ctx), "permanently removed")
	})
}

func TestARemovedServerLearnsOfItWhenItIsBack(t *testing.T) {
	for name, away := range map[string]struct{ go_, back func(*clustertest.Cluster) }{
		"paused": {func(c *clustertest.Cluster) { c.Pause(3) }, func(c *clustertest.Cluster) { c.Resume(3) }},
		"cut":    {func(c *clustertest.Cluster) { c.CutPeer(3) }, func(c *clustertest.Cluster) { c.HealPeer(3) }},
		"killed": {func(c *clustertest.Cluster) { c.Kill(3) }, func(c *clustertest.Cluster) { c.Restart(3) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
				h := c.HostOf(3)
				away.go_(c)
				c.Removed(3)
				time.Sleep(time.Minute)
				assert.Nil(t, h.Exited(t.Context()))
				away.back(c)
				time.Sleep(time.Second)
				require.NotNil(t, h.Exited(t.Context()))
				assert.Equal(t, 0, h.Exited(t.Context()).Code)
			})
		})
	}
}

func TestRemovingTheLeader(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		require.NoError(t, c.Remove(within(t, time.Second), at(c, 1), 1))
		time.Sleep(1100 * time.Millisecond)
		assert.Equal(t, cluster.ID(2), c.Leader())
		assert.True(t, c.HasQuorum())
		assert.False(t, c.QuorumLost())
	})
}

func TestMoveLeader(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Minute)
		unstarted(true)(t, c)
		assert.ErrorIs(t, c.MoveLeader(ctx, at(c, 2), 3), rpctypes.ErrNotLeader)
		assert.ErrorIs(t, c.MoveLeader(ctx, at(c, 1), 9), rpctypes.ErrBadLeaderTransferee)
		assert.ErrorIs(t, c.MoveLeader(ctx, at(c, 1), 4), rpctypes.ErrBadLeaderTransferee)
		assert.NoError(t, c.MoveLeader(ctx, at(c, 1), 1))
		require.NoError(t, c.MoveLeader(ctx, at(c, 1), 2))
		assert.Equal(t, cluster.ID(2), c.Leader())
		c.Kill(3)
		assert.ErrorIs(t, c.MoveLeader(within(t, 9*time.Second), at(c, 2), 3), context.DeadlineExceeded)
		assert.Equal(t, cluster.ID(2), c.Leader())
	})
}
