package clustertest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
)

// Whatever is done to a cluster, in any order, it stays one: the log grows, the
// list has no doubles, and once its servers run again it has a leader and serves.
func TestChaos(t *testing.T) {
	for seed := range schedules(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			bubble(t, 1+r.IntN(5), func(t *testing.T, c *clustertest.Cluster) {
				c.SetVersion(0, []string{"3.3.27", "3.4.45", "3.5.35", "3.6.16", "3.7.3"}[r.IntN(5)])
				c.SnapshotJoin(r.IntN(2) == 0)
				index := c.Index()
				for range 40 {
					chaos(t, c, r)
					require.GreaterOrEqual(t, c.Index(), index)
					index = c.Index()
					list := ids(c.Members())
					require.True(t, slices.IsSorted(list))
					require.Equal(t, list, slices.Compact(slices.Clone(list)))
				}
				recovered(t, c)
			})
		})
	}
}

// schedules is how many a run plays.
func schedules(t *testing.T) uint64 {
	t.Helper()
	const name, plain = "ETCDJOIN_SCHEDULES", 50
	if os.Getenv(name) == "" {
		t.Logf("%d schedules; more with %s in the environment, a number", plain, name)
		return plain
	}
	n, err := strconv.ParseUint(os.Getenv(name), 10, 64)
	require.NoError(t, err, name)
	return n
}

// chaos does one thing.
func chaos(t *testing.T, c *clustertest.Cluster, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+r.IntN(3000))*time.Millisecond)
	defer cancel()
	some := cluster.ID(1 + r.IntN(8))
	via := at(c, cluster.ID(1+r.IntN(8)))
	if r.IntN(3) == 0 {
		via = cluster.Target{}
	}
	list := c.Members()
	if len(list) > 0 && r.IntN(4) > 0 {
		some = list[r.IntN(len(list))].ID
	}
	things := []func(){
		func() { c.Kill(some) },
		func() { c.Restart(some) },
		func() { c.Restart(some) },
		func() { c.Pause(some) },
		func() { c.Resume(some) },
		func() { c.CutPeer(some) },
		func() { c.HealPeer(some) },
		func() { c.Lag(some, r.IntN(20)) },
		func() { c.LagApply(some, r.IntN(20)) },
		func() { c.ApplyRate(some, float64(r.IntN(1000))) },
		func() { c.ReceiveRate(some, float64(r.IntN(1000))) },
		func() { c.Put(r.IntN(1000)) },
		func() { c.SetLeader(some) },
		func() { c.Silent(some, r.IntN(2) == 0) },
		func() { c.Wipe(some) },
		func() { time.Sleep(time.Duration(r.IntN(8000)) * time.Millisecond) },
		func() { _, _ = c.Add(ctx, via, []string{url(some)}, r.IntN(3) > 0) },
		func() { _, _ = c.Add(ctx, via, []string{url(some)}, true) },
		func() { _ = c.Start(ctx, spec(c, some, "m"+some.String())) },
		func() { _ = c.Start(ctx, spec(c, some, "m"+some.String())) },
		func() { _ = c.Promote(ctx, via, some) },
		func() { _ = c.Remove(ctx, via, some) },
		func() { _ = c.Update(ctx, via, some, []string{url(some)}) },
		func() { _ = c.MoveLeader(ctx, via, some) },
		func() { _, _ = c.Barrier(ctx, via) },
		func() { _, _ = c.List(ctx, via) },
		func() { _, _ = c.ListAt(ctx, via) },
		func() { _, _ = c.Status(ctx, at(c, some)) },
		func() { _, _ = c.Read(ctx, at(c, some)) },
		func() { _, _ = c.PeerMembers(ctx, at(c, some)) },
		func() { _, _ = c.Metrics(ctx, at(c, some)) },
	}
	things[r.IntN(len(things))]()
}

// recovered lets everybody run again, those that have lost their data as others.
func recovered(t *testing.T, c *clustertest.Cluster) {
	for _, m := range c.Members() {
		h := c.HostOf(m.ID)
		if h == nil {
			continue // a remove that was on its way
		}
		info, err := h.Inspect(t.Context())
		require.NoError(t, err)
		if m.Learner || info.Kind == cluster.DataEmpty {
			c.Removed(m.ID)
			continue
		}
		c.Resume(m.ID)
		c.HealPeer(m.ID)
		c.Lag(m.ID, 0)
		c.LagApply(m.ID, 0)
		c.ApplyRate(m.ID, 0)
		c.ReceiveRate(m.ID, 0)
		c.Silent(m.ID, false)
		c.Restart(m.ID)
	}
	time.Sleep(time.Minute)
	if len(c.Members()) == 0 {
		return
	}
	assert.True(t, c.HasQuorum())
	assert.Contains(t, ids(c.LiveVoters()), c.Leader())
	require.NoError(t, barrier(c, within(t, time.Minute), leader(c)))
	l, err := c.List(within(t, time.Minute), leader(c))
	require.NoError(t, err)
	assert.Equal(t, c.Members(), l.Members)
}
