package member

import (
	"context"
	"slices"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/version"
)

// gaveVote reports whether this call is known to have given our entry its vote: by a
// promote that was answered with success, or by adding a voter.
func (r *run) gaveVote() bool {
	_, oldWay := r.strategy.(decide.Voting)
	return r.entry.voted || oldWay && r.entry.author == us
}

// voteless asks a voter that nothing proves to be one for its own raft's word. It
// returns for how long that has said learner, 0 if it does not. That word may be a
// moment behind the list.
func (r *run) voteless(ctx context.Context, c decide.Case, ours cluster.Seen) time.Duration {
	ends := c.Served || r.config.ReturnAt == decide.Promoted && r.entry.started
	askable := ours.Liveness == cluster.Alive || ours.Target.MetricsURL != ""
	if !ends || !askable || !decide.Unproven(ours, r.gaveVote()) {
		return 0
	}
	bounded, cancel := context.WithTimeout(ctx, r.reach.EndpointTimeout)
	defer cancel()
	m, err := r.client.Metrics(bounded, ours.Target)
	switch {
	case err != nil || m.ServerID != ours.ID || !m.Learner:
		r.entry.voteless = time.Time{}
		return 0
	case r.entry.voteless.IsZero():
		r.entry.voteless = time.Now()
	}
	return max(time.Since(r.entry.voteless), 1)
}

// tellUnproven tells of a voter that nothing proves to be one, but only where a server
// has the fault that makes voters without a vote: else every healthy voter that has not
// led yet would be warned of.
func (r *run) tellUnproven(s cluster.Snapshot, m cluster.Member) {
	hasFault := func(v version.Version) bool { return !v.Can(version.SafeMemberUpdateOfLearner) }
	if r.result.Unproven && slices.ContainsFunc(s.ServerVersions(), hasFault) {
		r.emit(Event{Kind: Warned, Member: &m, Text: "nothing proves that it has a vote in raft: where a learner's URLs were updated below 3.5.31 or 3.6.12, list and server say voter all the same (etcd #21694); it is proven once it has led"})
	}
}
