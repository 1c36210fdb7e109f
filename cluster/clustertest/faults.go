package clustertest

import (
	"context"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// Fault is what goes wrong with one call. What is zero goes well; several things
// may go wrong at once.
type Fault struct {
	// At restricts the fault to calls sent to this member; 0: to any.
	At cluster.ID
	// OnCall runs when the call is made, before it has any effect: a crash of the
	// caller (cancel its context), of a server ([Cluster.Kill]), anything.
	OnCall func()
	// Slow is how long the call takes to reach a server.
	Slow time.Duration
	// Before is returned in place of a call: it has no effect.
	Before error
	// Hang loses the call: it has no effect, and hangs until its context ends.
	Hang bool
	// Idle answers with success and an empty answer at once; the call has no effect.
	Idle bool
	// Late lets the request reach the server this much later, even if the caller
	// has given up by then.
	Late time.Duration
	// Reconnect loses the connection that carries a late request: what is sent after it
	// arrives before it.
	Reconnect bool
	// Duplicate sends the call twice, as clientv3 may; the second answer counts.
	Duplicate bool
	// Stale answers a list, a status or a read as it was before the last change of
	// the member list.
	Stale bool
	// OnDone runs when the call has had its effect, before it returns.
	OnDone func()
	// After is returned although the call has had its effect.
	After error
	// HangAfter loses the answer: the call has its effect, and hangs until its
	// context ends.
	HangAfter bool
}

// faults are the faults to come.
type faults struct {
	count  map[Op]int
	nth    map[Op]map[int]Fault
	queue  map[Op][]Fault
	always map[Op]Fault
}

func newFaults() faults {
	return faults{count: map[Op]int{}, nth: map[Op]map[int]Fault{}, queue: map[Op][]Fault{}, always: map[Op]Fault{}}
}

// Fault lets the nth call of an operation go wrong, counted from 1 over the life
// of the cluster (or since ResetCalls), so that a run can be repeated with a
// fault at each of its calls.
func (c *Cluster) Fault(op Op, nth int, f Fault) {
	c.with(func() {
		if c.nth[op] == nil {
			c.nth[op] = map[int]Fault{}
		}
		c.nth[op][nth] = f
	})
}

// FaultNext lets the next calls of an operation go wrong, one after the other.
func (c *Cluster) FaultNext(op Op, fs ...Fault) {
	c.with(func() { c.queue[op] = append(c.queue[op], fs...) })
}

// FaultAll lets all calls of an operation go wrong, those without a fault of
// their own. The zero Fault ends it.
func (c *Cluster) FaultAll(op Op, f Fault) {
	c.with(func() { c.always[op] = f })
}

// Deny lets all calls of an operation be refused with err, as auth does. A nil
// err ends it.
func (c *Cluster) Deny(op Op, err error) { c.FaultAll(op, Fault{Before: err}) }

// ClearFaults drops all faults to come.
func (c *Cluster) ClearFaults() {
	c.with(func() {
		count := c.faults.count
		c.faults = newFaults()
		c.faults.count = count
	})
}

// take is the fault for this call, if any.
func (f *faults) take(op Op, at cluster.ID) Fault {
	f.count[op]++
	if nth, ok := f.nth[op][f.count[op]]; ok && nth.hits(at) {
		return nth
	}
	for i, next := range f.queue[op] {
		if next.hits(at) {
			f.queue[op] = append(f.queue[op][:i:i], f.queue[op][i+1:]...)
			return next
		}
	}
	if f.always[op].hits(at) {
		return f.always[op]
	}
	return Fault{}
}

func (f Fault) hits(at cluster.ID) bool { return f.At == 0 || f.At == at }

// record notes a call, and finds the fault that it meets.
func (c *Cluster) record(call Call) (*record, Fault) {
	r := &record{call}
	var f Fault
	c.with(func() {
		r.When, r.Pending = c.now, true
		c.records = append(c.records, r)
		f = c.take(call.Op, call.At)
	})
	return r, f
}

func (c *Cluster) returned(r *record, err error) {
	c.with(func() {
		r.Err, r.Pending, r.Took = err, false, c.now.Sub(r.When)
	})
}

// do makes one call: it records it, and lets a fault have its way. begin makes
// the state machine that answers it; a call that is sent twice has two.
func do[T any](c *Cluster, ctx context.Context, call Call, begin func(*record, Fault) asking[T]) (T, error) {
	r, f := c.record(call)
	v, err := faulty(ctx, f, func() (T, error) {
		if f.Duplicate {
			_, _ = send(ctx, c, f, begin(r, f))
		}
		return send(ctx, c, f, begin(r, f))
	})
	c.returned(r, err)
	return v, err
}

// faulty makes a call go wrong on its way there and back.
func faulty[T any](ctx context.Context, f Fault, call func() (T, error)) (v T, err error) {
	if f.OnCall != nil {
		f.OnCall()
	}
	if err := pause(ctx, f.Slow); err != nil {
		return v, err
	}
	switch {
	case f.Before != nil:
		return v, f.Before
	case f.Hang:
		return v, hang(ctx)
	case f.Idle:
		return v, nil
	}
	answer, err := call()
	if f.OnDone != nil {
		f.OnDone()
	}
	switch {
	case f.HangAfter:
		return v, hang(ctx)
	case f.After != nil:
		return v, f.After
	}
	return answer, err
}

// send awaits the answer; a late request reaches the server by itself.
func send[T any](ctx context.Context, c *Cluster, f Fault, ask asking[T]) (T, error) {
	if f.Late <= 0 {
		return await(ctx, c, ask)
	}
	var due time.Time
	c.change(func() {
		due = c.now.Add(f.Late)
		c.at(due, func() { _, _ = ask(&wait{}) })
	})
	return await(ctx, c, func(w *wait) (T, error) {
		if c.now.Before(due) {
			var zero T
			return zero, errWait
		}
		return ask(w)
	})
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
