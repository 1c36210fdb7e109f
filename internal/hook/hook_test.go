package hook_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/internal/hook"
)

func TestAHookIsNotCalledTooLate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	called := false
	err := hook.Do(ctx, func(context.Context) error { called = true; return nil })
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, called)
}

func TestADeafHookHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began, end := time.Now(), make(chan struct{})
		defer close(end)
		_, err := hook.Call(ctx, func(context.Context) (int, error) { <-end; return 1, nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Less(t, time.Since(began), 2*time.Second)
	})
}

func TestAHookThatObeysHasTheLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		own := errors.New("half of it was written")
		v, err := hook.Call(ctx, func(ctx context.Context) (int, error) { <-ctx.Done(); return 7, own })
		require.ErrorIs(t, err, own)
		assert.Equal(t, 7, v)
	})
}
