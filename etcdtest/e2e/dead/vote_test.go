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
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// A voter that this call gave no vote, and that has not led, is unproven; once it has
// led, it is not.
func TestAVoterIsProvenByLeading(t *testing.T) {
	t.Parallel()
	for _, version := range kit.EveryRun {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 3, etcdtest.WithVersion(version))
			_, s, _ := cast(c)
			plan := func() member.Plan {
				j, err := learner.NewJoiner(kit.NewClient(c), s.Name, member.Config{})
				require.NoError(t, err)
				p, err := j.Plan(kit.Within(t, time.Minute), s.PeerURL)
				require.NoError(t, err)
				require.Equal(t, member.DoDone, p.Do, "%s", p)
				return p
			}
			assert.True(t, plan().Unproven)
			_, err := c.ClientFor(c.Leader()).MoveLeader(kit.Within(t, 20*time.Second), s.MemberID())
			require.NoError(t, err)
			require.Eventually(t, func() bool { return c.Leader() == s }, time.Minute, 50*time.Millisecond)
			assert.False(t, plan().Unproven)
		})
	}
}

// Somebody updates a learner's URLs (etcd #21694). The list and the server itself say
// voter from then on, also when all servers were upgraded; raft does not count it.
func TestALearnerThatWasUpdatedIsNoVoter(t *testing.T) {
	t.Parallel()
	for old, next := range map[string]string{"3.5.16": "", "3.6.0": "3.6.16", "3.4.13": ""} {
		t.Run(old, func(t *testing.T) {
			t.Parallel()
			kit.Needs(t, old, "3.6.16")
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(old))
			s := c.NewServer("second")
			updated := false
			_, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s, func(cfg *member.Config) {
				cfg.AcceptHazards = []string{"promotion-not-saved"}
				cfg.MayPromote = func(ctx context.Context, m cluster.Member) error {
					_, err := c.Client().MemberUpdate(ctx, uint64(m.ID), []string{s.PeerURL})
					updated = true
					return err
				}
			})
			require.True(t, updated)
			require.ErrorIs(t, err, member.ErrRoleDisagrees)
			if next != "" {
				for _, server := range []*etcdtest.Server{s, c.Servers()[0]} {
					server.Stop()
					server.UseVersion(next)
					require.NoError(t, server.Start(""))
				}
				require.NoError(t, s.WaitServing(kit.Within(t, time.Minute)))
				_, err = kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s, kit.StartsNothing(t))
				require.ErrorIs(t, err, member.ErrRoleDisagrees)
			}
			s.Kill()
			kit.TakesWrites(t, c) // a voter of two would be missed
		})
	}
}
