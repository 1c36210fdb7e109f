package learner_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/member/membertest"
)

// The caller's context ends between the look and the write that it led to.
func TestNothingIsSentOnceTheContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := membertest.New(a, b, c)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := join(ctx, cluster, d, "new", func(c *member.Config) {
			c.MayAdd = func(context.Context, member.Member) error { cancel(); return nil }
		})
		require.ErrorIs(t, err, context.Canceled)
		var join *member.JoinError
		require.ErrorAs(t, err, &join)
		assert.False(t, join.Changed)
		assert.Zero(t, cluster.Count(membertest.OpAdd))
	})
}
