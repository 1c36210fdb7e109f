package member

import (
	"context"
	"fmt"

	"github.com/etcdjoin/etcdjoin/internal/decide"
)

// undo leaves nothing behind that nobody owns, as far as the policy says. It
// runs under a context of its own, bounded and detached from the caller's. It
// returns what was done, or what could not be, in words; empty is nothing.
func (r *run) undo(ctx context.Context) string {
	if r.config.OnFailure == decide.Keep || !r.changed || r.added == 0 && !r.adding {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*r.reach.EndpointTimeout+2*r.config.WriteTimeout)
	defer cancel()
	r.looker.Revive(ctx)
	did, undone, err := r.undoEntry(ctx)
	switch {
	case err != nil:
		did = fmt.Sprintf("could not undo: %v", err)
		r.emit(Event{Kind: UndoFailed, Text: did})
	case undone:
		r.emit(Event{Kind: Undone, Text: did})
	case did != "":
		r.emit(Event{Kind: Kept, Text: did})
	}
	return did
}

// undoEntry removes our entry where the policy wants that, by the same loop as a
// join. A learner is removed first and its server stopped after: a promotion that
// is still in flight, from us or from somebody else, would otherwise give a vote
// to a server that we have stopped.
func (r *run) undoEntry(ctx context.Context) (did string, undone bool, err error) {
	var last decide.Act
	sent := false
	// Its server is no matter any more: how it ended may be why we are here.
	r.watch.stop()
	r.watch, r.started, r.undoing = nil, 0, true
	r.decide = func(c decide.Case) decide.Act {
		last = decide.Undoing(c, r.added, r.config.OnFailure)
		sent = sent || last.Do == decide.DoRemove
		return last
	}
	r.finish = func(decide.Case, decide.Act) {}
	if err := r.loop(ctx); err != nil {
		return "", false, err
	}
	if !sent || last.Text != "" {
		return last.Text, false, nil
	}
	did, err = r.stopped(ctx, "the entry was removed")
	return did, true, err
}

// stopped stops the server and moves its data aside, once its entry is gone: a
// removed ID never comes back, and its data would refuse the next join.
func (r *run) stopped(ctx context.Context, did string) (string, error) {
	if r.step == StepAdd || r.config.Stop == nil {
		return did, nil
	}
	if err := r.stop(ctx); err != nil {
		return did, fmt.Errorf("%s, but its server could not be stopped: %w", did, err)
	}
	did += " and its server stopped"
	if r.config.DataDir == nil {
		return did, nil
	}
	if err := r.config.DataDir.Archive(ctx); err != nil {
		return did, fmt.Errorf("%s, but its data could not be moved aside: %w", did, err)
	}
	r.emit(Event{Kind: Archived, Text: "its entry was removed"})
	return did + ", its data moved aside", nil
}
