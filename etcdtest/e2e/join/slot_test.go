package join_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
)

// holdSlot adds a learner as somebody else would, and starts it if wanted.
func holdSlot(t *testing.T, c *etcdtest.Cluster, started bool) (*etcdtest.Server, cluster.ID) {
	t.Helper()
	s := c.NewServer("holder", kit.Outside)
	id := c.AddLearner(s)
	if started {
		require.NoError(t, s.Start(c.InitialCluster(s)))
		require.NoError(t, s.WaitServing(kit.Within(t, 30*time.Second)))
	}
	return s, cluster.ID(id)
}

func TestALearnerInTheSlotIsAwaitedReportedAndLeftAlone(t *testing.T) {
	for name, started := range map[string]bool{"never started": false, "started": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1)
			holder, id := holdSlot(t, c, started)
			before := kit.Entries(t, c.Client())
			s := c.NewServer("waiting")
			leftAlone := func(t *testing.T, err error) *member.JoinError {
				t.Helper()
				e := kit.Unwritten(t, err, member.ErrSlotTaken)
				var slot *cluster.SlotError
				require.ErrorAs(t, err, &slot)
				require.Len(t, slot.Holders, 1)
				assert.Equal(t, id, slot.Holders[0].ID)
				assert.Equal(t, []string{holder.PeerURL}, slot.Holders[0].PeerURLs)
				assert.Equal(t, started, slot.Holders[0].Started())
				assert.Contains(t, e.Error(), id.String())
				assert.NotEmpty(t, e.Hint)
				assert.Equal(t, before, kit.Entries(t, c.Client()))
				assert.Equal(t, started, holder.Running())
				return e
			}

			t.Run("the policy says fail", func(t *testing.T) {
				begin := time.Now()
				_, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s, kit.StartsNothing(t), func(c *member.Config) { c.Slot = member.SlotFail })
				assert.Less(t, time.Since(begin), 30*time.Second)
				leftAlone(t, err)
			})
			t.Run("the context ends", func(t *testing.T) {
				_, err := kit.JoinLearner(t, kit.Within(t, 5*time.Second), c, s, kit.StartsNothing(t), func(c *member.Config) { c.StallTimeout = time.Second })
				e := leftAlone(t, err)
				assert.ErrorIs(t, e, context.DeadlineExceeded)
				var slot *cluster.SlotError
				require.ErrorAs(t, e, &slot)
				assert.Equal(t, started, slot.Holders[0].Lags, "the lag of a server that answers is known, of no other")
				assert.Greater(t, slot.Holders[0].Seen, time.Duration(0))
			})
			t.Run("it is removed", func(t *testing.T) {
				events := &kit.Recorder{}
				joined := make(chan error, 1)
				go func() {
					_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, func(cfg *member.Config) {
						log := cfg.Observe
						cfg.Observe = func(e member.Event) { log(e); events.Observe(e) }
					})
					joined <- err
				}()
				require.Eventually(t, func() bool { return strings.Contains(events.Kinds(), string(member.Slotted)) }, 30*time.Second, 10*time.Millisecond, "nobody told of the holder of the slot")
				_, err := c.Client().MemberRemove(kit.Within(t, 20*time.Second), uint64(id))
				require.NoError(t, err)
				require.NoError(t, <-joined)
				assert.False(t, kit.MemberOf(t, c, s).IsLearner)
				for _, e := range events.Events {
					if e.Kind == member.Slotted {
						require.NotNil(t, e.Member)
						assert.Equal(t, id, e.Member.ID)
						assert.Contains(t, e.Text, id.String())
					}
				}
			})
		})
	}
}
