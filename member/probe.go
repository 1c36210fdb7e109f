package member

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// probe repeats one request to one server for as long as its context lives, one
// at a time, each time it is asked to. Whoever needs the answer waits for the
// next one; whoever does not reads the last one and its age. So a dead or hung
// server costs nobody a wait, and a request that is pending on a silent port
// answers the moment the port opens.
type probe[T any] struct {
	request func(context.Context) (T, error)
	changed func()          // called when a failure turns into an answer
	eager   backoff.BackOff // repeats a failed request unasked; nil: not

	kick chan struct{} // holds at most one: "once more"
	mu   sync.Mutex
	last answer[T]
	done chan struct{} // closed when the request under way, or the next one, ends
}

// answer is the last that a probe has heard.
type answer[T any] struct {
	value   T         // of the last success
	at      time.Time // of the last success; zero: never
	err     error     // of the last request; nil if it succeeded
	asked   time.Time // when the request under way was sent; zero: none is
	refused int       // requests that have failed since the last success
}

// newProbe starts a probe; it ends with ctx, and wg knows when.
func newProbe[T any](ctx context.Context, wg *sync.WaitGroup, changed func(), eager backoff.BackOff, request func(context.Context) (T, error)) *probe[T] {
	p := &probe[T]{request: request, changed: changed, eager: eager, kick: make(chan struct{}, 1), done: make(chan struct{})}
	wg.Go(func() { p.run(ctx) })
	return p
}

func (p *probe[T]) run(ctx context.Context) {
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
func (p *probe[T]) once(ctx context.Context) (again bool) {
	asked := time.Now()
	p.mu.Lock()
	p.last.asked = asked
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

func (p *probe[T]) hear(v T, err error) {
	p.mu.Lock()
	news := err == nil && (p.last.err != nil || p.last.at.IsZero())
	p.last.err, p.last.asked = err, time.Time{}
	if err == nil {
		p.last.value, p.last.at, p.last.refused = v, time.Now(), 0
	} else {
		p.last.refused++
	}
	close(p.done)
	p.done = make(chan struct{})
	p.mu.Unlock()
	if news {
		p.changed()
	}
}

// ask sends the request, unless one is under way, and returns what is closed
// when the next one ends.
func (p *probe[T]) ask() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.asked.IsZero() {
		select {
		case p.kick <- struct{}{}:
		default:
		}
	}
	return p.done
}

func (p *probe[T]) heard() answer[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// live reports whether the last request was answered and none has been pending
// for longer than patience since.
func (a answer[T]) live(patience time.Duration) bool {
	return !a.at.IsZero() && a.err == nil && (a.asked.IsZero() || time.Since(a.asked) < patience)
}
