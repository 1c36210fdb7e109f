package kit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/member"
)

func Remove(t *testing.T, fake *etcdtest.Cluster, id cluster.ID) {
	t.Helper()
	_, err := fake.Client().MemberRemove(t.Context(), uint64(id))
	require.NoError(t, err)
}

// Roles counts the voters and learners in the list.
func Roles(t *testing.T, c *etcdtest.Cluster) (voters, learners int) {
	t.Helper()
	list, err := c.Client().MemberList(Within(t, 20*time.Second))
	require.NoError(t, err)
	for _, m := range list.Members {
		if m.IsLearner {
			learners++
		} else {
			voters++
		}
	}
	return voters, learners
}

// OnEvent calls do once, at the first event of a kind.
func OnEvent(kind member.Kind, do func(member.Event)) func(*member.Config) {
	var once sync.Once
	return func(c *member.Config) {
		log := c.Observe
		c.Observe = func(e member.Event) {
			log(e)
			if e.Kind == kind {
				once.Do(func() { do(e) })
			}
		}
	}
}

// Hold lets a learner wait so long for its vote, once it could have it.
func Hold(d time.Duration) func(*member.Config) {
	return func(c *member.Config) {
		var once sync.Once
		c.MayPromote = func(ctx context.Context, _ cluster.Member) error {
			once.Do(func() {
				select {
				case <-ctx.Done():
				case <-time.After(d):
				}
			})
			return nil
		}
	}
}
