package member

import (
	"context"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// prove reads one list behind a barrier, and notes whether the member in question is
// in it.
func (r *run) prove(ctx context.Context, c decide.Case, act decide.Act) (verdict, error) {
	id := act.Absent
	r.emit(Event{Kind: Proving, Text: act.Text})
	behind, err := r.barrier(ctx, c.Snapshot, id)
	switch {
	case ctx.Err() != nil:
		return verdict{}, r.contextEnded(ctx.Err())
	case err != nil && classify.Of(err) == classify.Fatal:
		return verdict{}, classify.Because(err)
	case err != nil:
		r.last = err
		return r.wait(cluster.Member{}, reason.Of(act.Why, "no barrier: %v", err), r.faults)
	case r.listed(behind.List, id):
		delete(r.absent, id)
		return r.wait(cluster.Member{}, reason.Of(reason.ErrUndecided, "the list that was read is behind the leader's"), r.waits)
	}
	shown := r.absent[id].Again(time.Now(), behind.Carrier)
	if r.absent[id] = shown; shown.Proven() && (!r.doubt.open || shown.On != r.doubt.on || shown.ProvenOn(r.doubt.on)) {
		return again, nil
	}
	return r.wait(cluster.Member{}, act.Why, backoff.NewConstantBackOff(time.Second))
}

// barrier commits one at the leader. What became of an add that was given up shows on
// its own connection alone, so that is tried first.
func (r *run) barrier(ctx context.Context, s cluster.Snapshot, id cluster.ID) (cluster.Behind, error) {
	via, _ := cluster.WriteTo(s)
	if id == decide.AtOurURLs && r.doubt.open && r.doubt.via.ID != via.ID {
		if b, err := r.barrierAt(ctx, s, r.doubt.via, r.reach.EndpointTimeout); err == nil {
			return b, nil
		}
	}
	return r.barrierAt(ctx, s, via, r.config.WriteTimeout)
}

// barrierAt takes a barrier only from a server of our cluster: one in another shows
// nothing of it.
func (r *run) barrierAt(ctx context.Context, s cluster.Snapshot, via cluster.Target, within time.Duration) (cluster.Behind, error) {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	b, err := r.client.Barrier(bounded, via)
	if err == nil && b.ClusterID != s.ClusterID {
		err = reason.Of(reason.ErrWrongCluster, "a server of cluster %s answered in the place of %s", b.ClusterID, via)
	}
	return b, err
}

// listed reports whether a list has the member that is asked about.
func (r *run) listed(l cluster.List, id cluster.ID) bool {
	return slices.ContainsFunc(l.Members, func(m cluster.Member) bool {
		return m.ID == id || id == decide.AtOurURLs && peerurl.SameSet(m.PeerURLs, r.urls)
	})
}

// seenAgain ends what was shown of members that the list has all the same.
func (r *run) seenAgain(s cluster.Snapshot) {
	for id := range r.absent {
		if _, listed := s.ByID(id); listed {
			delete(r.absent, id)
		}
	}
	if _, listed := s.ByURLs(r.urls); listed {
		delete(r.absent, decide.AtOurURLs)
	}
}

// entitled asks, right before the first write, whether the caller may change the
// membership: nothing is half done for want of a right. The question goes through the
// log, so that a plan and a Step that waits leave it alone. A vote is asked for without
// it, for nothing may come between its proof and the vote.
func (r *run) entitled(ctx context.Context, c decide.Case, act decide.Act) error {
	if r.allowed || act.Do != decide.DoArchive && (!act.Writes() || act.Do == decide.DoPromote) {
		return nil
	}
	via, _ := cluster.WriteTo(c.Snapshot)
	bounded, cancel := context.WithTimeout(ctx, r.reach.EndpointTimeout)
	defer cancel()
	err := r.client.MayChange(bounded, via)
	if err != nil && classify.Of(err) == classify.Fatal {
		return classify.Because(err)
	}
	r.allowed = err == nil // no answer is no refusal; the write itself will tell
	return nil
}
