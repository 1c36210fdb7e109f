package learner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// inTheWay is each thing that would have a member gone, or take its address, with the
// joiner that wants it: it returns the member.
var inTheWay = map[string]func(*testing.T, *clustertest.Cluster) (victim cluster.ID, name, url string, cfg member.Config){
	"it has our name": func(*testing.T, *clustertest.Cluster) (cluster.ID, string, string, member.Config) {
		return 2, "m2", "http://d:2380", member.Config{SameName: member.ReplaceIfDead}
	},
	"its disk is lost, as far as we are shown": func(_ *testing.T, c *clustertest.Cluster) (cluster.ID, string, string, member.Config) {
		return 2, "m2", "http://b:2380", member.Config{Rejoin: true, DataDir: shown{c.Host("http://b:2380"), cluster.DataEmpty}}
	},
	"we have a copy of its disk at another address": func(_ *testing.T, c *clustertest.Cluster) (cluster.ID, string, string, member.Config) {
		h := c.Host("http://d:2380")
		h.SetData(clustertest.ClusterID, 2)
		return 2, "m2", "http://d:2380", member.Config{UpdateAddress: true, DataDir: h}
	},
	"it is a voter at our URL that never published itself": func(_ *testing.T, c *clustertest.Cluster) (cluster.ID, string, string, member.Config) {
		return unpublished(c, false), "new", "http://d:2380", member.Config{DataDir: shown{c.Host("http://d:2380"), cluster.DataEmpty}}
	},
	"the same, and nobody looks into its directory": func(_ *testing.T, c *clustertest.Cluster) (cluster.ID, string, string, member.Config) {
		return unpublished(c, false), "new", "http://d:2380", member.Config{}
	},
	"it holds the slot and never published itself": func(_ *testing.T, c *clustertest.Cluster) (cluster.ID, string, string, member.Config) {
		return unpublished(c, true), "new", "http://e:2380", member.Config{Slot: member.EvictStalled}
	},
}

// unpublished runs a server as member 4, whose name and URLs the list lacks.
func unpublished(c *clustertest.Cluster, learner bool) cluster.ID {
	c.AddRaw(cluster.Member{Name: "m4", PeerURLs: []string{"http://d:2380"}, Learner: learner})
	c.Restart(4)
	time.Sleep(10 * time.Second)
	c.SetName(4, "")
	c.SetClientURLs(4)
	return 4
}

// alive are the ways in which a member lives and does not answer us.
var alive = map[string]func(context.Context, *clustertest.Cluster, cluster.ID){
	"behind our firewall": func(_ context.Context, c *clustertest.Cluster, id cluster.ID) { c.Hide(id, true) },
	"behind everybody's firewall": func(_ context.Context, c *clustertest.Cluster, id cluster.ID) {
		c.Hide(id, true)
		c.OneWay(id, true)
	},
	"behind our firewall, and no metric can be read": func(_ context.Context, c *clustertest.Cluster, id cluster.ID) {
		c.Hide(id, true)
		c.FaultAll(clustertest.OpMetrics, clustertest.Fault{Before: errs["reset"]})
	},
	"behind our firewall, and metrics hang": func(_ context.Context, c *clustertest.Cluster, id cluster.ID) {
		c.Hide(id, true)
		c.FaultAll(clustertest.OpMetrics, clustertest.Fault{Hang: true})
	},
	"its client port is silent": func(_ context.Context, c *clustertest.Cluster, id cluster.ID) { c.Silent(id, true) },
	"it stands still again and again": func(ctx context.Context, c *clustertest.Cluster, id cluster.ID) {
		c.Hide(id, true)
		go func() {
			for c.Pause(id); pausedFor(ctx, 25*time.Second); c.Pause(id) {
				c.Resume(id)
				pausedFor(ctx, 2*time.Second)
			}
		}()
	},
	"behind our firewall, and the leader moves": func(ctx context.Context, c *clustertest.Cluster, id cluster.ID) {
		c.Hide(id, true)
		go func() {
			for to := cluster.ID(3); pausedFor(ctx, 20*time.Second); to = 4 - to {
				c.SetLeader(to)
			}
		}()
	},
}

// pausedFor reports whether so long has passed before ctx ended.
func pausedFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Whatever wants a member gone, and however it hides: one that lives is never removed,
// and its address is given to nobody.
func TestNobodyAliveIsRemoved(t *testing.T) {
	for why, setUp := range inTheWay {
		for how, hide := range alive {
			t.Run(why+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
					id, name, url, cfg := setUp(t, c)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					hide(ctx, c, id)
					before, _ := c.Member(id)
					joinFor(t, c, name, url, cfg)
					after, listed := c.Member(id)
					require.True(t, listed, "it was removed")
					assert.Equal(t, before.PeerURLs, after.PeerURLs, "its address was given away")
				})
			})
		}
		t.Run(why+"/dead", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
				id, name, url, cfg := setUp(t, c)
				c.Kill(id)
				before, _ := c.Member(id)
				joinFor(t, c, name, url, cfg)
				after, listed := c.Member(id)
				assert.True(t, !listed || after.PeerURLs[0] != before.PeerURLs[0], "it is dead, and stays for ever")
			})
		})
	}
}

func joinFor(t *testing.T, c *clustertest.Cluster, name, url string, cfg member.Config) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	j, err := learner.NewJoiner(c, name, cfg)
	require.NoError(t, err)
	_, err = j.Join(ctx, url)
	t.Logf("%.300v", err)
}
