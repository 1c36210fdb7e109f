package refuse_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

func TestVersionsThatDoNotGoTogetherAreRefusedBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.5.35"))
	for name, tc := range map[string]struct {
		joiner string
		err    error
	}{
		"older than the cluster":             {"3.4.13", member.ErrSkew},
		"two minor versions above":           {"3.7.3", member.ErrSkew},
		"the same":                           {"3.5.35", nil},
		"one above, where the members allow": {"3.6.16", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, c, tc.joiner)
			require.ErrorIs(t, p.Why, tc.err)
			if tc.err == nil {
				assert.Equal(t, member.DoAddLearner, p.Do)
			}
		})
	}
}

func TestAHazardIsRefusedUnlessItIsNamed(t *testing.T) {
	t.Parallel()
	kit.Needs(t, "3.5.16") // its members are not where 3.6 looks for them
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.5.16"))
	require.ErrorIs(t, planOf(t, c, "3.6.16").Why, member.ErrHazard)
	p := planOf(t, c, "3.6.16", "unsaved-members-into-3.6")
	assert.Equal(t, member.DoAddLearner, p.Do)
	assert.NotEmpty(t, p.Hazards)
}

// planOf is what would be done for a server of this version.
func planOf(t *testing.T, c *etcdtest.Cluster, joiner string, accepted ...string) member.Plan {
	t.Helper()
	j, err := learner.NewJoiner(kit.NewClient(c), "new", member.Config{ServerVersion: version.MustParse(joiner), AcceptHazards: accepted})
	require.NoError(t, err)
	p, err := j.Plan(kit.Within(t, 30*time.Second), c.NewServer("new").PeerURL)
	require.NoError(t, err)
	return p
}

func TestNobodyJoinsDuringADowngrade(t *testing.T) {
	for from, to := range map[string]string{"3.5.35": "3.4.0", "3.6.16": "3.5.0", "3.7.3": "3.6.0"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			kit.Needs(t, from)
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(from))
			ctx := kit.Within(t, 30*time.Second)
			enable := func() error {
				_, err := c.Client().Downgrade(ctx, clientv3.DowngradeEnable, to)
				return err
			}
			// The first tries come before the cluster version is decided, and the
			// answer to the one that counts may be lost.
			err := enable()
			for err != nil && !errors.Is(err, rpctypes.ErrDowngradeInProcess) {
				time.Sleep(200 * time.Millisecond)
				require.NoError(t, ctx.Err(), err)
				err = enable()
			}
			s := c.NewServer("second")
			_, err = kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, kit.StartsNothing(t))
			kit.Unwritten(t, err, member.ErrDowngrading)
			assert.Nil(t, kit.MemberOf(t, c, s))
		})
	}
}

// Each server applies its own --max-learners to every change, so that with
// different values the lists part for good.
func TestVotersWhoseListsDifferAreFoundOut(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	second := c.NewServer("second", etcdtest.WithArgs("--max-learners=2"))
	_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, second)
	require.NoError(t, err)
	c.AddLearner(c.NewServer("one"))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, _ = c.ClientFor(second).MemberAddAsLearner(ctx, []string{c.NewServer("two").PeerURL}) // one voter takes it

	_, err = kit.JoinLearner(t, kit.Within(t, time.Minute), c, c.NewServer("new"), kit.StartsNothing(t))
	kit.Unwritten(t, err, cluster.ErrDiverged)
}

// A holder of the slot that never ran is evicted when it is a quarter of an hour old, and
// not before the leader has heard nothing of it for half a minute. The quarter of an hour
// is what the memory of the steps says.
func TestAHolderOfTheSlotIsEvictedOnlyWithProof(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	holder, s := c.NewServer("holder"), c.NewServer("second")
	id := cluster.ID(c.AddLearner(holder))
	cfg := kit.Config(t, s)
	cfg.Slot, cfg.StallTimeout = member.EvictStalled, 4*time.Second
	j, err := learner.NewJoiner(kit.NewClient(c), s.Name, cfg)
	require.NoError(t, err)
	var memory member.Memory
	var since time.Time
	step := func() member.StepResult {
		r, err := j.Step(kit.Within(t, time.Minute), s.PeerURL, memory)
		require.NoError(t, err)
		memory = r.Memory
		return r
	}
	for r := step(); r.Did != member.DoRemove; r = step() {
		if since.IsZero() && !memory.SlotAt.IsZero() {
			memory.Since[id] = memory.Since[id].Add(-16 * time.Minute)
			since = time.Now()
		}
		time.Sleep(r.After)
	}
	assert.GreaterOrEqual(t, time.Since(since), cluster.DeadAfter, "it was evicted too early")
	for kit.MemberOf(t, c, holder) != nil {
		step()
	}
}
