package member

import (
	"context"
	"fmt"
	"strings"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/hook"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Remove takes the member with this ID out of the cluster, voter or learner,
// alive or dead. It refuses where the rest would have no quorum, and moves
// leadership away first. A member that is not there is a success, once that is proven,
// which takes a second. After an error the member may or may not be in the list, and
// its server was not touched: it is for the caller to stop it once Remove has
// succeeded, never before.
func Remove(ctx context.Context, client cluster.Client, id cluster.ID, config Config) error {
	_, err := remove(ctx, VerbRemove, client, id, config)
	return err
}

// remove reports beside its error whether there was such a member.
func remove(ctx context.Context, verb Verb, client cluster.Client, id cluster.ID, config Config) (seen bool, err error) {
	r, err := runByID(ctx, verb, client, id, config)
	if err != nil {
		return false, err
	}
	defer r.close()
	if r.only == 0 {
		return r.ranHere(ctx, config.DataDir, id)
	}
	r.decide = func(c decide.Case) decide.Act { return decide.Removal(c, id) }
	r.finish = func(decide.Case, decide.Act) {}
	if err := r.loop(ctx); err != nil {
		return true, r.failed(r.joinError(err))
	}
	return true, nil
}

// ranHere reports whether a member that is gone was this host's: its data tells.
func (r *run) ranHere(ctx context.Context, dir DataDir, id cluster.ID) (bool, error) {
	if dir == nil {
		return false, nil
	}
	data, err := hook.Call(ctx, dir.Inspect)
	if err != nil {
		return false, r.failed(r.joinError(hookFailed(err, "the data directory could not be inspected")))
	}
	return r.holds(data, id), nil
}

// Leave is Remove for a member whose server this host runs: config.Stop is
// called once the entry is gone. A voter leaves before it stops, or the last
// step from two members to one could never be made. Where there is no such member
// nothing is stopped, and Leave fails, unless config.DataDir holds it: the endpoints
// may be another cluster's, and the server a member that votes.
func Leave(ctx context.Context, client cluster.Client, id cluster.ID, config Config) error {
	seen, err := remove(ctx, VerbLeave, client, id, config)
	switch {
	case err != nil || config.Stop == nil:
		return err
	case !seen:
		gone := reason.Of(reason.ErrGone, "no member has the ID %s, and nothing was stopped; the endpoints may be of another cluster", id)
		return (&JoinError{Verb: VerbLeave, Step: StepCheck, MemberID: id, Err: gone}).hinted()
	}
	if err := hook.Do(ctx, config.Stop); err != nil {
		return fmt.Errorf("member %s is removed, but its server could not be stopped: %w", id, err)
	}
	return nil
}

// runByID is a run about a member that is known by its ID. It is about nobody where
// there is no such member.
func runByID(ctx context.Context, verb Verb, client cluster.Client, id cluster.ID, config Config) (*run, error) {
	config.Start, config.Stop, config.DataDir, config.OnFailure = nil, nil, nil, decide.Keep
	if id == 0 {
		return nil, reason.Input("id", "0", "must not be 0")
	}
	e, err := New(client, "unknown", config, decide.Voting{})
	if err != nil {
		return nil, err
	}
	found, err := e.lookUp(ctx, verb, id)
	m := found.result.Member
	if err != nil || m.ID == 0 {
		return found, err
	}
	e.name = m.Name
	r := e.bareRun(verb, strings.Join(m.PeerURLs, ","))
	r.urls, r.entry.id, r.only = m.PeerURLs, id, id // as they are listed, even where no joiner may have them
	r.looker = cluster.NewLooker(ctx, e.client, r.urls, e.config.MetricsURL, r.rouse)
	return r, nil
}

// lookUp finds a member by its ID, waiting for the cluster as a join would. It is in
// the result of the run that is returned, which has ended.
func (e *Engine) lookUp(ctx context.Context, verb Verb, id cluster.ID) (*run, error) {
	r := e.bareRun(verb, "")
	r.entry.id, r.name = id, ""
	r.looker = cluster.NewLooker(ctx, e.client, nil, "", r.rouse)
	defer r.close()
	r.decide = func(c decide.Case) decide.Act { return decide.Known(c, id) }
	r.finish = func(_ decide.Case, act decide.Act) { r.result.Member = act.Member }
	r.greeted = true
	if err := r.loop(ctx); err != nil {
		return r, r.joinError(err)
	}
	return r, nil
}
