package etcdtest

import (
	"context"
	"fmt"
	"time"
)

const (
	pollEvery  = 20 * time.Millisecond
	pollWithin = 2 * time.Second
)

// poll tries until a try succeeds or ctx ends, giving each try a short time of
// its own. The error then names the last try's as well.
func poll(ctx context.Context, try func(context.Context) error) error {
	for {
		err := within(ctx, pollWithin, try)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, last: %w", context.Cause(ctx), err)
		case <-time.After(pollEvery):
		}
	}
}

func within(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(ctx)
}
