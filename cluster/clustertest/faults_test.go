package clustertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
)

var errInjected = errors.New("injected")

func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		fault clustertest.Fault
		want  error
		takes time.Duration
		added bool // when the call has returned
		later bool // in the end
	}{
		"none":             {added: true, later: true},
		"before":           {fault: clustertest.Fault{Before: errInjected}, want: errInjected},
		"after":            {fault: clustertest.Fault{After: errInjected}, want: errInjected, added: true, later: true},
		"hang":             {fault: clustertest.Fault{Hang: true}, want: context.DeadlineExceeded, takes: 10 * time.Second},
		"hang after":       {fault: clustertest.Fault{HangAfter: true}, want: context.DeadlineExceeded, takes: 10 * time.Second, added: true, later: true},
		"slow":             {fault: clustertest.Fault{Slow: 3 * time.Second}, takes: 3 * time.Second, added: true, later: true},
		"too slow":         {fault: clustertest.Fault{Slow: 30 * time.Second}, want: context.DeadlineExceeded, takes: 10 * time.Second},
		"late":             {fault: clustertest.Fault{Late: 3 * time.Second}, takes: 3 * time.Second, added: true, later: true},
		"too late":         {fault: clustertest.Fault{Late: 30 * time.Second}, want: context.DeadlineExceeded, takes: 10 * time.Second, later: true},
		"twice":            {fault: clustertest.Fault{Duplicate: true}, want: rpctypes.ErrMemberExist, added: true, later: true},
		"for another":      {fault: clustertest.Fault{At: 2, Before: errInjected}, added: true, later: true},
		"for this one":     {fault: clustertest.Fault{At: 1, Before: errInjected}, want: errInjected},
		"slow and lost":    {fault: clustertest.Fault{Slow: time.Second, After: errInjected}, want: errInjected, takes: time.Second, added: true, later: true},
		"twice, both lost": {fault: clustertest.Fault{Duplicate: true, HangAfter: true}, want: context.DeadlineExceeded, takes: 10 * time.Second, added: true, later: true},
	} {
		t.Run(name, func(t *testing.T) {
			for how, set := range map[string]func(*clustertest.Cluster){
				"first": func(c *clustertest.Cluster) { c.Fault(clustertest.OpAdd, 1, tc.fault) },
				"next":  func(c *clustertest.Cluster) { c.FaultNext(clustertest.OpAdd, tc.fault) },
				"all":   func(c *clustertest.Cluster) { c.FaultAll(clustertest.OpAdd, tc.fault) },
			} {
				bubble(t, 2, func(t *testing.T, c *clustertest.Cluster) {
					set(c)
					var err error
					takes := took(func() {
						_, err = c.Add(within(t, 10*time.Second), at(c, 1), []string{url(3)}, true)
					})
					assert.ErrorIs(t, err, tc.want, how)
					assert.InDelta(t, tc.takes, takes, float64(5*time.Millisecond), how)
					assert.Equal(t, tc.added, len(c.Members()) == 3, how)
					time.Sleep(time.Minute)
					assert.Equal(t, tc.later, len(c.Members()) == 3, how)
					calls := c.Calls()
					require.Len(t, calls, 1)
					assert.Equal(t, tc.later, calls[0].Applied, how)
					assert.Equal(t, tc.later, calls[0].Reached, how)
					assert.Equal(t, tc.takes.Round(time.Second), calls[0].Took.Round(time.Second))
				})
			}
		})
	}
}

func TestFaultsAreCounted(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		var failed []int
		list := func(i int) {
			if _, err := c.List(t.Context(), cluster.Target{}); err != nil {
				failed = append(failed, i)
			}
			_, _ = c.Status(t.Context(), at(c, 1)) // of another count
		}
		fault := clustertest.Fault{Before: errInjected}
		c.Fault(clustertest.OpList, 2, fault)
		c.Fault(clustertest.OpList, 5, fault)
		for i := 1; i <= 6; i++ {
			if i == 4 {
				c.FaultNext(clustertest.OpList, fault, clustertest.Fault{}, fault)
			}
			list(i)
		}
		assert.Equal(t, []int{2, 4, 5}, failed, "5 by its number, so the queue is one behind")
		list(7)
		list(8)
		assert.Equal(t, []int{2, 4, 5, 7}, failed)
		assert.Equal(t, 8, c.Count(clustertest.OpList))

		c.Deny(clustertest.OpList, rpctypes.ErrPermissionDenied)
		_, err := c.List(t.Context(), cluster.Target{})
		assert.ErrorIs(t, err, rpctypes.ErrPermissionDenied)
		c.Deny(clustertest.OpList, nil)
		c.FaultNext(clustertest.OpList, fault)
		c.ClearFaults()
		_, err = c.List(t.Context(), cluster.Target{})
		assert.NoError(t, err)
		c.ResetCalls()
		assert.Empty(t, c.Calls())
		c.Fault(clustertest.OpList, 1, fault)
		_, err = c.List(t.Context(), cluster.Target{})
		assert.ErrorIs(t, err, errInjected)
	})
}

func TestACrashDuringACall(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		for name, tc := range map[string]struct {
			fault func(cancel func()) clustertest.Fault
			added bool
		}{
			"before the effect": {func(cancel func()) clustertest.Fault { return clustertest.Fault{OnCall: cancel} }, false},
			"after the effect":  {func(cancel func()) clustertest.Fault { return clustertest.Fault{OnDone: cancel, HangAfter: true} }, true},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			c.FaultNext(clustertest.OpAdd, tc.fault(cancel))
			_, err := c.Add(ctx, at(c, 1), []string{url(2)}, true)
			assert.ErrorIs(t, err, context.Canceled, name)
			assert.Equal(t, tc.added, len(c.Members()) == 2, name)
			if tc.added {
				c.Removed(c.Members()[1].ID)
			}
			time.Sleep(2 * time.Second)
		}
		c.FaultNext(clustertest.OpAdd, clustertest.Fault{OnCall: func() { c.Kill(1) }})
		_, err := c.Add(within(t, time.Second), at(c, 1), []string{url(3)}, true)
		assert.ErrorContains(t, err, "connection refused")
	})
}

func TestStaleAnswers(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Hour)
		stale := clustertest.Fault{Stale: true}
		id := learner(t, c, "http://b:2380")
		serving(t, c, id)
		require.NoError(t, c.Promote(ctx, at(c, 1), id))
		for _, op := range []clustertest.Op{clustertest.OpList, clustertest.OpListAt, clustertest.OpPeerMembers, clustertest.OpStatus, clustertest.OpRead} {
			c.FaultNext(op, stale)
		}
		l, err := c.List(ctx, at(c, 1))
		require.NoError(t, err)
		assert.True(t, l.Members[1].Learner)
		l, err = c.ListAt(ctx, at(c, id))
		require.NoError(t, err)
		assert.True(t, l.Members[1].Learner)
		l, err = c.PeerMembers(ctx, at(c, 1))
		require.NoError(t, err)
		assert.True(t, l.Members[1].Learner)
		st, err := c.Status(ctx, at(c, id))
		require.NoError(t, err)
		assert.True(t, st.Learner)
		c.CutPeer(id)
		_, err = c.Read(ctx, at(c, id))
		require.NoError(t, err)
	})
}

func TestCallsAsText(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Minute)
		id := learner(t, c, url(3))
		c.ResetCalls()
		time.Sleep(time.Second)
		_, _ = c.Add(ctx, at(c, 1), []string{"http://x:2380", "http://y:2380"}, false)
		_ = c.Update(ctx, at(c, 1), id, []string{"http://x:2380", "http://y:2380"})
		_ = c.Promote(ctx, at(c, 2), id)
		_ = c.MoveLeader(ctx, at(c, 1), 2)
		_ = c.Remove(ctx, at(c, 1), 255)
		_, _ = c.Barrier(ctx, at(c, 1))
		_ = c.MayChange(ctx, at(c, 1))
		_, _ = c.ListAt(ctx, at(c, 1))
		_, _ = c.PeerMembers(ctx, at(c, 1))
		_, _ = c.Metrics(ctx, at(c, 1))
		c.Pause(2)
		go func() { _, _ = c.Status(ctx, at(c, 2)) }()
		time.Sleep(time.Millisecond)
		assert.Equal(t, []string{
			"add http://x:2380,http://y:2380",
			"update 3 http://x:2380,http://y:2380: etcdserver: Peer URLs already exists",
			"promote 3", "move-leader 2", "remove ff: etcdserver: member not found",
			"barrier", "may-change", "list-at 1", "peer-members 1", "metrics 1", "status 2: pending",
		}, lines(c.Calls()))
		writes := c.Writes()
		assert.Len(t, writes, 4)
		assert.True(t, writes[0].Applied)
		assert.False(t, writes[1].Applied)
		assert.Equal(t, cluster.ID(2), writes[2].At)
		c.Resume(2)
	})
}

// Whatever is denied before it reaches a server is no write.
func TestWritesAreThoseThatReachedTheCluster(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Second)
		c.Deny(clustertest.OpAdd, rpctypes.ErrPermissionDenied)
		_, _ = c.Add(ctx, at(c, 1), []string{url(2)}, true)
		_ = c.Remove(ctx, at(c, 2), 1) // nobody listens there
		assert.Empty(t, c.Writes())
		assert.Len(t, c.Calls(), 2)
	})
}
