package member

import (
	"context"
	"fmt"
	"strings"
)

// Remove takes the member with this ID out of the cluster, voter or learner,
// alive or dead. It refuses where the rest would have no quorum, and moves
// leadership away first. A member that is not there is a success. After an error
// the member may or may not be in the list, and its server was not touched: it
// is for the caller to stop it once Remove has succeeded, never before.
func Remove(ctx context.Context, client Client, id ID, config Config) error {
	r, err := runByID(ctx, client, id, config)
	if err != nil || r == nil {
		return err
	}
	defer r.close()
	r.decide = func(c Case) Act { return removal(c, id) }
	r.finish = func(Case, Act) {}
	if err := r.loop(ctx); err != nil {
		return r.failed(r.joinError(err))
	}
	return nil
}

// Leave is Remove for a member whose server this host runs: config.Stop is
// called once the entry is gone. A voter leaves before it stops, or the last
// step from two members to one could never be made.
func Leave(ctx context.Context, client Client, id ID, config Config) error {
	if err := Remove(ctx, client, id, config); err != nil || config.Stop == nil {
		return err
	}
	if err := config.Stop(ctx); err != nil {
		return fmt.Errorf("member %s is removed, but its server could not be stopped: %w", id, err)
	}
	return nil
}

// removal decides how a member goes.
func removal(c Case, id ID) Act {
	m, found := c.Snapshot.ByID(id)
	switch {
	case c.Snapshot.NoQuorum:
		return WaitFor(m.Member, reason(ErrNoQuorum, "nothing can be removed"))
	case !found:
		return Act{Do: DoDone}
	case m.Learner:
		return Act{Do: DoRemove, Member: m.Member, Text: "asked to"}
	case len(c.Snapshot.Voters()) == 1:
		return Refused(reason(ErrQuorumAtRisk, "%s is the only voter", m.Member))
	}
	act := RemoveIt(c, m.Member, "asked to")
	if act.Do != DoRemove || c.Snapshot.Leader != id {
		return act
	}
	if to, ok := successor(c.Snapshot); ok {
		return Act{Do: DoMoveLeader, Member: to.Member, Text: "the leader is to be removed"}
	}
	return act
}

// successor is the live voter that has applied most, and not the leader.
func successor(s Snapshot) (best Seen, found bool) {
	for _, m := range s.LiveVoters() {
		if m.ID != s.Leader && (!found || m.Status.Applied > best.Status.Applied) {
			best, found = m, true
		}
	}
	return best, found
}

// runByID is a run about a member that is known by its ID. It is nil without an
// error where there is no such member.
func runByID(ctx context.Context, client Client, id ID, config Config) (*run, error) {
	config.Start, config.Stop, config.DataDir, config.OnFailure = nil, nil, nil, Keep
	if id == 0 {
		return nil, badInput("id", "0", "must not be 0")
	}
	e, err := New(client, "unknown", config, voting{})
	if err != nil {
		return nil, err
	}
	m, found, err := e.lookUp(ctx, id)
	if err != nil || !found {
		return nil, err
	}
	e.name = m.Name
	r := e.bareRun(strings.Join(m.PeerURLs, ","))
	r.urls, r.ours = m.PeerURLs, id // as they are listed, even where no joiner may have them
	r.looker = newLooker(ctx, e.client, e.config.reach(), r.urls, r.rouse)
	return r, nil
}

// lookUp finds a member by its ID, waiting for the cluster as a join would.
func (e *Engine) lookUp(ctx context.Context, id ID) (m Member, found bool, err error) {
	r := e.bareRun("member " + id.String())
	r.looker = newLooker(ctx, e.client, e.config.reach(), nil, r.rouse)
	defer r.close()
	r.decide = func(c Case) Act {
		seen, ok := c.Snapshot.ByID(id)
		if !ok && c.Snapshot.NoQuorum {
			return WaitFor(Member{}, reason(ErrNoQuorum, "the list may be stale"))
		}
		m, found = seen.Member, ok
		return Act{Do: DoDone}
	}
	r.finish, r.greeted = func(Case, Act) {}, true
	if err := r.loop(ctx); err != nil {
		return Member{}, false, r.joinError(err)
	}
	return m, found, nil
}
