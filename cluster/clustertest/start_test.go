package clustertest_test

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/member"
)

func TestAStartThatIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(t *testing.T, c *clustertest.Cluster)
		spec   func(s *member.StartSpec)
		want   string
	}{
		"fits":                  {},
		"names do not count":    {spec: func(s *member.StartSpec) { s.InitialCluster = strings.ReplaceAll(s.InitialCluster, "m1=", "other=") }},
		"a wrong name":          {spec: func(s *member.StartSpec) { s.Name = "x" }, want: `couldn't find local name "x"`},
		"no initial cluster":    {spec: func(s *member.StartSpec) { s.InitialCluster = "" }, want: "invalid --initial-cluster"},
		"one URL twice":         {spec: func(s *member.StartSpec) { s.InitialCluster += ",x=http://a:2380" }, want: "found duplicate url"},
		"other URLs of its own": {spec: func(s *member.StartSpec) { s.PeerURLs = []string{"http://x:2380"} }, want: "missing from --initial-advertise-peer-urls"},
		"one too many":          {spec: func(s *member.StartSpec) { s.InitialCluster += ",x=http://x:2380" }, want: "member count is unequal"},
		"one missing":           {spec: func(s *member.StartSpec) { s.InitialCluster = "m1=http://a:2380,m4=http://d:2380" }, want: "member count is unequal"},
		"somebody under other URL": {spec: func(s *member.StartSpec) {
			s.InitialCluster = strings.Replace(s.InitialCluster, "http://c", "http://x", 1)
		}, want: "PeerURLs: no match found for existing member (3, [http://c:2380])"},
		"the first peer is stale": {before: func(_ *testing.T, c *clustertest.Cluster) { c.DivergeList(1, c.Members()[:3]) },
			want: "member count is unequal"},
		"the first peer is dead": {before: func(_ *testing.T, c *clustertest.Cluster) { c.Kill(1); time.Sleep(3 * time.Second) }},
		"nobody answers":         {before: func(_ *testing.T, c *clustertest.Cluster) { c.Kill(1); c.Kill(2); c.Kill(3) }, want: "cannot fetch cluster info from peer urls"},
		"too old":                {before: func(_ *testing.T, c *clustertest.Cluster) { c.Host("http://d:2380").SetVersion("3.5.35") }, want: "incompatible with current running cluster"},
		"one newer":              {before: func(_ *testing.T, c *clustertest.Cluster) { c.Host("http://d:2380").SetVersion("3.7.3") }},
		"another patch":          {before: func(_ *testing.T, c *clustertest.Cluster) { c.Host("http://d:2380").SetVersion("3.6.0") }},
		"one voter is old": {before: func(_ *testing.T, c *clustertest.Cluster) {
			c.SetVersion(2, "3.5.35")
			c.Host("http://d:2380").SetVersion("3.5.35")
		}},
		"a downgrade is under way": {before: func(_ *testing.T, c *clustertest.Cluster) { c.Downgrading(true) }, want: "incompatible with current running cluster"},
		"too many learners for it": {before: func(_ *testing.T, c *clustertest.Cluster) { c.SetLearnerLimit(0) }, want: "too many learner members"},
		"damaged data":             {before: func(_ *testing.T, c *clustertest.Cluster) { c.Host("http://d:2380").Damage("torn WAL") }, want: "torn WAL"},
	} {
		for _, supervised := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
					c.Supervised(supervised)
					id := add(t, c, "http://d:2380", true)
					h := c.Host("http://d:2380")
					if tc.before != nil {
						tc.before(t, c)
					}
					s := spec(c, id, "m4")
					if tc.spec != nil {
						tc.spec(&s)
					}
					err := h.Start(t.Context(), s)
					time.Sleep(time.Minute)
					exit := h.Exited(t.Context())
					if tc.want == "" {
						require.NoError(t, err)
						assert.Nil(t, exit)
						assert.True(t, h.Running())
						return
					}
					require.NotNil(t, exit)
					assert.Equal(t, 1, exit.Code)
					assert.ErrorContains(t, exit, tc.want)
					assert.False(t, h.Running())
					if supervised {
						assert.NoError(t, err)
					} else {
						assert.Equal(t, exit, err)
					}
				})
			})
		}
	}
}

func TestAStartThatAPausedPeerHoldsUp(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		id := add(t, c, url(4), true)
		c.Pause(1)
		time.Sleep(3 * time.Second)
		start(t, c, id)
		assert.InDelta(t, 10*time.Second, took(func() {
			for {
				_, err := c.PeerMembers(within(t, time.Second), at(c, id))
				if err == nil {
					return
				}
				require.ErrorIs(t, err, syscall.ECONNREFUSED)
				time.Sleep(20 * time.Millisecond)
			}
		}), float64(100*time.Millisecond))
	})
}

func TestAnIdempotentStart(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		id := add(t, c, "http://b:2380", true)
		h := c.Host("http://b:2380")
		for range 3 {
			require.NoError(t, h.Start(t.Context(), spec(c, id, "m2")))
		}
		caughtUp(t, c, id)
		require.NoError(t, h.Start(t.Context(), spec(c, id, "m2")))
		_, err := c.Read(within(t, time.Second), at(c, id))
		assert.NoError(t, err, "it was not restarted")

		// Another ID over old data: the data decides.
		require.NoError(t, c.Remove(within(t, time.Second), at(c, 1), id))
		time.Sleep(2 * time.Second)
		again := add(t, c, "http://b:2380", true)
		require.NoError(t, h.Start(t.Context(), spec(c, again, "m2")))
		time.Sleep(time.Second)
		assert.Equal(t, 0, h.Exited(t.Context()).Code)
		require.NoError(t, h.Archive(t.Context()))
		require.NoError(t, h.Start(t.Context(), spec(c, again, "m2")))
		caughtUp(t, c, again)
	})
}

func TestHooks(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		ctx := t.Context()
		h := c.Host("http://b:2380")
		inspect := func() cluster.DataInfo {
			info, err := h.Inspect(ctx)
			require.NoError(t, err)
			return info
		}
		assert.Equal(t, cluster.DataInfo{Kind: cluster.DataEmpty}, inspect())
		id := learner(t, c, "http://b:2380")
		assert.Equal(t, cluster.DataInfo{Kind: cluster.DataMember, ClusterID: clustertest.ClusterID, MemberID: id}, inspect())
		assert.True(t, h.Running())
		require.NoError(t, h.Stop(ctx))
		assert.False(t, h.Running())
		assert.Nil(t, h.Exited(ctx), "it did not end by itself")
		require.NoError(t, h.Archive(ctx))
		assert.Equal(t, cluster.DataEmpty, inspect().Kind)
		h.Damage("torn")
		assert.Equal(t, cluster.DataInfo{Kind: cluster.DataDamaged, Reason: "torn"}, inspect())
		h.SetData(7, 8)
		assert.Equal(t, cluster.DataInfo{Kind: cluster.DataMember, ClusterID: 7, MemberID: 8}, inspect())
		assert.Same(t, h, c.Host("http://B:2380/x", "http://b:2380"))
		calls := lines(c.Calls())
		assert.Equal(t, []string{"stop 2", "archive 2"}, calls[len(calls)-2:])
	})
}

// E§0.13: who has lost the data cannot come back under the same ID.
func TestAWipedMemberPanics(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		id := learner(t, c, "http://b:2380")
		h := c.HostOf(id)
		for range 3 { // in a loop
			c.Wipe(id)
			require.NoError(t, h.Start(t.Context(), spec(c, id, "m2")))
			time.Sleep(55 * time.Millisecond)
			l, err := c.PeerMembers(within(t, time.Second), at(c, id))
			require.NoError(t, err)
			assert.Empty(t, l.Members[0].ClientURLs, "it shows its own initial cluster")
			time.Sleep(time.Second)
			require.NotNil(t, h.Exited(t.Context()))
			assert.Equal(t, 2, h.Exited(t.Context()).Code)
			assert.ErrorContains(t, h.Exited(t.Context()), "tocommit(12) is out of range [lastIndex(0)]")
		}
		assert.False(t, c.QuorumLost())
	})
}

// E§4.5: one pair of versions passes the gate and dies of what it reads.
func TestA37JoinsA35Cluster(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		c.SetVersion(1, "3.5.35")
		h := c.Host("http://b:2380")
		h.SetVersion("3.7.3")
		start(t, c, add(t, c, "http://b:2380", true))
		time.Sleep(time.Second)
		require.NotNil(t, h.Exited(t.Context()))
		assert.Equal(t, 2, h.Exited(t.Context()).Code)
	})
}

// What the peer port shows before there is data is the server's own flag.
func TestPeerMembersBeforeData(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		c.Timing.CatchUp = time.Second
		c.Put(100)
		id := add(t, c, "http://b:2380", true)
		start(t, c, id)
		time.Sleep(55 * time.Millisecond)
		l, err := c.PeerMembers(within(t, time.Second), at(c, id))
		require.NoError(t, err)
		assert.Equal(t, []cluster.Member{{ID: 1, Name: "m1", PeerURLs: []string{"http://a:2380"}}, {ID: 2, Name: "m2", PeerURLs: []string{"http://b:2380"}}}, l.Members)
		time.Sleep(2 * time.Second)
		l, err = c.PeerMembers(within(t, time.Second), at(c, id))
		require.NoError(t, err)
		assert.Equal(t, c.Members(), l.Members)
	})
}

func TestServing(t *testing.T) {
	const m = time.Millisecond
	for name, tc := range map[string]struct {
		version  string
		snapshot bool
		index    int
		act      func(t *testing.T, c *clustertest.Cluster)
		listed   time.Duration
		caughtUp time.Duration
		serves   time.Duration // 0: never
	}{
		"by the log":                      {version: "3.6.16", index: 100, listed: 100 * m, caughtUp: 110 * m, serves: 150 * m},
		"by snapshot":                     {version: "3.6.16", snapshot: true, index: 100, listed: 100 * m, caughtUp: 200 * m, serves: 7050 * m},
		"by snapshot, 3.5":                {version: "3.5.35", snapshot: true, index: 100, listed: 100 * m, caughtUp: 200 * m, serves: 200 * m},
		"by snapshot, idle":               {version: "3.7.3", snapshot: true, index: 9000, listed: 100 * m, caughtUp: 200 * m},
		"by snapshot, idle, then written": {version: "3.7.3", snapshot: true, index: 9000, act: func(_ *testing.T, c *clustertest.Cluster) { time.Sleep(20 * time.Second); c.Put(1) }, listed: 100 * m, caughtUp: 200 * m, serves: 20 * time.Second},
		"by snapshot, idle, then nudged": {version: "3.7.3", snapshot: true, index: 9000, act: func(t *testing.T, c *clustertest.Cluster) {
			time.Sleep(8 * time.Second)
			assert.NoError(t, barrier(c, within(t, time.Second), at(c, 1)))
		}, listed: 100 * m, caughtUp: 200 * m, serves: 8000 * m},
		"by snapshot, promoted early": {version: "3.7.3", snapshot: true, index: 9000, act: func(t *testing.T, c *clustertest.Cluster) {
			time.Sleep(300 * m)
			assert.NoError(t, c.Promote(within(t, time.Second), at(c, 1), 2))
		}, listed: 100 * m, caughtUp: 200 * m, serves: 7050 * m},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
				c.SetVersion(0, tc.version)
				c.SnapshotJoin(tc.snapshot)
				c.Put(tc.index)
				id := add(t, c, "http://b:2380", true)
				var act sync.WaitGroup
				defer act.Wait()
				if tc.act != nil {
					act.Go(func() { tc.act(t, c) })
				}
				start(t, c, id)
				within100 := float64(20 * m)
				began := time.Now()
				for m, _ := c.Member(id); m.Name == ""; m, _ = c.Member(id) {
					time.Sleep(time.Millisecond)
				}
				assert.InDelta(t, tc.listed, time.Since(began), within100)
				caughtUp(t, c, id)
				assert.InDelta(t, tc.caughtUp, time.Since(began), within100)
				if tc.serves == 0 {
					_, err := c.Status(within(t, time.Hour), at(c, id))
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					return
				}
				_, err := c.Status(within(t, time.Hour), at(c, id))
				require.NoError(t, err)
				assert.InDelta(t, tc.serves, time.Since(began), within100)
			})
		})
	}
}

// While a snapshot is restored the leader takes the member for caught up, and
// nothing is applied.
func TestASnapshotBeingRestored(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		c.SnapshotJoin(true)
		c.Put(10_000)
		c.ReceiveRate(2, 10_000)
		c.ApplyRate(2, 1_000)
		id := add(t, c, "http://b:2380", true)
		start(t, c, id)
		to := at(c, id)
		to.MetricsURL = "http://b:2381"
		metrics := func() cluster.Metrics {
			m, err := c.Metrics(within(t, time.Second), to)
			require.NoError(t, err)
			return m
		}
		time.Sleep(600 * time.Millisecond)
		assert.True(t, metrics().Receiving)
		assert.InDelta(t, 500_000, metrics().Received, 10_000)
		assert.ErrorContains(t, c.Promote(within(t, time.Second), at(c, 1), id), "in sync")
		time.Sleep(time.Second)
		assert.True(t, metrics().Receiving)
		assert.Zero(t, metrics().Applied)
		assert.InDelta(t, 7*time.Second, took(func() {
			_, err := c.Read(within(t, time.Hour), at(c, id))
			assert.Error(t, err)
		}), float64(time.Second))
		caughtUp(t, c, id)
		assert.False(t, metrics().Receiving)
		info, err := c.HostOf(id).Inspect(t.Context())
		require.NoError(t, err)
		assert.True(t, info.Snapshot)
	})
}

func TestSnapshotsThatBreakOff(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		c.SnapshotJoin(true)
		c.Put(1000)
		c.BreakSnapshots(2, 2)
		id := add(t, c, "http://b:2380", true)
		start(t, c, id)
		to := at(c, id)
		to.MetricsURL = "http://b:2381"
		caughtUp(t, c, id)
		m, err := c.Metrics(within(t, time.Second), to)
		require.NoError(t, err)
		assert.Equal(t, uint64(2), m.Failed)
		assert.Greater(t, m.Received, uint64(300_000))

		// So does what a cut link holds up for too long.
		c.Wipe(id)
		require.NoError(t, c.Remove(within(t, time.Second), at(c, 1), id))
		time.Sleep(2 * time.Second)
		c.ReceiveRate(3, 1000)
		id = add(t, c, "http://b:2380", true)
		start(t, c, id)
		time.Sleep(600 * time.Millisecond)
		to.ID = id
		for _, cut := range []time.Duration{4 * time.Second, 6 * time.Second} {
			c.CutPeer(id)
			time.Sleep(cut)
			m, err = c.Metrics(within(t, time.Second), to)
			require.NoError(t, err)
			assert.Equal(t, cut < 5*time.Second, m.Receiving)
			c.HealPeer(id)
		}
		caughtUp(t, c, id)
		m, err = c.Metrics(within(t, time.Second), to)
		require.NoError(t, err)
		assert.Equal(t, uint64(1), m.Failed)

		// Or all of them, for ever.
		c.BreakSnapshots(4, -1)
		c.Timing.CatchUp = 0
		require.NoError(t, c.Remove(within(t, time.Second), at(c, 1), id))
		c.Wipe(id)
		time.Sleep(2 * time.Second)
		id = add(t, c, "http://b:2380", true)
		start(t, c, id)
		to.ID = id
		time.Sleep(time.Minute)
		m, err = c.Metrics(within(t, time.Second), to)
		require.NoError(t, err)
		assert.Greater(t, m.Failed, uint64(100))
		assert.Zero(t, m.Applied)
	})
}

func TestRestart(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		id := learner(t, c, "http://b:2380")
		c.Kill(id)
		c.Put(50)
		c.Restart(id)
		caughtUp(t, c, id)
		serving(t, c, id)

		raw := c.AddRaw(cluster.Member{Name: "x", PeerURLs: []string{url(3)}, ClientURLs: []string{"http://c:2379"}})
		assert.Len(t, c.LiveVoters(), 1)
		c.Restart(raw)
		assert.Len(t, c.LiveVoters(), 2)
		_, err := c.Status(within(t, time.Second), at(c, raw))
		assert.NoError(t, err, "it serves at once")
	})
}

// A server of another cluster's data runs, and reaches nobody.
func TestForeignData(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		id := add(t, c, "http://b:2380", true)
		h := c.Host("http://b:2380")
		h.SetData(7, 8)
		require.NoError(t, h.Start(t.Context(), spec(c, id, "m2")))
		time.Sleep(time.Minute)
		assert.True(t, h.Running())
		m, _ := c.Member(id)
		assert.Empty(t, m.Name)
		_, err := c.Read(within(t, time.Minute), at(c, id))
		assert.Error(t, err)
	})
}
