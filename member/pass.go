package member

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/hook"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// pass looks, decides and does one thing. An error is final.
func (r *run) pass(ctx context.Context, fresh bool) (verdict, error) {
	c, act, err := r.weigh(ctx, fresh)
	if err != nil {
		return r.blind(ctx, err)
	}
	if err := r.shutOut(c); err != nil {
		return verdict{}, classify.Because(err)
	}
	return r.do(ctx, c, act)
}

// weigh looks and decides. Nothing that cannot be taken back is decided on facts that
// may be a pass old: no write, and no end.
func (r *run) weigh(ctx context.Context, fresh bool) (c decide.Case, act decide.Act, err error) {
	if c, err = r.see(ctx, fresh); err != nil {
		return c, act, err
	}
	act = r.decide(c)
	if (act.Writes() || act.Do == decide.DoRefuse) && !c.Snapshot.Fresh && !fresh {
		return r.weigh(ctx, true)
	}
	if decide.Knocks(c, act) {
		if c, err = r.knock(ctx, c); err != nil {
			return c, act, err
		}
		act, err = r.decide(c), ctx.Err()
	}
	return c, act, err
}

// knock asks who is at our URLs. Where it is a server of this cluster, another join of
// the same URL may have come between the look and the question: the list tells.
func (r *run) knock(ctx context.Context, c decide.Case) (decide.Case, error) {
	knocks := r.looker.Knock(ctx)
	if decide.Related(knocks, c.Snapshot.ClusterID) {
		var err error
		if c, err = r.see(ctx, true); err != nil {
			return c, err
		}
		if _, listed := c.Snapshot.ByURLs(c.PeerURLs); listed {
			return c, nil
		}
	}
	c.Knocks = knocks
	return c, nil
}

// blind is a pass that could not look.
func (r *run) blind(ctx context.Context, err error) (verdict, error) {
	if ctx.Err() != nil {
		return verdict{}, r.contextEnded(ctx.Err())
	}
	r.last = err
	switch {
	case errors.Is(err, reason.ErrWrongCluster), errors.Is(err, reason.ErrDiverged), errors.Is(err, reason.ErrHook):
		return verdict{}, err
	case classify.Of(err) == classify.Fatal:
		return verdict{}, classify.Because(err)
	}
	if !errors.Is(err, reason.ErrUnreachable) {
		err = reason.Because(reason.ErrUnreachable, err)
	}
	return r.wait(cluster.Member{}, err, r.faults)
}

// see is one look with all that follows from it: it gathers, which asks and changes
// nothing, then notes what that means for this call, which asks nothing, and then
// asks our own member, if there is one.
func (r *run) see(ctx context.Context, fresh bool) (decide.Case, error) {
	c, err := r.gather(ctx, fresh)
	if err != nil || c.Blind != nil {
		return c, err
	}
	r.tellOfStrangers(c.Snapshot)
	r.seenAgain(c.Snapshot)
	if id, gone := r.departed(c.Snapshot); gone && id == r.entry.id {
		started := r.entry.started
		r.forget()
		if err := r.departing(ctx, id, started); err != nil {
			return decide.Case{}, err
		}
	}
	c.Removing = r.removal.id
	ours, found := c.Ours()
	switch {
	case found:
		r.note(ours)
		c.Started, c.Given, c.Starts = r.entry.startedAs(), r.entry.given, r.entry.starts
		c.Initial, _ = r.initialCluster(c.Snapshot, ours.Member) // what is wrong with it, a start will tell
		r.hear(ctx, &c, ours)
	case !c.Snapshot.NoQuorum:
		r.missing()
		c.Started, c.Unshown = r.entry.id, r.entry.author == us && r.result.Added.IsZero()
	}
	return c, nil
}

// departing stops our removed member's server before another is started in its
// place. An undo has words of its own for that.
func (r *run) departing(ctx context.Context, id cluster.ID, started bool) error {
	if r.undoing {
		return nil
	}
	_, err := r.retire(ctx, id, started, "its entry was removed")
	return err
}

// gather asks for the facts of one pass. The data directory is read after the list:
// an entry that is listed as started has written its log before.
func (r *run) gather(ctx context.Context, fresh bool) (decide.Case, error) {
	s, err := r.looker.Look(ctx, fresh)
	if err != nil {
		return r.unseen(ctx, err)
	}
	c := decide.Case{Only: r.only, Absent: r.absent, Replaced: r.replaced, Snapshot: s, Name: r.name, PeerURLs: r.urls, Policy: r.config.policy(), Started: r.entry.startedAs(), SlotLimit: r.slot.known(),
		CanStop: r.config.Stop != nil, Leaving: r.leaving()}
	if ours, found := c.Ours(); found && r.only != 0 {
		c.PeerURLs = ours.PeerURLs
	}
	if r.config.DataDir != nil && !r.undoing { // its disk may be why we undo
		if c.Data, err = r.inspect(ctx); err != nil {
			return decide.Case{}, hookFailed(err, "the data directory could not be inspected")
		}
	}
	ours, _ := c.Ours()
	if s.Fresh && !s.NoQuorum && !ours.Started() {
		c.Survey = r.looker.Survey(ctx, s)
	}
	if r.entry.started && !r.undoing && r.config.Exited != nil {
		c.Exit, _ = hook.Call(ctx, func(ctx context.Context) (*cluster.ExitError, error) { return r.config.Exited(ctx), nil })
	}
	return c, nil
}

// unseen is the case where nobody answers: what our own data directory holds is all
// that is known then.
func (r *run) unseen(ctx context.Context, err error) (decide.Case, error) {
	if r.undoing || r.config.DataDir == nil || !errors.Is(err, reason.ErrUnreachable) || classify.Of(err) == classify.Fatal || ctx.Err() != nil {
		return decide.Case{}, err
	}
	data, fault := r.inspect(ctx)
	if fault != nil {
		return decide.Case{}, hookFailed(fault, "the data directory could not be inspected")
	}
	r.last = err
	return decide.Case{Blind: err, Data: data, Name: r.name, PeerURLs: r.urls, Policy: r.config.policy(), Started: r.entry.startedAs()}, nil
}

// leaving reports whether a server at our URLs was told to end, or will learn that it
// was removed, so lately that it may answer still.
func (r *run) leaving() bool {
	return time.Since(r.removal.at) < patienceWithEnding || time.Since(r.retired) < patienceWithEnding
}

// patienceWithEnding is for how long a server may answer after its end has begun.
const patienceWithEnding = 30 * time.Second

// hear asks our own member: how far it is, whether it reads, whether it serves.
func (r *run) hear(ctx context.Context, c *decide.Case, ours cluster.Seen) {
	if r.stepping && !r.entry.started && ours.Learner {
		c.Started = r.resume(ctx, ours)
	}
	if r.watch.of(ours.ID) {
		c.Progress = r.watch.observe(c.Snapshot, ours)
		if ours.Learner && c.Snapshot.Fresh {
			r.watch.back.refresh(ctx, r.watch.reader.Heard().At, c.Snapshot, r.config.ReadWithin)
		}
		c.Way = r.watch.back.observe(c.Snapshot, ours)
		c.Unreached = r.watch.back.dials.Unreached()
		r.tellWay(ours, c.Way)
		r.report(c.Progress, ours)
	}
	if r.watch.of(ours.ID) {
		c.Stranger = r.watch.stranger()
	}
	switch {
	case ours.Learner && c.Snapshot.Fresh && r.watch.of(ours.ID):
		c.Proof = r.watch.prove(ctx)
	case !ours.Learner && ours.Liveness == cluster.Alive && !c.Snapshot.NoQuorum:
		c.Served = r.serves(ctx, ours)
	}
	if !ours.Learner {
		c.Voteless = r.voteless(ctx, *c, ours)
	}
}

// resume is for a Step without memory: a learner that answers a read runs, and
// needs no start. Else Start would be called at each Step, and nothing after it.
func (r *run) resume(ctx context.Context, ours cluster.Seen) cluster.ID {
	w := r.newWatch(ours.Member)
	if _, err := w.quick(ctx, ours.Target); err != nil {
		w.stop()
		return 0
	}
	r.watch, r.entry.started = w, true
	r.reached(StepCatchUp)
	return ours.ID
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
