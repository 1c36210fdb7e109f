package member

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// waiting is what is waited for.
type waiting struct {
	why   error     // nil: nothing
	since time.Time // since when
	told  time.Time // when that was reported last
}

// worthTelling is how long a wait lasts before it is told: most are over sooner.
const worthTelling = time.Second

// wait reports what is waited for once it has lasted for a second, and then every 30 s.
// A Step tells at once, for nobody knows when the next one comes.
func (r *run) wait(m cluster.Member, why error, pause backoff.BackOff) (verdict, error) {
	now := time.Now()
	if r.waiting.why == nil || kindOf(r.waiting.why) != kindOf(why) {
		r.waiting = waiting{since: now}
	}
	r.waiting.why = why
	due := r.waiting.since.Add(worthTelling)
	if !r.waiting.told.IsZero() {
		due = r.waiting.told.Add(30 * time.Second)
	}
	if r.stepping && r.waiting.told.IsZero() || !now.Before(due) {
		r.waiting.told = now
		r.emit(r.waitEvent(m, why))
	}
	return verdict{pause: pause}, nil
}

func (r *run) waitEvent(m cluster.Member, why error) Event {
	e := Event{Kind: Waiting, Text: why.Error(), Err: reason.Discreet(why)}
	if errors.Is(why, reason.ErrSlotTaken) {
		e.Kind = Slotted
	}
	if m.ID != 0 {
		e.Member = &m
	}
	return e
}

// kindOf is what tells two waits apart: their numbers change all the time.
func kindOf(err error) string {
	var stall *cluster.StallError
	var slot *cluster.SlotError
	switch {
	case errors.As(err, &stall):
		return string(stall.Progress.Phase)
	case errors.As(err, &slot):
		return slot.Holders[0].ID.String()
	}
	return strings.SplitN(err.Error(), ":", 2)[0]
}

// contextEnded keeps what was waited for, and the last real error, beside the
// context's own.
func (r *run) contextEnded(err error) error {
	if r.acting != "" { // what was waited for before that is over
		return fmt.Errorf("%w, while it was at: %s", err, r.acting)
	}
	switch waiting := r.waiting.why.(type) { //nolint:errorlint // it is kept as it was made
	case nil:
		return err
	case *cluster.StallError:
		return fmt.Errorf("%w, while waiting: %w", err, moving{waiting})
	}
	return fmt.Errorf("%w, while waiting: %w", err, r.waiting.why)
}

// moving is the state of a server for which the caller's time was over before the
// stall clock's: it was not stalled.
type moving struct{ *cluster.StallError }

func (m moving) Is(target error) bool { return target != reason.ErrStalled && m.StallError.Is(target) }

func (m moving) As(target any) bool {
	stall, ok := target.(**cluster.StallError)
	if ok {
		*stall = m.StallError
	}
	return ok
}

// settling is how long etcd's own rule of five seconds may keep us waiting: no
// StallTimeout ends that.
const settling = 15 * time.Second

// outwaited ends a wait in which nothing moved for StallTimeout.
func (r *run) outwaited() error {
	if left, ends := r.patience(); ends && left <= 0 {
		return r.waiting.why
	}
	return nil
}

// patience is how long the present wait may still last. The wait for a slot ends with
// the caller's context only: the holder moves, not we.
func (r *run) patience() (left time.Duration, ends bool) {
	limit := r.config.StallTimeout
	var stall *cluster.StallError
	var silence *cluster.SilenceError
	switch {
	case r.waiting.why == nil, errors.Is(r.waiting.why, reason.ErrSlotTaken):
		return 0, false
	case errors.As(r.waiting.why, &stall):
		return limit - stall.Progress.Still, stall.Progress.Stalls()
	case errors.As(r.waiting.why, &silence): // a proof takes its time, and is no stall
		limit = max(limit, silence.Needs+settling)
	case errors.Is(r.waiting.why, reason.ErrUnhealthy):
		limit = max(limit, settling)
	}
	return limit - time.Since(r.waiting.since), true
}
