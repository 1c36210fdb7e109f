package member

import (
	"context"
	"fmt"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// undo leaves nothing behind that nobody owns, as far as the policy says. It
// runs under a context of its own, bounded by UndoWithin and detached from the caller's, and asks no
// hook but MayRemove before the entry is gone. It returns what was done, or what could
// not be, in words, empty for nothing; and an error if an add may still be done.
func (r *run) undo(ctx context.Context) (did string, undecided error) {
	own, any := r.own()
	switch {
	case !any && r.entry.author == others && r.config.OnFailure != decide.Keep:
		did = "member " + r.entry.id.String() + " was added by somebody else meanwhile and stays"
		r.emit(Event{Kind: Kept, Text: did})
		return did, nil
	case !any:
		return "", nil
	case r.config.OnFailure == decide.Keep:
		return "", r.doubted(own)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.config.UndoWithin)
	defer cancel()
	r.looker.Revive(ctx)
	did, undone, err := r.undoEntry(ctx, own)
	switch {
	case err != nil:
		did = fmt.Sprintf("could not undo: %v", err)
		r.emit(Event{Kind: UndoFailed, Text: did})
	case undone:
		r.emit(Event{Kind: Undone, Text: did})
	case did != "":
		r.emit(Event{Kind: Kept, Text: did})
	}
	return did, r.doubted(own)
}

// doubted tells of an add that is in doubt still.
func (r *run) doubted(own decide.Own) error {
	if !r.doubt.open {
		return nil
	}
	err := decide.Undecided(own, r.urls)
	r.emit(Event{Kind: Undecided, Text: err.Error() + ": " + reason.Hint(err), Err: err})
	return err
}

// undoEntry removes our entry where the policy wants that, by the same loop as a
// join. A learner is removed first and its server stopped after: a promotion that
// is still in flight, from us or from somebody else, would otherwise give a vote
// to a server that we have stopped.
func (r *run) undoEntry(ctx context.Context, own decide.Own) (did string, undone bool, err error) {
	var last decide.Act
	var removed cluster.ID
	started := r.entry.started
	r.watch.stop()
	r.watch, r.undoing = nil, true // how its server ended may be why we are here: that is no matter any more
	r.decide = func(c decide.Case) decide.Act {
		if own.Doubt && r.entry.author == us { // it came to be
			own.ID, own.Doubt = r.entry.id, false
		}
		if last = decide.Undoing(c, own, r.config.OnFailure); last.Do == decide.DoRemove {
			removed = last.Member.ID
			own.ID, own.Doubt = removed, false
		}
		return last
	}
	r.finish = func(_ decide.Case, act decide.Act) { r.doubt.open = r.doubt.open && act.Why != nil }
	if err := r.loop(ctx); err != nil {
		return "", false, err
	}
	if removed == 0 || last.Text != "" {
		return last.Text, own.Doubt && last.Why == nil, nil
	}
	did = "the entry was removed"
	if started || r.verb == VerbAbort {
		var more string
		more, err = r.retire(ctx, removed, started, "its entry was removed")
		did += more
	}
	return did, true, err
}
