package pace

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Faults paces what went wrong; it never gives up by itself.
func Faults() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(100*time.Millisecond), backoff.WithMaxInterval(3*time.Second),
		backoff.WithRandomizationFactor(0.4), backoff.WithMaxElapsedTime(0))
}

// Proportional is the pause while all is well and something takes its time: a
// tenth of what was waited already. So nothing overshoots by more than that, and
// a wait of ten minutes costs the leader some hundred looks.
type Proportional struct {
	Began          time.Time
	least, longest time.Duration
}

var _ backoff.BackOff = (*Proportional)(nil)

func NewProportional(least, longest time.Duration) *Proportional {
	return &Proportional{Began: time.Now(), least: least, longest: longest}
}

func (p *Proportional) NextBackOff() time.Duration {
	return min(max(time.Since(p.Began)/10, p.least), p.longest)
}

func (p *Proportional) Reset() { p.Began = time.Now() }

// Half is half of the time that ctx has left; a second where it has no end.
func Half(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Second
	}
	return time.Until(deadline) / 2
}
