// Package hook calls what the caller gave us, so that it can neither be called too
// late nor hold us.
package hook

import (
	"context"
	"time"
)

// grace is how long a hook that obeys its context may take to say so.
const grace = 250 * time.Millisecond

// Call calls f, unless ctx has ended, and waits for it no longer than ctx lives: a hook
// that is deaf to its context goes on by itself, and its answer is lost.
func Call[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	done := make(chan answer, 1)
	go func() {
		v, err := f(ctx)
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.v, a.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case a := <-done:
		return a.v, a.err
	case <-timer.C:
		return none, ctx.Err()
	}
}

// Do is Call for a hook that answers with an error alone.
func Do(ctx context.Context, f func(context.Context) error) error {
	_, err := Call(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}
