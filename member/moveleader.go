package member

import (
	"context"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
)

// MoveLeader hands leadership to the voter with this ID, or, where to is 0, from
// whoever leads to the best of the others: in contact with the leader, and with the
// most applied. It returns who leads. A member that leads already is a success, and one
// that is cut off from its peers is waited for, as it would lead nobody.
//
// After an error leadership may have moved: an answer can be lost. Writes of clients
// fail for a moment where they meet the change, and none that was acknowledged is lost.
func MoveLeader(ctx context.Context, client cluster.Client, to cluster.ID, config Config) (cluster.Member, error) {
	config.Start, config.Stop, config.DataDir, config.OnFailure = nil, nil, nil, decide.Keep
	e, err := New(client, "unknown", config, decide.Voting{})
	if err != nil {
		return cluster.Member{}, err
	}
	r := e.bareRun(VerbMoveLeader, "")
	r.name, r.entry.id, r.greeted = "", to, true
	r.looker = cluster.NewLooker(ctx, e.client, nil, "", r.rouse)
	defer r.close()
	var from cluster.ID
	r.decide = func(c decide.Case) decide.Act {
		if from == 0 {
			from = c.Snapshot.Leader
		}
		return decide.Moving(c, to, from)
	}
	var leader cluster.Member
	r.finish = func(_ decide.Case, act decide.Act) { leader = act.Member }
	if err := r.loop(ctx); err != nil {
		return cluster.Member{}, r.failed(r.joinError(err))
	}
	return leader, nil
}
