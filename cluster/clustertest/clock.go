package clustertest

import (
	"context"
	"errors"
	"math"
	"time"
)

// event is something that happens at a moment to come.
type event struct {
	at time.Time
	do func() // nil: a wake-up only
}

// at has do happen at t.
func (c *Cluster) at(t time.Time, do func()) { c.events = append(c.events, event{t, do}) }

// after has do happen once d has passed.
func (c *Cluster) after(d time.Duration, do func()) { c.at(c.now.Add(d), do) }

// with runs f on the present state, and lets the state react to what f did.
func (c *Cluster) with(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(time.Now())
	f()
	c.flush()
}

// change is with, for what changes the state.
func (c *Cluster) change(f func()) {
	c.with(func() {
		f()
		c.dirty = true
	})
}

// flush lets the state react to changes and wakes whoever waits for one.
func (c *Cluster) flush() {
	if !c.dirty {
		return
	}
	c.dirty = false
	c.react()
	close(c.changed)
	c.changed = make(chan struct{})
}

// settle brings the state up to now, through everything due before, in order.
func (c *Cluster) settle(now time.Time) {
	for {
		t, ok := c.next()
		if !ok || t.After(now) {
			break
		}
		c.advance(t)
		c.fire()
		c.react()
		c.dirty = true
	}
	c.advance(now)
	c.flush()
}

// fire runs the events that are due.
func (c *Cluster) fire() {
	due := []event{}
	rest := c.events[:0:0]
	for _, e := range c.events {
		if e.at.After(c.now) {
			rest = append(rest, e)
		} else {
			due = append(due, e)
		}
	}
	c.events = rest
	for _, e := range due {
		if e.do != nil {
			e.do()
		}
	}
}

// next is the earliest moment at which something happens by itself.
func (c *Cluster) next() (time.Time, bool) {
	var w wait
	for _, e := range c.events {
		w.until(e.at)
	}
	c.raftMoments(&w)
	for _, p := range c.servers() {
		c.flowMoments(p, &w)
	}
	if w.set && !w.t.After(c.now) {
		w.t = c.now.Add(1) // whatever was due now has been done
	}
	return w.t, w.set
}

// advance lets what flows flow until t.
func (c *Cluster) advance(t time.Time) {
	dt := t.Sub(c.now)
	if dt <= 0 {
		return
	}
	c.now = t
	for _, p := range c.servers() {
		c.flow(p, dt.Seconds())
	}
}

// react lets the state come to rest after a change.
func (c *Cluster) react() {
	for c.bootAll() || c.flowAll() || c.lead() || c.commitNext() || c.publishAll() || c.serveAll() {
	}
	c.meetAll()
	c.watch()
}

// wait collects the earliest moment at which to ask again.
type wait struct {
	t   time.Time
	set bool
}

func (w *wait) until(t time.Time) {
	if !w.set || t.Before(w.t) {
		w.t, w.set = t, true
	}
}

// in is until, a number of seconds from now.
func (w *wait) in(now time.Time, seconds float64) {
	if math.IsInf(seconds, 1) || seconds > math.MaxInt64/float64(time.Second)/2 {
		return
	}
	w.until(now.Add(time.Duration(math.Ceil(seconds*float64(time.Second))) + 1))
}

// errWait says that there is no answer yet.
var errWait = errors.New("clustertest: no answer yet")

// asking tries, on the present state, to answer a call. It returns errWait until
// it can, and says through its argument when to try again at the latest.
type asking[T any] func(*wait) (T, error)

// await asks until there is an answer or ctx ends.
func await[T any](ctx context.Context, c *Cluster, ask asking[T]) (T, error) {
	for {
		var zero T
		if ctx.Err() != nil {
			return zero, ctx.Err()
		}
		v, again, err := attempt(c, ask)
		if !errors.Is(err, errWait) {
			return v, err
		}
		again(ctx)
	}
}

// attempt asks once. If there is no answer yet, the function that it returns
// waits until there may be one.
func attempt[T any](c *Cluster, ask asking[T]) (T, func(context.Context), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(time.Now())
	var w wait
	v, err := ask(&w)
	c.flush()
	if t, ok := c.next(); ok {
		w.until(t)
	}
	changed := c.changed
	return v, func(ctx context.Context) { w.sleep(ctx, changed) }, err
}

// sleep waits for the moment, a change, or the end of ctx.
func (w *wait) sleep(ctx context.Context, changed <-chan struct{}) {
	var moment <-chan time.Time
	if w.set {
		timer := time.NewTimer(time.Until(w.t))
		defer timer.Stop()
		moment = timer.C
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-moment:
	}
}
