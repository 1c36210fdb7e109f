package clustertest_test

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
)

const learnerRefusal = "etcdserver: rpc not supported for learner"

func TestWhatALearnerRefuses(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Minute)
		id := learner(t, c, "http://b:2380")
		serving(t, c, id)
		_, err := c.List(ctx, at(c, id))
		assert.ErrorContains(t, err, learnerRefusal)
		_, err = c.ListAt(ctx, at(c, id))
		assert.ErrorContains(t, err, learnerRefusal)
		_, err = c.Add(ctx, at(c, id), []string{url(3)}, true)
		assert.ErrorContains(t, err, learnerRefusal)
		assert.ErrorContains(t, barrier(c, ctx, at(c, id)), learnerRefusal)
		assert.ErrorContains(t, c.MayChange(ctx, at(c, id)), learnerRefusal)

		st, err := c.Status(ctx, at(c, id))
		require.NoError(t, err)
		assert.True(t, st.Learner)
		l, err := c.PeerMembers(ctx, at(c, id))
		require.NoError(t, err)
		assert.Equal(t, c.Members(), l.Members)
	})
}

func TestWhoAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(c *clustertest.Cluster)
		want   cluster.ID
		err    error
	}{
		"all live":          {func(*clustertest.Cluster) {}, 1, nil},
		"the first is dead": {func(c *clustertest.Cluster) { c.Kill(1) }, 2, nil},
		"the first hangs":   {func(c *clustertest.Cluster) { c.Pause(1) }, 2, nil},
		"two are silent":    {func(c *clustertest.Cluster) { c.Silent(1, true); c.Silent(2, true) }, 3, nil},
		"all are dead":      {func(c *clustertest.Cluster) { c.Kill(1); c.Kill(2); c.Kill(3) }, 0, syscall.ECONNREFUSED},
		"some are dead, one hangs": {func(c *clustertest.Cluster) { c.Kill(1); c.Kill(2); c.Silent(3, true) }, 0,
			context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			for own, targets := range map[string]func(c *clustertest.Cluster) []cluster.Target{
				"own":   func(*clustertest.Cluster) []cluster.Target { return []cluster.Target{{}} },
				"named": func(c *clustertest.Cluster) []cluster.Target { return []cluster.Target{at(c, 1), at(c, 2), at(c, 3)} },
			} {
				bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
					tc.before(c)
					time.Sleep(3 * time.Second) // for an election
					l, err := c.List(within(t, time.Second), targets(c)...)
					if tc.err != nil {
						assert.ErrorIs(t, err, tc.err, own)
						return
					}
					require.NoError(t, err, own)
					assert.Equal(t, tc.want, l.By, own)
				})
			}
		})
	}
}

func TestAPendingCallAnswersWhenItCan(t *testing.T) {
	for name, tc := range map[string]struct{ stop, goOn func(c *clustertest.Cluster) }{
		"resumed":          {func(c *clustertest.Cluster) { c.Pause(1) }, func(c *clustertest.Cluster) { c.Resume(1) }},
		"no longer silent": {func(c *clustertest.Cluster) { c.Silent(1, true) }, func(c *clustertest.Cluster) { c.Silent(1, false) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
				tc.stop(c)
				go func() {
					time.Sleep(500 * time.Millisecond)
					tc.goOn(c)
				}()
				assert.Equal(t, 500*time.Millisecond, took(func() {
					_, err := c.Status(within(t, time.Minute), at(c, 1))
					assert.NoError(t, err)
				}))
				synctest.Wait()
			})
		})
	}
}

func TestAServerThatDiesDuringACall(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *clustertest.Cluster) {
		c.Timing.Commit = time.Second
		go func() {
			time.Sleep(500 * time.Millisecond)
			c.Kill(1)
		}()
		_, err := c.Add(within(t, time.Minute), at(c, 1), []string{url(3)}, false)
		assert.ErrorContains(t, err, "EOF")
		assert.True(t, c.Writes()[0].Reached)
	})
}

// k0s members all advertise one address: whoever listens there answers for all.
func TestClientURLsThatLeadToOneServer(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		for id := cluster.ID(1); id <= 3; id++ {
			c.SetClientURLs(id, "http://127.0.0.1:2379")
		}
		for id := cluster.ID(1); id <= 3; id++ {
			st, err := c.Status(within(t, time.Second), at(c, id))
			require.NoError(t, err)
			assert.Equal(t, cluster.ID(1), st.ID, "asked %d", id)
		}
		c.Route("http://127.0.0.1:2379", 3)
		st, err := c.Status(within(t, time.Second), at(c, 1))
		require.NoError(t, err)
		assert.Equal(t, cluster.ID(3), st.ID)

		to := at(c, 2) // what Config.ClientURLs would say
		to.ClientURLs = []string{"http://127.0.0.1:2379", "http://b:2379"}
		st, err = c.Status(within(t, time.Second), to)
		require.NoError(t, err)
		assert.Equal(t, cluster.ID(2), st.ID, "the right one is looked for")
		_, err = c.List(within(t, time.Second), cluster.Target{})
		assert.NoError(t, err, "the caller's own endpoints are the real ones")
	})
}

func TestURLsThatLeadNowhere(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Second)
		id := c.AddRaw(cluster.Member{Name: "x", PeerURLs: []string{"http://x:2380"}, ClientURLs: []string{"http://y:2379"}, Learner: true})
		_, err := c.Status(ctx, at(c, id))
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		_, err = c.Read(ctx, at(c, id))
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		_, err = c.Status(ctx, cluster.Target{Member: cluster.Member{ID: id}})
		assert.ErrorContains(t, err, "no URL")
		_, err = c.List(ctx)
		assert.ErrorContains(t, err, "no URL", "nobody was named")
		c.OwnEndpoints("http://nowhere:2379")
		_, err = c.List(ctx, cluster.Target{})
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}

func TestReadTakesTheWayThatExists(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		metrics string
		noPeer  bool
		want    cluster.ReadAnswer
	}{
		"peer":             {version: "3.5.0", want: cluster.ReadAnswer{Way: "peer", ClusterID: clustertest.ClusterID}},
		"3.4":              {version: "3.4.45", want: cluster.ReadAnswer{Way: "client"}},
		"3.4 with metrics": {version: "3.4.45", metrics: "http://b:2381", want: cluster.ReadAnswer{Way: "metrics"}},
		"no peer":          {version: "3.6.16", noPeer: true, want: cluster.ReadAnswer{Way: "client"}},
		"no peer, metrics": {version: "3.6.16", noPeer: true, metrics: "http://b:2381", want: cluster.ReadAnswer{Way: "metrics"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
				c.SetVersion(0, tc.version)
				c.NoPeerRead(tc.noPeer)
				id := add(t, c, "http://b:2380", true)
				start(t, c, id)
				time.Sleep(time.Second)
				to := at(c, id)
				to.MetricsURL = tc.metrics
				answer, err := c.Read(within(t, time.Second), to)
				require.NoError(t, err)
				assert.NotEmpty(t, answer.URL)
				who, err := c.Who(within(t, time.Second), answer.URL, clustertest.ClusterID, id)
				require.NoError(t, err)
				assert.Equal(t, cluster.TheMember, who.Identity)
				assert.Equal(t, answer.Conn, who.Conn)
				answer.URL, answer.Conn = "", ""
				assert.Equal(t, tc.want, answer)
				c.Silent(id, true)
				_, err = c.Read(within(t, time.Second), to)
				assert.Equal(t, tc.want.Way == "client", err != nil, "only the client way needs the client port")
			})
		})
	}
}

func TestHealthSaysWhy(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		before  func(c *clustertest.Cluster)
		want    *cluster.Unready
		takes   time.Duration
	}{
		"CORRUPT":        {"3.6.16", func(c *clustertest.Cluster) { c.SetAlarm(1, "CORRUPT") }, &cluster.Unready{Status: 503, Text: `{"health":"false","reason":"ALARM CORRUPT"}`}, 0},
		"CORRUPT, 3.4":   {"3.4.45", func(c *clustertest.Cluster) { c.SetAlarm(1, "CORRUPT") }, &cluster.Unready{Status: 503, Text: `{"health":"false"}`}, 0},
		"NOSPACE":        {"3.6.16", func(c *clustertest.Cluster) { c.SetAlarm(1, "NOSPACE") }, nil, 0},
		"no leader":      {"3.6.16", func(c *clustertest.Cluster) { c.Kill(1); time.Sleep(3 * time.Second) }, &cluster.Unready{Status: 503, Text: `{"health":"false","reason":"RAFT NO LEADER"}`}, 0},
		"no contact":     {"3.6.16", func(c *clustertest.Cluster) { c.CutPeer(2) }, &cluster.Unready{Status: 503, Text: `{"health":"false","reason":"RANGE ERROR:context deadline exceeded"}`}, 7 * time.Second},
		"no contact 3.4": {"3.4.45", func(c *clustertest.Cluster) { c.CutPeer(2) }, &cluster.Unready{Status: 503, Text: `{"health":"false"}`}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 2, func(t *testing.T, c *clustertest.Cluster) {
				c.SetVersion(0, tc.version)
				c.NoPeerRead(true)
				tc.before(c)
				var err error
				takes := took(func() { _, err = c.Read(within(t, time.Minute), at(c, 2)) })
				assert.InDelta(t, tc.takes, takes, float64(time.Millisecond))
				if tc.want == nil {
					assert.NoError(t, err)
					return
				}
				var unready *cluster.Unready
				require.ErrorAs(t, err, &unready)
				assert.Equal(t, tc.want, unready)
			})
		})
	}
}

// A read is answered when all that was committed when it was asked is applied, not
// before and not after.
func TestReadWaitsForWhatWasCommitted(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		id := learner(t, c, "http://b:2380")
		serving(t, c, id)
		c.ApplyRate(id, 100)
		c.Put(200)
		go func() {
			time.Sleep(time.Second)
			c.Put(1000) // later than the read
		}()
		assert.InDelta(t, 2*time.Second, took(func() {
			_, err := c.Read(within(t, time.Minute), at(c, id))
			assert.NoError(t, err)
		}), float64(10*time.Millisecond))
		assert.InDelta(t, 7*time.Second, took(func() {
			_, err := c.Read(within(t, time.Minute), at(c, id))
			var unready *cluster.Unready
			assert.ErrorAs(t, err, &unready, "ten more seconds are needed")
		}), float64(10*time.Millisecond))
	})
}

func TestReadThroughAMemberThatIsNotThere(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		id := learner(t, c, "http://b:2380")
		c.Pause(id)
		_, err := c.Read(within(t, time.Minute), at(c, id))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		c.Kill(id)
		assert.Zero(t, took(func() {
			_, err = c.Read(within(t, time.Minute), at(c, id))
			assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		}))
	})
}

func TestAlarmsAndDowngrades(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Minute)
		c.SetAlarm(1, "NOSPACE")
		c.SetAlarm(7, "CORRUPT")
		c.Downgrading(true)
		st, err := c.Status(ctx, at(c, 1))
		require.NoError(t, err)
		assert.Equal(t, []string{"memberID:1 alarm:NOSPACE ", "memberID:7 alarm:CORRUPT "}, st.Errors)
		assert.True(t, st.Downgrading)
		answer, err := c.Read(ctx, at(c, 1))
		require.NoError(t, err)
		assert.True(t, answer.Downgrading)
		assert.ErrorIs(t, barrier(c, ctx, at(c, 1)), rpctypes.ErrCorrupt)
		c.SetAlarm(7, "")
		assert.NoError(t, barrier(c, ctx, at(c, 1)))

		c.SetVersion(0, "3.5.35")
		st, err = c.Status(ctx, at(c, 1))
		require.NoError(t, err)
		assert.False(t, st.Downgrading, "3.5 does not tell")
		c.SetVersion(0, "3.3.27")
		st, err = c.Status(ctx, at(c, 1))
		require.NoError(t, err)
		assert.Zero(t, st.Applied)
		assert.Equal(t, "3.3.27", st.Version)
	})
}

func TestDivergedList(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		own := c.Members()[:2]
		c.DivergeList(3, own)
		for id, want := range map[cluster.ID]int{1: 3, 2: 3, 3: 2} {
			l, err := c.ListAt(within(t, time.Second), at(c, id))
			require.NoError(t, err)
			assert.Len(t, l.Members, want)
			assert.Equal(t, id, l.By)
		}
		c.DivergeList(3, nil)
		l, err := c.PeerMembers(within(t, time.Second), at(c, 3))
		require.NoError(t, err)
		assert.Len(t, l.Members, 3)
	})
}

func TestMetrics(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Minute)
		m, err := c.Metrics(ctx, at(c, 1))
		require.NoError(t, err)
		assert.Equal(t, cluster.Metrics{ServerID: 1, Applied: 10, Received: 1000, Peers: map[cluster.ID]cluster.Peer{2: {Met: true, Active: true, RoundTrips: 0.001}}}, m)

		id := learner(t, c, url(3))
		c.AddRaw(cluster.Member{PeerURLs: []string{url(4)}})
		c.Kill(2)
		c.Pause(id)
		m, err = c.Metrics(ctx, at(c, 1))
		require.NoError(t, err)
		assert.False(t, m.Peers[2].Active)
		assert.EqualValues(t, 1, m.Peers[2].Disconnected)
		assert.True(t, m.Peers[id].Active, "a paused one stays connected")
		assert.NotContains(t, m.Peers, cluster.ID(4), "one that never ran is not known")

		to := at(c, 1)
		to.MetricsURL = "http://a:2381"
		c.Silent(1, true)
		_, err = c.Metrics(ctx, to)
		require.NoError(t, err)
		_, err = c.Metrics(within(t, time.Second), at(c, 1))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
