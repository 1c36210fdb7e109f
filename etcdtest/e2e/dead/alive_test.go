// Package dead_test asks real servers who is dead, who votes, and whom the others can
// dial, where most that can be asked lies.
package dead_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
)

// unreachable is a client that reaches one member on none of its client URLs.
func unreachable(t *testing.T, c *etcdtest.Cluster, id cluster.ID) cluster.Client {
	nobody := kit.DeadURL(c)
	return cluster.NewClient(c.Client(), cluster.ClientConfig{Endpoints: func(m cluster.Member) []string {
		if m.ID == id {
			return []string{nobody}
		}
		return m.ClientURLs
	}})
}

// cast are the leader and two followers of three voters.
func cast(c *etcdtest.Cluster) (leader, one, other *etcdtest.Server) {
	leader = c.Leader()
	for _, s := range c.Servers() {
		switch {
		case s == leader:
		case one == nil:
			one = s
		default:
			other = s
		}
	}
	return leader, one, other
}

// A voter behind a firewall that lets nobody in: nobody reaches it, neither we nor the
// other voters, all of which call it disconnected. Every write may need its vote. No way
// of joining in its place removes it, nor takes its address from it.
func TestAVoterThatNobodyCanDialIsNotDead(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.7.3", "3.5.35", "3.4.13", "3.6.16"} {
		for how, shut := range map[string]func(*etcdtest.Link){
			"refused": func(l *etcdtest.Link) { l.Refuse() },
			"reset":   func(l *etcdtest.Link) { l.Cut() },
		} {
			t.Run(version+"/"+how, func(t *testing.T) {
				t.Parallel()
				kit.Needs(t, version)
				if version != "3.7.3" && how != "refused" {
					kit.NotInEveryRun(t)
				}
				c := etcdtest.Start(t, 3, etcdtest.WithVersion(version), etcdtest.WithLinks())
				leader, victim, third := cast(c)
				id := cluster.ID(victim.MemberID())
				shut(victim.Link())
				require.Eventually(t, func() bool {
					active, ok := leader.Metric("etcd_network_active_peers", "Remote", id.String())
					return ok && active == 0
				}, time.Minute, 50*time.Millisecond, "the leader still calls it connected")
				client := unreachable(t, c, id)

				s := c.NewServer(victim.Name)
				_, err := kit.JoinBy(t, kit.Within(t, time.Minute), kit.TheLearnersWay, client, s, kit.StartsNothing(t),
					func(cfg *member.Config) { cfg.SameName = member.ReplaceIfDead })
				kit.Unwritten(t, err, member.ErrNameTaken)
				assert.ErrorContains(t, err, "has heard from it")

				_, err = kit.JoinBy(t, kit.Within(t, time.Minute), kit.TheLearnersWay, client, victim, kit.StartsNothing(t),
					func(cfg *member.Config) { cfg.Rejoin, cfg.DataDir = true, manifest.DataDir{Dir: t.TempDir()} })
				kit.Unwritten(t, err, member.ErrDataLost)

				s.CopyData(victim)
				_, err = kit.JoinBy(t, kit.Within(t, time.Minute), kit.TheLearnersWay, client, s, kit.StartsNothing(t),
					func(cfg *member.Config) { cfg.UpdateAddress, cfg.DataDir = true, manifest.DataDir{Dir: s.Dir} })
				kit.Unwritten(t, err, member.ErrAddress)

				third.Pause()
				_, err = c.ClientFor(leader).Put(kit.Within(t, 20*time.Second), "e2e", "a write that needs its vote")
				require.NoError(t, err)
			})
		}
	}
}

// Stopped, and going on before half a minute is over: it was never dead.
func TestAVoterThatStoodStillIsNotDead(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"))
	_, victim, _ := cast(c)
	victim.Pause()
	time.AfterFunc(12*time.Second, victim.Resume)
	_, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, c.NewServer(victim.Name), kit.StartsNothing(t),
		func(cfg *member.Config) { cfg.SameName = member.ReplaceIfDead })
	kit.Unwritten(t, err, member.ErrNameTaken)
}

// A leftover of the old way that never ran goes after half a minute, if its own empty
// directory shows it; and not where it runs after all, its name not listed yet.
func TestALeftoverGoesOnlyIfItDoesNotRun(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.5.35"))
	s := c.NewServer("leftover")
	id := c.AddVoter(s)
	began := time.Now()
	var started bool
	r, err := kit.JoinLearner(t, kit.Within(t, 3*time.Minute), c, s, func(cfg *member.Config) {
		cfg.DataDir = manifest.DataDir{Dir: s.Dir}
		cfg.MayRemove = func(_ context.Context, m cluster.Member) error {
			started = s.Running()
			return nil
		}
	})
	require.NoError(t, err)
	assert.False(t, started)
	assert.NotEqual(t, cluster.ID(id), r.Member.ID)
	assert.GreaterOrEqual(t, time.Since(began), cluster.DeadAfter)
}
