package probe

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Patience bounds one pending request of a probe.
const Patience = 20 * time.Second

// Probe repeats one request to one server for as long as its context lives, one
// At a time, each time it is asked to. Whoever needs the answer waits for the
// next one; whoever does not reads the last one and its age. So a dead or hung
// server costs nobody a wait, and a request that is pending on a silent port
// Answers the moment the port opens.
type Probe[T any] struct {
	request func(context.Context) (T, error)
	changed func()          // called when a failure turns into an answer
	eager   backoff.BackOff // repeats a failed request unasked; nil: not

	kick chan struct{} // holds at most one: "once more"
	mu   sync.Mutex
	last Answer[T]
	done chan struct{} // closed when the request under way, or the next one, ends
}

// Answer is the last that a probe has heard.
type Answer[T any] struct {
	Value   T         // of the last success
	At      time.Time // of the last success; zero: never
	Err     error     // of the last request; nil if it succeeded
	Asked   time.Time // when the request under way was sent; zero: none is
	Refused int       // requests that have failed since the last success
}

// New starts a probe; it ends with ctx, and wg knows when.
func New[T any](ctx context.Context, wg *sync.WaitGroup, changed func(), eager backoff.BackOff, request func(context.Context) (T, error)) *Probe[T] {
	p := &Probe[T]{request: request, changed: changed, eager: eager, kick: make(chan struct{}, 1), done: make(chan struct{})}
	wg.Go(func() { p.run(ctx) })
	return p
}

func (p *Probe[T]) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.kick:
		}
		for again := true; again && ctx.Err() == nil; {
			again = p.once(ctx)
		}
	}
}

// once makes one request. One that was pending for long is repeated at once: it
// waits for a port to open or for data to arrive, and costs nobody anything.
func (p *Probe[T]) once(ctx context.Context) (again bool) {
	asked := time.Now()
	p.mu.Lock()
	p.last.Asked = asked
	p.mu.Unlock()
	v, err := p.request(ctx)
	if ctx.Err() != nil {
		return false
	}
	p.hear(v, err)
	if err != nil && p.eager != nil {
		return pause(ctx, p.eager.NextBackOff())
	}
	return err != nil && time.Since(asked) > time.Second
}

// pause waits, and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (p *Probe[T]) hear(v T, err error) {
	p.mu.Lock()
	news := err == nil && (p.last.Err != nil || p.last.At.IsZero())
	p.last.Err, p.last.Asked = err, time.Time{}
	if err == nil {
		p.last.Value, p.last.At, p.last.Refused = v, time.Now(), 0
	} else {
		p.last.Refused++
	}
	close(p.done)
	p.done = make(chan struct{})
	p.mu.Unlock()
	if news {
		p.changed()
	}
}

// Ask sends the request, unless one is under way, and returns what is closed
// when the next one ends.
func (p *Probe[T]) Ask() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.Asked.IsZero() {
		select {
		case p.kick <- struct{}{}:
		default:
		}
	}
	return p.done
}

func (p *Probe[T]) Heard() Answer[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// Live reports whether the last request was answered and none has been pending
// for longer than patience since.
func (a Answer[T]) Live(patience time.Duration) bool {
	return !a.At.IsZero() && a.Err == nil && (a.Asked.IsZero() || time.Since(a.Asked) < patience)
}
