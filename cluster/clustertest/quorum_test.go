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

func TestWithoutQuorum(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		c.Kill(2)
		assert.True(t, c.HasQuorum())
		assert.False(t, c.QuorumLost())
		c.Kill(3)
		assert.False(t, c.HasQuorum())

		_, err := c.List(within(t, time.Second), at(c, 1))
		assert.ErrorIs(t, err, context.DeadlineExceeded, "the leader does not know yet")
		time.Sleep(time.Second)
		assert.Zero(t, c.Leader())
		for name, call := range map[string]func(context.Context) error{
			"list":        func(ctx context.Context) error { _, err := c.List(ctx, at(c, 1)); return err },
			"add":         func(ctx context.Context) error { _, err := c.Add(ctx, at(c, 1), []string{url(4)}, true); return err },
			"promote":     func(ctx context.Context) error { return c.Promote(ctx, at(c, 1), 9) },
			"remove":      func(ctx context.Context) error { return c.Remove(ctx, at(c, 1), 9) },
			"update":      func(ctx context.Context) error { return c.Update(ctx, at(c, 1), 2, []string{url(2)}) },
			"move leader": func(ctx context.Context) error { return c.MoveLeader(ctx, at(c, 1), 1) },
			"barrier":     func(ctx context.Context) error { return barrier(c, ctx, at(c, 1)) },
			"may change":  func(ctx context.Context) error { return c.MayChange(ctx, at(c, 1)) },
		} {
			assert.Zero(t, took(func() { assert.ErrorIs(t, call(within(t, time.Minute)), rpctypes.ErrNoLeader, name) }), name)
		}

		l, err := c.ListAt(within(t, time.Second), at(c, 1))
		require.NoError(t, err, "a serializable list needs no quorum")
		assert.Len(t, l.Members, 3)
		st, err := c.Status(within(t, time.Second), at(c, 1))
		require.NoError(t, err)
		assert.Zero(t, st.Leader)
		assert.Equal(t, []string{"etcdserver: no leader"}, st.Errors)
		var unready *cluster.Unready
		assert.InDelta(t, 7*time.Second, took(func() {
			_, err := c.Read(within(t, time.Minute), at(c, 1))
			require.ErrorAs(t, err, &unready)
		}), float64(time.Millisecond))
		assert.Equal(t, &cluster.Unready{Status: 500, Text: "failed linearized read: context deadline exceeded\n"}, unready)

		c.Restart(2)
		assert.InDelta(t, time.Second, took(func() {
			for c.Leader() == 0 {
				time.Sleep(10 * time.Millisecond)
			}
		}), float64(100*time.Millisecond))
		_, err = c.List(within(t, time.Second), at(c, 1))
		assert.NoError(t, err)
		assert.True(t, c.QuorumLost(), "once lost is remembered")
	})
}

// A list that was asked for while the leader did not know of its loss waits for
// etcd's own seven seconds.
func TestAListPendingWithoutQuorum(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		c.Kill(2)
		c.Kill(3)
		assert.InDelta(t, 7*time.Second, took(func() {
			_, err := c.List(within(t, time.Minute), at(c, 1))
			assert.ErrorIs(t, err, rpctypes.ErrTimeout)
		}), float64(time.Millisecond))
	})
}

// The old way's worst case: a second voter that does not run takes the quorum of
// the first, and its start gives it back, once it has waited for a word on
// downgrades that nobody can give.
func TestASecondVoterThatDoesNotRun(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		id := add(t, c, "http://b:2380", false)
		assert.False(t, c.HasQuorum())
		time.Sleep(3 * time.Second)
		assert.Zero(t, c.Leader())
		assert.ErrorIs(t, c.Remove(within(t, time.Second), at(c, 1), id), rpctypes.ErrNoLeader)

		start(t, c, id)
		healed := took(func() {
			for c.Leader() == 0 {
				time.Sleep(10 * time.Millisecond)
			}
		})
		assert.InDelta(t, 8*time.Second, healed, float64(200*time.Millisecond))
		serving(t, c, id)
		m, _ := c.Member(id)
		assert.Equal(t, "m2", m.Name)
		assert.Len(t, c.LiveVoters(), 2)
	})
}

func TestAWriteWithoutQuorumMayComeLater(t *testing.T) {
	for name, drop := range map[string]bool{"kept": false, "dropped": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
				c.DropUncommitted(drop)
				id := add(t, c, "http://b:2380", false)
				err := c.Remove(within(t, time.Second), at(c, 1), id) // the leader does not know yet
				require.ErrorIs(t, err, context.DeadlineExceeded)
				time.Sleep(time.Hour)
				assert.Len(t, c.Members(), 2, "never without quorum")

				start(t, c, id)
				time.Sleep(time.Minute)
				_, there := c.Member(id)
				assert.Equal(t, drop, there)
				calls := c.Writes()
				assert.Equal(t, !drop, calls[len(calls)-1].Applied)
			})
		})
	}
}

func TestTheLeaderDies(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		c.Kill(1)
		st, err := c.Status(within(t, time.Second), at(c, 2))
		require.NoError(t, err)
		assert.Equal(t, cluster.ID(1), st.Leader, "nobody knows yet")
		go func() {
			_, err := c.Read(within(t, time.Minute), at(c, 2))
			assert.ErrorContains(t, err, "leader changed")
		}()
		go func() {
			err := c.Promote(within(t, time.Minute), at(c, 3), 9)
			assert.ErrorIs(t, err, rpctypes.ErrMemberNotFound, "it asked the new leader")
		}()
		go func() {
			assert.ErrorIs(t, barrier(c, within(t, time.Minute), at(c, 2)), rpctypes.ErrTimeout, "what was sent to the old one is lost")
		}()
		time.Sleep(1100 * time.Millisecond)
		assert.Equal(t, cluster.ID(2), c.Leader())
		assert.False(t, c.QuorumLost())
		_, err = c.List(within(t, time.Second), at(c, 3))
		assert.NoError(t, err)
		time.Sleep(time.Minute)

		c.Restart(1)
		time.Sleep(time.Second)
		st, err = c.Status(within(t, time.Second), at(c, 1))
		require.NoError(t, err)
		assert.Equal(t, cluster.ID(2), st.Leader)
	})
}

// A leader that is killed and comes back at once does not lead.
func TestALeaderThatRestarts(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		c.Kill(1)
		c.Restart(1)
		time.Sleep(500 * time.Millisecond)
		_, err := c.List(within(t, 100*time.Millisecond), at(c, 2))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Second)
		_, err = c.List(within(t, time.Second), at(c, 2))
		assert.NoError(t, err)
	})
}

func TestACutVoter(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		c.CutPeer(3)
		assert.True(t, c.HasQuorum())
		st, err := c.Status(within(t, time.Second), at(c, 3))
		require.NoError(t, err)
		assert.Equal(t, cluster.ID(1), st.Leader)
		time.Sleep(2 * time.Second)
		st, err = c.Status(within(t, time.Second), at(c, 3))
		require.NoError(t, err, "its client port answers")
		assert.Zero(t, st.Leader)
		_, err = c.List(within(t, time.Second), at(c, 3))
		assert.ErrorIs(t, err, rpctypes.ErrNoLeader)
		_, err = c.List(within(t, time.Second), at(c, 3), at(c, 2))
		assert.NoError(t, err, "another target answers")

		add(t, c, url(4), true)
		l, err := c.ListAt(within(t, time.Second), at(c, 3))
		require.NoError(t, err)
		assert.Len(t, l.Members, 3, "its own list is a stale one")
		c.HealPeer(3)
		l, err = c.ListAt(within(t, time.Second), at(c, 3))
		require.NoError(t, err)
		assert.Len(t, l.Members, 4)
	})
}

func TestACutLeader(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		c.CutPeer(1)
		_, err := c.Add(within(t, 500*time.Millisecond), at(c, 1), []string{url(4)}, true)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Second)
		assert.Equal(t, cluster.ID(2), c.Leader())
		c.HealPeer(1)
		time.Sleep(time.Minute)
		assert.Len(t, c.Members(), 3, "its proposal was overwritten")
	})
}

// A learner never campaigns, so it never drops its leader: everything that it says
// of itself stays green.
func TestACutLearner(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		id := learner(t, c, "http://b:2380")
		serving(t, c, id)
		for name, gone := range map[string]func(){
			"cut":           func() { c.CutPeer(id) },
			"leader paused": func() { c.HealPeer(id); c.Pause(1) },
		} {
			gone()
			time.Sleep(20 * time.Second)
			st, err := c.Status(within(t, time.Second), at(c, id))
			require.NoError(t, err)
			assert.Equal(t, cluster.ID(1), st.Leader, name)
			assert.Empty(t, st.Errors)
			assert.InDelta(t, 7*time.Second, took(func() {
				_, err := c.Read(within(t, time.Minute), at(c, id))
				var unready *cluster.Unready
				assert.ErrorAs(t, err, &unready, name)
			}), float64(time.Millisecond))
			c.Resume(1)
		}
	})
}

func TestALoneVoterIsNotCutOffFromItself(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		c.CutPeer(1)
		time.Sleep(time.Minute)
		assert.True(t, c.HasQuorum())
		_, err := c.List(within(t, time.Second), at(c, 1))
		assert.NoError(t, err)
	})
}

// A voter that has not received the log yet holds up every commit that needs it.
func TestALaggingVoterHoldsUpWrites(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		id := learner(t, c, "http://b:2380")
		require.NoError(t, c.Promote(within(t, time.Second), at(c, 1), id))
		c.ReceiveRate(id, 100)
		c.Put(300)
		assert.InDelta(t, 3*time.Second, took(func() {
			assert.NoError(t, barrier(c, within(t, time.Minute), at(c, 1)))
		}), float64(20*time.Millisecond))
		assert.False(t, c.QuorumLost())
	})
}
