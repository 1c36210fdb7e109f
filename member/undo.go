package member

import (
	"context"
	"fmt"
	"time"
)

// undo leaves nothing behind that nobody owns, as far as the policy says. It
// runs under a context of its own, bounded and detached from the caller's. It
// returns what was done, or what could not be, in words; empty is nothing.
//
// The role is read from the live list, never remembered. A voter stays: to take
// its vote away is a decision of its own. A learner is removed first and stopped
// after: a promotion that is still in flight, from us or from somebody else,
// would otherwise give a vote to a server that we have stopped.
func (r *run) undo(ctx context.Context) string {
	if r.config.OnFailure == Keep || !r.changed || r.added == 0 && !r.adding {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*r.config.EndpointTimeout+2*r.config.WriteTimeout)
	defer cancel()
	r.looker.revive(ctx)
	did, err := r.undoEntry(ctx)
	switch {
	case err != nil:
		text := fmt.Sprintf("could not undo: %v", err)
		r.emit(Event{Kind: UndoFailed, Text: text})
		return text
	case did != "":
		r.emit(Event{Kind: Undone, Text: did})
	}
	return did
}

// undoEntry looks, removes and looks again until the entry is gone.
func (r *run) undoEntry(ctx context.Context) (did string, err error) {
	for tried := false; ; tried = true {
		s, err := r.looker.look(ctx, false)
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("%w: %w", ctx.Err(), r.last)
		case err != nil:
			r.last = err
			if err := r.sleep(ctx, r.faults); err != nil {
				return "", err
			}
			continue
		}
		ours, found := s.ByURLs(r.urls)
		if !found && tried {
			return r.stopped(ctx, "the entry was removed")
		}
		if keep := r.keeps(ours, found); keep != "" || !found {
			return keep, nil
		}
		if err := r.removeNow(ctx, s, ours); err != nil {
			r.last = err
			if err := r.sleep(ctx, r.faults); err != nil {
				return "", fmt.Errorf("%w: %w", err, r.last)
			}
		}
	}
}

// keeps says why the entry stays, or nothing if it may go.
func (r *run) keeps(ours Seen, found bool) string {
	switch {
	case !found:
		return ""
	case !ours.Learner && ours.Started():
		return fmt.Sprintf("%s has run and keeps its vote", ours.Member)
	case !ours.Learner:
		return fmt.Sprintf("%s keeps its vote; Join again, or remove it", ours.Member)
	case r.added != 0 && ours.ID != r.added:
		return fmt.Sprintf("%s was not added by this call and stays", ours.Member)
	case ours.Started() && r.config.OnFailure != Undo:
		return fmt.Sprintf("%s has run and stays; Join again, or remove it", ours.Member)
	}
	return ""
}

func (r *run) removeNow(ctx context.Context, s Snapshot, ours Seen) error {
	if err := permitted(ctx, r.config.MayRemove, ours.Member); err != nil {
		return err
	}
	r.removing, r.removedAt = true, time.Now()
	r.emit(Event{Kind: Removing, Member: &ours.Member, Text: "the join failed"})
	via, _ := writeTo(s)
	bounded, cancel := context.WithTimeout(ctx, r.config.WriteTimeout)
	defer cancel()
	return r.client.Remove(bounded, via, ours.ID)
}

// stopped stops the server and moves its data aside, once its entry is gone: a
// removed ID never comes back, and its data would refuse the next join.
func (r *run) stopped(ctx context.Context, did string) (string, error) {
	if r.step == StepAdd || r.config.Stop == nil {
		return did, nil
	}
	if err := r.config.Stop(ctx); err != nil {
		return did, fmt.Errorf("%s, but its server could not be stopped: %w", did, err)
	}
	did += " and its server stopped"
	if r.config.DataDir == nil {
		return did, nil
	}
	if err := r.config.DataDir.Archive(ctx); err != nil {
		return did, fmt.Errorf("%s, but its data could not be moved aside: %w", did, err)
	}
	return did + ", its data moved aside", nil
}
