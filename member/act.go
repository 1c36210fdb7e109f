package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/hook"
	"github.com/etcdjoin/etcdjoin/internal/initialcluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// do does the one thing that was decided.
func (r *run) do(ctx context.Context, c decide.Case, act decide.Act) (verdict, error) {
	if act.Do != decide.DoWait {
		r.acting = act.Do
		defer func() { r.acting = "" }()
	}
	if err := r.entitled(ctx, c, act); err != nil {
		return verdict{}, err
	}
	switch act.Do {
	case decide.DoRefuse:
		return verdict{}, act.Why
	case decide.DoProve:
		return r.prove(ctx, c, act)
	case decide.DoAddLearner, decide.DoAddVoter:
		return r.add(ctx, c, act)
	case decide.DoRemove:
		return r.remove(ctx, c, act)
	case decide.DoUpdate:
		r.reached(StepAdd)
		r.emit(Event{Kind: Updating, Member: &act.Member, Text: act.Text})
		return r.write(ctx, c, act, func(ctx context.Context, via cluster.Target) error {
			return r.client.Update(ctx, via, act.Member.ID, r.urls)
		})
	case decide.DoArchive:
		_, err := r.retire(ctx, c.Data.MemberID, r.entry.started, act.Text)
		return again, err
	case decide.DoStart:
		return r.start(ctx, c, act.Member)
	case decide.DoPromote:
		return r.promote(ctx, c, act)
	case decide.DoMoveLeader:
		r.emit(Event{Kind: Moving, Member: &act.Member, Text: act.Text})
		return r.write(ctx, c, act, func(ctx context.Context, via cluster.Target) error {
			return r.client.MoveLeader(ctx, via, act.Member.ID)
		})
	case decide.DoDone:
		r.finish(c, act)
		return verdict{done: true}, nil
	}
	if act.Suspect != 0 {
		r.looker.Suspect(act.Suspect)
		return r.wait(act.Member, act.Why, backoff.NewConstantBackOff(time.Second))
	}
	if errors.Is(act.Why, reason.ErrSlotTaken) || c.Blind != nil {
		return r.wait(act.Member, act.Why, r.faults)
	}
	r.nudge(ctx, c)
	if r.watch.of(act.Member.ID) {
		return r.wait(act.Member, act.Why, r.watches)
	}
	return r.wait(act.Member, act.Why, r.waits)
}

// permitted asks a hook right before its write.
func permitted(ctx context.Context, may func(context.Context, cluster.Member) error, m cluster.Member) error {
	if may == nil {
		return nil
	}
	if err := hook.Do(ctx, func(ctx context.Context) error { return may(ctx, m) }); err != nil {
		return hookFailed(err, "the caller's hook refuses it")
	}
	return nil
}

// write makes one membership write under its own deadline, at the leader: a
// follower hides the reason of a refusal behind a 7 s timeout (E§1.6). Whatever
// it answers, the next pass looks before anything is repeated; only an error
// that no wait heals is returned as final.
func (r *run) write(ctx context.Context, c decide.Case, act decide.Act, send func(context.Context, cluster.Target) error) (verdict, error) {
	if err := ctx.Err(); err != nil {
		return verdict{}, r.contextEnded(err) // nothing was sent
	}
	via, whom := cluster.WriteTo(c.Snapshot)
	before := r.changed
	r.changed = true
	bounded, cancel := context.WithTimeout(ctx, r.config.WriteTimeout)
	defer cancel()
	err := send(bounded, via)
	if err == nil {
		return r.answered(act)
	}
	r.success = decide.Act{}
	if classify.Decided(err) {
		r.changed = before // it was refused, and nothing of it is on its way
	}
	err = fmt.Errorf("asked %s: %w", whom, err)
	r.last = err
	switch classify.Of(err) {
	case classify.Fatal: // refused before it was proposed
		r.changed = before
		return verdict{}, classify.Because(err)
	case classify.SlotFull: // refused by all
		if r.slot = (slot{len(c.Snapshot.Learners()), time.Now()}); r.slot.limit > 0 {
			return again, nil
		}
	}
	if why := classify.Reason(err); why != nil {
		err = reason.Within(why, err)
	}
	return r.wait(cluster.Member{}, r.explained(c, act, err), r.faults)
}

// answered is a write that was answered with success. The next look shows it; where it
// did not, and the same is answered so once more, that is waited for like anything
// else: nothing is repeated without a pause, or without an end.
func (r *run) answered(act decide.Act) (verdict, error) {
	if r.success.Do != act.Do || r.success.Member.ID != act.Member.ID {
		r.success = act
		return again, nil
	}
	return r.wait(act.Member, reason.Of(reason.ErrNotShown, "%s", act.Do), r.faults)
}

// explained adds to a server's refusal of an add what the forecast knows.
func (r *run) explained(c decide.Case, act decide.Act, err error) error {
	f := cluster.Foresee(c.Snapshot, cluster.ToAddLearner, cluster.Member{})
	if (act.Do == decide.DoAddLearner || act.Do == decide.DoAddVoter) && f.Refused != "" {
		return fmt.Errorf("%w (%s%s)", err, f.Refused, decide.Silent(c))
	}
	return err
}

// add adds our entry. It is ours by the ID that is answered. Where no server answers,
// an entry that comes to be with our URLs counts as added by this call, and whether
// one will is in doubt until then; where one answers that there is one, it is not ours.
func (r *run) add(ctx context.Context, c decide.Case, act decide.Act) (verdict, error) {
	learner := act.Do == decide.DoAddLearner
	m := cluster.Member{Name: r.name, PeerURLs: r.urls, Learner: learner}
	asked := time.Now()
	if err := permitted(ctx, r.config.MayAdd, m); err != nil {
		return verdict{}, err
	}
	if wait := time.Until(r.removal.at.Add(1100 * time.Millisecond)); wait > 0 {
		// An ID is a hash of URLs and the second: within one, etcd would give
		// out the removed ID again and refuse it (E§0.12).
		return verdict{pause: backoff.NewConstantBackOff(wait)}, nil
	}
	if time.Since(asked) > r.config.ReadWithin { // the hook has taken its time
		c.Knocks = r.looker.Knock(ctx)
	}
	for _, k := range c.Knocks {
		if err := decide.Occupied(k); err != nil {
			return verdict{}, err
		}
	}
	r.warn(c)
	if !learner {
		r.noMargin(m, cluster.Foresee(c.Snapshot, cluster.ToAddVoter, m))
	}
	r.reached(StepAdd)
	r.emit(Event{Kind: Adding, Member: &m})
	return r.write(ctx, c, act, func(ctx context.Context, via cluster.Target) error {
		added, err := r.client.Add(ctx, via, r.urls, learner)
		r.author(added, via, !learner, err)
		return err
	})
}

// author notes what the answer to an add tells of whose the entry is.
func (r *run) author(added cluster.Member, via cluster.Target, voting bool, err error) {
	sent, on := cluster.WayOf(err)
	switch exists := errors.Is(err, rpctypes.ErrPeerURLExist) || errors.Is(err, rpctypes.ErrMemberExist); {
	case err == nil && added.ID != 0:
		r.entry, r.doubt = entry{id: added.ID, author: us}, doubt{}
	case exists:
		r.doubt = doubt{}
	case err != nil && (!sent || classify.Decided(err)):
		// This one will not be done. One before it still may.
	case r.doubt.open && r.doubt.on != on:
		r.doubt.on = "" // two of them, on two connections: no barrier shows both
	default:
		r.doubt = doubt{open: true, via: via, on: on, voting: voting}
	}
}

// warn tells, once and before the first write, of what does not forbid the join.
func (r *run) warn(c decide.Case) {
	if r.step != StepCheck || r.doubts != nil {
		return
	}
	r.doubts = decide.Doubts(c)
	for _, text := range r.doubts {
		r.emit(Event{Kind: Warned, Text: text})
	}
}

// remove removes an entry that the table says must go.
func (r *run) remove(ctx context.Context, c decide.Case, act decide.Act) (verdict, error) {
	if err := permitted(ctx, r.config.MayRemove, act.Member); err != nil {
		return verdict{}, err
	}
	r.reached(StepRemove)
	r.emit(Event{Kind: Removing, Member: &act.Member, Text: act.Text})
	r.removal = removal{id: act.Member.ID, at: time.Now()}
	delete(r.absent, act.Member.ID)
	r.replaced = r.replaced || act.Member.ID == r.entry.id
	return r.write(ctx, c, act, func(ctx context.Context, via cluster.Target) error {
		err := r.client.Remove(ctx, via, act.Member.ID)
		r.removal.answered = err == nil || errors.Is(err, rpctypes.ErrMemberNotFound)
		return err
	})
}

// start has the server started, once every voter that answers shows the entry:
// a joiner asks one voter for the list and exits if that one is behind (E§2.4,
// etcd #14174).
func (r *run) start(ctx context.Context, c decide.Case, m cluster.Member) (verdict, error) {
	restart := c.Data.Kind == cluster.DataMember && c.Data.MemberID == m.ID
	var behind error
	if !restart { // with its own data it asks nobody for the list
		behind = r.unaware(ctx, c, m)
	}
	if ctx.Err() != nil {
		return verdict{}, ctx.Err()
	}
	if behind != nil {
		return r.wait(m, behind, r.waits)
	}
	spec, err := r.startSpec(c.Snapshot, m)
	if c.Blind != nil {
		spec, err = StartSpec{Name: r.name, MemberID: m.ID, ClusterID: c.Data.ClusterID, PeerURLs: r.urls}, nil
	}
	spec.Restart = restart
	if err != nil {
		return verdict{}, err
	}
	r.reached(StepStart)
	r.emit(Event{Kind: Starting, Member: &m})
	if r.config.Start != nil {
		if err := hook.Do(ctx, func(ctx context.Context) error { return r.config.Start(ctx, spec) }); err != nil {
			if ctx.Err() != nil {
				r.last = err
				return verdict{}, ctx.Err()
			}
			return verdict{}, hookFailed(err, "the start hook failed")
		}
	}
	r.entry.id, r.entry.started, r.result.Started = m.ID, true, time.Now()
	r.entry.given, r.entry.starts = spec.InitialCluster, r.entry.starts+1
	r.reached(StepCatchUp)
	r.emit(Event{Kind: Started, Member: &m})
	r.watch.stop()
	r.watch = r.newWatch(m)
	return again, nil
}

func (r *run) startSpec(s cluster.Snapshot, m cluster.Member) (StartSpec, error) {
	initial, err := r.initialCluster(s, m)
	var members []cluster.Member
	for _, seen := range s.Members {
		members = append(members, seen.Member)
	}
	return StartSpec{
		Members: members,
		Name:    r.name, MemberID: m.ID, ClusterID: s.ClusterID, PeerURLs: m.PeerURLs,
		InitialCluster: initial, ServerVersion: version.Lowest(s.ServerVersions()...),
	}, err
}

// initialCluster is built from the list as it is, our own URLs as they are listed.
func (r *run) initialCluster(s cluster.Snapshot, m cluster.Member) (string, error) {
	var others []initialcluster.Entry
	for _, other := range s.Members {
		if other.ID != m.ID {
			others = append(others, initialcluster.Entry{Name: other.Name, PeerURLs: other.PeerURLs})
		}
	}
	list, err := initialcluster.Build(initialcluster.Entry{Name: r.name, PeerURLs: m.PeerURLs}, others)
	if err != nil {
		return "", fmt.Errorf("initial cluster: %w", err)
	}
	return list.String(), nil
}

// unaware asks every voter that answers whether its own list has our entry.
func (r *run) unaware(ctx context.Context, c decide.Case, m cluster.Member) error {
	bounded, cancel := context.WithTimeout(ctx, r.reach.EndpointTimeout)
	defer cancel()
	lists, err := r.looker.OwnLists(bounded, c.Snapshot, m.ID)
	if err != nil {
		return reason.Of(reason.ErrUnreachable, "not every voter in contact can be asked whether it lists us: %v", err)
	}
	for _, id := range slices.Sorted(maps.Keys(lists)) {
		if _, ok := find(lists[id], m.ID); !ok {
			return reason.Of(reason.ErrNotListed, "voter %s does not list us yet", id)
		}
	}
	return nil
}

func find(l cluster.List, id cluster.ID) (cluster.Member, bool) {
	for _, m := range l.Members {
		if m.ID == id {
			return m, true
		}
	}
	return cluster.Member{}, false
}

// promote asks for the vote, whatever strategy wants it, if the gate is open. The
// caller's hook is asked first; it may take minutes, so that all is looked at and
// proven anew after it. Nothing stands between the proof and the vote, and a vote
// that comes too late for its proof is not asked for.
func (r *run) promote(ctx context.Context, c decide.Case, act decide.Act) (verdict, error) {
	m := act.Member
	if r.config.MayPromote != nil {
		if err := permitted(ctx, r.config.MayPromote, m); err != nil {
			return verdict{}, err
		}
		var err error
		if c, err = r.see(ctx, true); err != nil {
			return r.blind(ctx, err)
		}
		if next := r.decide(c); next.Do != act.Do || next.Member.ID != m.ID {
			return verdict{pause: r.watches}, nil
		}
	}
	ours, _ := c.Snapshot.ByID(m.ID)
	if err := decide.Gate(c, ours); err != nil {
		closed := decide.Closed(m, err)
		if closed.Do == decide.DoRefuse {
			return verdict{}, closed.Why
		}
		return r.wait(m, closed.Why, r.watches)
	}
	r.noMargin(m, cluster.Foresee(c.Snapshot, cluster.ToPromote, m))
	r.emit(Event{Kind: Promoting, Member: &m})
	if !c.Proof.Good(time.Now(), r.config.ReadWithin) {
		return r.wait(m, reason.Of(reason.ErrNotLive, "its proof was older than %s before the vote could be asked for", r.config.ReadWithin), r.watches)
	}
	r.reached(StepPromote)
	r.entry.asked = true
	return r.write(ctx, c, act, func(ctx context.Context, via cluster.Target) error {
		err := r.client.Promote(ctx, via, m.ID)
		r.entry.asked = !classify.Decided(err)
		r.entry.voted = r.entry.voted || err == nil
		return err
	})
}

// noMargin tells of a vote after which no voter may fail.
func (r *run) noMargin(m cluster.Member, f cluster.Forecast) {
	if !f.Safe() || f.MarginAfter == 0 {
		r.emit(Event{Kind: NoMargin, Member: &m, Text: f.String()})
	}
}

// joined fills in the result.
func (r *run) joined(c decide.Case, act decide.Act) {
	if c.Served {
		r.result.Serving = time.Now()
	}
	r.result.Member, r.result.Changed = act.Member, r.changed
	r.result.Voters, r.result.Quorum, r.result.Margin = len(c.Snapshot.Voters()), c.Snapshot.Quorum(), c.Snapshot.Margin()
	if ours, found := c.Snapshot.ByID(act.Member.ID); found {
		r.result.Unproven = decide.Unproven(ours, r.gaveVote())
	}
	r.result.WayBack = c.Way
	r.tellUnproven(c.Snapshot, act.Member)
	r.emit(Event{Kind: Served, Member: &act.Member})
}
