package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// pass looks, decides and does one thing. An error is final.
func (r *run) pass(ctx context.Context, fresh bool) (verdict, error) {
	c, err := r.see(ctx, fresh)
	if err != nil {
		return r.blind(ctx, err)
	}
	act := r.decide(c)
	if (act.Writes() || act.Do == decide.DoRefuse) && !c.Snapshot.Fresh {
		// Nothing that cannot be taken back is decided on facts that may be a
		// pass old: no write, and no end.
		if c, err = r.see(ctx, true); err != nil {
			return r.blind(ctx, err)
		}
		act = r.decide(c)
	}
	if err := r.shutOut(c); err != nil {
		return verdict{}, reason.Because(reason.ErrTLS, err)
	}
	return r.do(ctx, c, act)
}

// blind is a pass that could not look.
func (r *run) blind(ctx context.Context, err error) (verdict, error) {
	if ctx.Err() != nil {
		return verdict{}, r.contextEnded(ctx.Err())
	}
	r.last = err
	switch {
	case errors.Is(err, reason.ErrWrongCluster), errors.Is(err, errHook):
		return verdict{}, err
	case classify.Of(err) == classify.Fatal:
		return verdict{}, reason.Because(classify.Reason(err), err)
	}
	if !errors.Is(err, reason.ErrUnreachable) {
		err = reason.Because(reason.ErrUnreachable, err)
	}
	return r.wait(cluster.Member{}, err, r.faults)
}

// errHook marks a hook of the caller that failed while facts were gathered.
var errHook = errors.New("a hook of the caller failed")

// see gathers the facts of one pass. The data directory is read after the list:
// an entry that is listed as started has written its log before.
func (r *run) see(ctx context.Context, fresh bool) (decide.Case, error) {
	s, err := r.looker.Look(ctx, fresh)
	if err != nil {
		return decide.Case{}, err
	}
	r.departed(s)
	c := decide.Case{Snapshot: s, Name: r.name, PeerURLs: r.urls, Policy: r.config.policy(), Started: r.started, SlotLimit: r.slotLimit}
	if r.config.DataDir != nil {
		if c.Data, err = r.config.DataDir.Inspect(ctx); err != nil {
			return decide.Case{}, reason.Because(errHook, fmt.Errorf("inspect the data directory: %w", err))
		}
	}
	ours, found := s.ByURLs(r.urls)
	if fresh = c.Snapshot.Fresh; fresh && !s.NoQuorum && !ours.Started() {
		c.Survey = r.looker.Survey(ctx, &c.Snapshot)
	}
	if r.started != 0 && r.config.Exited != nil {
		c.Exit = r.config.Exited(ctx)
	}
	if !found {
		if !s.NoQuorum {
			c.Missing = r.missing()
			c.Started = cmp.Or(r.started, r.ours)
		}
		return c, r.stopRemoved(ctx)
	}
	r.found(ours)
	if r.stepping && r.started == 0 && ours.Learner {
		c.Started = r.resume(ctx, ours)
	}
	if r.watch.of(ours.ID) {
		c.Progress = r.watch.observe(s, ours)
		r.report(c.Progress, ours)
	}
	switch {
	case ours.Learner && fresh && r.watch.of(ours.ID):
		c.Proof = r.watch.prove(ctx)
	case !ours.Learner && ours.Liveness == cluster.Alive && !s.NoQuorum:
		c.Served = r.serves(ctx, ours)
	}
	return c, nil
}

// resume is for a Step without memory: a learner that answers a read runs, and
// needs no start. Else Start would be called at each Step, and nothing after it.
func (r *run) resume(ctx context.Context, ours cluster.Seen) cluster.ID {
	w := r.newWatch(ours.Member)
	if w.prove(ctx) == nil {
		w.stop()
		return 0
	}
	r.watch, r.started = w, ours.ID
	r.reached(StepCatchUp)
	return ours.ID
}

// found notes our entry, and whether it appeared by this call's add.
func (r *run) found(ours cluster.Seen) {
	if !r.greeted {
		r.emit(Event{Kind: Found, Member: &ours.Member})
	}
	r.greeted, r.missed = true, time.Time{}
	if r.adding {
		r.adding, r.added, r.result.Added = false, ours.ID, time.Now()
		r.emit(Event{Kind: Added, Member: &ours.Member})
	}
	if r.asked && !ours.Learner && r.result.Promoted.IsZero() {
		r.result.Promoted = time.Now()
		r.emit(Event{Kind: GotVote, Member: &ours.Member})
	}
	if !ours.Learner {
		r.reached(StepServe)
	}
	r.ours = ours.ID
}

// missing is a list without our entry. It returns for how long that has been so.
func (r *run) missing() time.Duration {
	if r.missed.IsZero() {
		r.missed = time.Now()
	}
	if !r.greeted {
		r.emit(Event{Kind: Found, Text: "no member has our peer URL"})
	}
	r.greeted = true
	return time.Since(r.missed)
}

// departed notes that the member which this call removes is gone from the list.
func (r *run) departed(s cluster.Snapshot) {
	id := r.removing
	if _, listed := s.ByID(id); id == 0 || listed || s.NoQuorum {
		return
	}
	r.emit(Event{Kind: Removed, Text: "member " + id.String() + " is gone"})
	if r.removing = 0; id == r.ours {
		r.forget()
	}
}

// forget drops what was known of an entry that this call removed. Its server, if
// there is one, is to be stopped before another is started in its place.
func (r *run) forget() {
	r.stopping = r.config.Stop != nil && !r.undoing
	r.watch.stop()
	r.watch, r.started, r.ours = nil, 0, 0
}

// stopRemoved stops the server of an entry that is gone from the list.
func (r *run) stopRemoved(ctx context.Context) error {
	if !r.stopping {
		return nil
	}
	if err := r.stop(ctx); err != nil {
		return reason.Because(errHook, err)
	}
	r.stopping = false
	return nil
}

// serves asks for a linearizable list through the new voter, and the other voters
// for their own: it answers clients, and all agree that it votes.
func (r *run) serves(ctx context.Context, ours cluster.Seen) bool {
	bounded, cancel := context.WithTimeout(ctx, r.reach.EndpointTimeout)
	defer cancel()
	list, err := r.client.List(bounded, ours.Target)
	if err == nil && list.ClusterID == r.looker.Last.ClusterID && ours.Status.Leader != 0 {
		err = r.agreed(bounded, ours)
	}
	if err != nil {
		r.last = err
	}
	return err == nil
}

func (r *run) agreed(ctx context.Context, ours cluster.Seen) error {
	lists, err := r.looker.OwnLists(ctx, r.looker.Last, ours.ID)
	for _, id := range slices.Sorted(maps.Keys(lists)) {
		if m, ok := find(lists[id], ours.ID); !ok || m.Learner {
			err = errors.Join(err, reason.Of(reason.ErrDiverged, "voter %s does not list %s as a voter", id, ours.ID))
		}
	}
	return err
}
