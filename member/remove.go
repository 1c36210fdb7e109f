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
// leadership away first. A member that is not there is a success. After an error
// the member may or may not be in the list, and its server was not touched: it
// is for the caller to stop it once Remove has succeeded, never before.
func Remove(ctx context.Context, client cluster.Client, id cluster.ID, config Config) error {
	return remove(ctx, VerbRemove, client, id, config)
}

func remove(ctx context.Context, verb Verb, client cluster.Client, id cluster.ID, config Config) error {
	r, err := runByID(ctx, verb, client, id, config)
	if err != nil || r == nil {
		return err
	}
	defer r.close()
	r.decide = func(c decide.Case) decide.Act { return decide.Removal(c, id) }
	r.finish = func(decide.Case, decide.Act) {}
	if err := r.loop(ctx); err != nil {
		return r.failed(r.joinError(err))
	}
	return nil
}

// Leave is Remove for a member whose server this host runs: config.Stop is
// called once the entry is gone. A voter leaves before it stops, or the last
// step from two members to one could never be made.
func Leave(ctx context.Context, client cluster.Client, id cluster.ID, config Config) error {
	if err := remove(ctx, VerbLeave, client, id, config); err != nil || config.Stop == nil {
		return err
	}
	if err := hook.Do(ctx, config.Stop); err != nil {
		return fmt.Errorf("member %s is removed, but its server could not be stopped: %w", id, err)
	}
	return nil
}

// runByID is a run about a member that is known by its ID. It is nil without an
// error where there is no such member.
func runByID(ctx context.Context, verb Verb, client cluster.Client, id cluster.ID, config Config) (*run, error) {
	config.Start, config.Stop, config.DataDir, config.OnFailure = nil, nil, nil, decide.Keep
	if id == 0 {
		return nil, reason.Input("id", "0", "must not be 0")
	}
	e, err := New(client, "unknown", config, decide.Voting{})
	if err != nil {
		return nil, err
	}
	m, found, err := e.lookUp(ctx, verb, id)
	if err != nil || !found {
		return nil, err
	}
	e.name = m.Name
	r := e.bareRun(verb, strings.Join(m.PeerURLs, ","))
	r.urls, r.entry.id = m.PeerURLs, id // as they are listed, even where no joiner may have them
	r.looker = cluster.NewLooker(ctx, e.client, r.urls, e.config.MetricsURL, r.rouse)
	return r, nil
}

// lookUp finds a member by its ID, waiting for the cluster as a join would.
func (e *Engine) lookUp(ctx context.Context, verb Verb, id cluster.ID) (m cluster.Member, found bool, err error) {
	r := e.bareRun(verb, "")
	r.entry.id, r.name = id, ""
	r.looker = cluster.NewLooker(ctx, e.client, nil, "", r.rouse)
	defer r.close()
	r.decide = func(c decide.Case) decide.Act {
		seen, ok := c.Snapshot.ByID(id)
		if !ok && c.Snapshot.NoQuorum {
			return decide.WaitFor(cluster.Member{}, reason.Of(reason.ErrNoQuorum, "the list may be stale"))
		}
		m, found = seen.Member, ok
		return decide.Act{Do: decide.DoDone}
	}
	r.finish, r.greeted = func(decide.Case, decide.Act) {}, true
	if err := r.loop(ctx); err != nil {
		return cluster.Member{}, false, r.joinError(err)
	}
	return m, found, nil
}
