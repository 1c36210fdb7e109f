package member

import (
	"context"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/pace"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// run is one call of Join: the loop and the little it has to remember.
type run struct {
	*Engine
	verb    Verb
	peerURL string
	urls    []string
	decide  func(decide.Case) decide.Act  // the join's table, unless something else is the aim
	finish  func(decide.Case, decide.Act) // what a DoDone ends with
	looker  *cluster.Looker
	wake    chan struct{}
	faults  *backoff.ExponentialBackOff // after errors
	waits   *pace.Proportional          // while nothing is wrong
	watches *pace.Proportional          // the same, while a probe of the server wakes us

	step     Step
	changed  bool // a membership write was sent and may have been applied
	entry    entry
	removal  removal
	warned   map[string]bool
	doubt    doubt
	absent   map[cluster.ID]decide.Absence // what was shown of members that are not in the list
	only     cluster.ID                    // the one member this is about; 0: whoever has our URLs
	allowed  bool                          // the caller may change the membership
	retired  time.Time                     // when a server was last stopped
	replaced bool                          // see decide.Case
	greeted  bool                          // the first look was reported
	stepping bool                          // this is a Step, not a Join
	undoing  bool                          // a failed join is undone
	slot     slot                          // what etcd said of it last
	success  decide.Act                    // the write that was answered with success last
	last     error                         // the last real error of a server or a hook
	waiting  waiting                       // what is waited for
	watch    *watch                        // of the entry Start was called for
	doubts   []string                      // what was told before the first write
	acting   decide.Do                     // what is being done; empty while nothing is
	result   Result
}

func (e *Engine) newRun(ctx context.Context, verb Verb, peerURL string) (*run, error) {
	r := e.bareRun(verb, peerURL)
	urls, err := reason.PeerURLs(strings.Split(peerURL, ","))
	if err != nil {
		r.peerURL = peerurl.Redact(peerURL) // it may have a password
		return nil, r.joinError(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, r.joinError(err)
	}
	r.urls = peerurl.Strings(urls) // the caller's spelling, without space around it
	r.looker = cluster.NewLooker(ctx, e.client, r.urls, e.config.MetricsURL, r.rouse)
	return r, nil
}

func (e *Engine) bareRun(verb Verb, peerURL string) *run {
	r := &run{Engine: e, verb: verb, peerURL: peerURL, step: StepCheck, wake: make(chan struct{}, 1),
		absent: map[cluster.ID]decide.Absence{},
		faults: pace.Faults(),
		waits:  pace.NewProportional(5*time.Millisecond, 3*time.Second), watches: pace.NewProportional(25*time.Millisecond, 3*time.Second)}
	r.decide = func(c decide.Case) decide.Act { return decide.Next(c, r.strategy) }
	r.finish = r.joined
	return r
}

func (r *run) close() {
	r.watch.stop()
	r.looker.Close()
}

// rouse ends a pause: something that was waited for may have happened.
func (r *run) rouse() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// verdict is how a pass ended without an error: done, or look again after the
// pauses of a backoff; nil is at once.
type verdict struct {
	done  bool
	pause backoff.BackOff
}

var again = verdict{}

// loop is the one retry loop. An error that a pass returns is final.
func (r *run) loop(ctx context.Context) error {
	for {
		v, err := r.pass(ctx, r.watch.mayBeReady())
		switch {
		case err != nil:
			return err
		case v.done:
			return nil
		case v.pause != r.faults:
			r.faults.Reset()
		}
		if v.pause == nil {
			r.waiting.why = nil
			r.waits.Reset()
			r.watches.Reset()
		}
		if err := r.outwaited(); err != nil {
			return err
		}
		if err := r.sleep(ctx, v.pause); err != nil {
			return r.contextEnded(err)
		}
	}
}

func (r *run) sleep(ctx context.Context, pause backoff.BackOff) error {
	if pause == nil {
		return ctx.Err()
	}
	d := pause.NextBackOff()
	if left, ends := r.patience(); ends { // a wait overshoots by nothing
		d = min(d, max(left, 0))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	case <-r.wake:
	}
	return ctx.Err()
}

// fail ends the join: undo by policy, and one error that says it all.
func (r *run) fail(ctx context.Context, err error) error {
	e := r.joinError(err) // before the undo makes us forget the entry
	var undecided error
	if e.Undone, undecided = r.undo(ctx); undecided != nil {
		e.Err = reason.Because(undecided, e.Err)
		e.Hint = reason.Hint(e.Err)
	}
	return r.failed(e)
}

func (r *run) failed(e *JoinError) error {
	r.emit(Event{Kind: Failed, Text: e.Error(), Err: e})
	return e
}

func (r *run) joinError(err error) *JoinError {
	return &JoinError{Verb: r.verb, PeerURL: r.peerURL, Name: r.name, Step: r.step, MemberID: r.entry.id, Changed: r.changed,
		Err: err, Last: r.last, Doubts: r.doubts, Hint: r.hint(err)}
}

// hint is what a person should do: the reason's, unless an answer to a promotion was
// lost.
func (r *run) hint(err error) string {
	if r.entry.asked && r.step == StepPromote && classify.IsDeadline(err) {
		return "the answer to the promotion was lost, and it may vote already: look, and Join again"
	}
	return reason.Hint(err)
}

// reached notes the furthest step. What leaves has but two.
func (r *run) reached(s Step) {
	if !r.verb.leaves() || s == StepRemove {
		r.step = furthest(r.step, s)
	}
}

func (r *run) emit(e Event) {
	e.Verb = r.verb
	e.At, e.Step, e.PeerURL, e.Name, e.Text = time.Now(), r.step, r.peerURL, r.name, reason.Shown(e.Text)
	s := r.looker.Last
	e.Voters, e.Margin = len(s.Voters()), s.Margin()
	attrs := []any{"verb", string(e.Verb), "step", string(e.Step), "peerURL", e.PeerURL, "name", e.Name}
	if e.Member != nil {
		e.Member = e.Member.Redacted()
		attrs = append(attrs, "member", e.Member.String())
	}
	if e.Text != "" {
		attrs = append(attrs, "text", e.Text)
	}
	r.config.Logger.Info("etcdjoin: "+string(e.Kind), attrs...)
	if r.config.Observe != nil {
		r.config.Observe(e)
	}
}
