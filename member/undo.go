package member

import (
	"context"
	"fmt"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
)

// undo leaves nothing behind that nobody owns, as far as the policy says. It
// runs under a context of its own, bounded and detached from the caller's. It
// returns what was done, or what could not be, in words; empty is nothing.
func (r *run) undo(ctx context.Context) string {
	if r.config.OnFailure == decide.Keep || !r.changed || r.entry.author == others {
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
	var removed cluster.ID
	ran := r.verb == VerbAbort || r.step != StepAdd
	r.watch.stop()
	r.watch, r.undoing = nil, true // how its server ended may be why we are here: that is no matter any more
	r.decide = func(c decide.Case) decide.Act {
		last = decide.Undoing(c, r.entry.mine(), r.config.OnFailure)
		if last.Do == decide.DoRemove {
			removed = last.Member.ID
		}
		return last
	}
	r.finish = func(decide.Case, decide.Act) {}
	if err := r.loop(ctx); err != nil {
		return "", false, err
	}
	if removed == 0 || last.Text != "" {
		return last.Text, false, nil
	}
	did = "the entry was removed"
	if ran {
		var more string
		more, err = r.retire(ctx, removed, ran, "its entry was removed")
		did += more
	}
	return did, true, err
}
