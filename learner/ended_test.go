package learner_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/member"
)

// The caller's context ends between the look and the write that it led to.
func TestNothingIsSentOnceTheContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New(a, b, c)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := join(ctx, fake, d, "new", func(c *member.Config) {
			c.MayAdd = func(context.Context, cluster.Member) error { cancel(); return nil }
		})
		require.ErrorIs(t, err, context.Canceled)
		var join *member.JoinError
		require.ErrorAs(t, err, &join)
		assert.False(t, join.Changed)
		assert.Zero(t, fake.Count(clustertest.OpAdd))
	})
}
