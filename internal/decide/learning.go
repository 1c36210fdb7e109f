package decide

import (
	"errors"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// Learning is the safe way as a [Strategy]: the member is added without a vote,
// and gets it through the gate.
type Learning struct{}

// Absent adds a learner, if every server that answers knows what that is. A 3.3
// server would add a voter without a word.
func (Learning) Absent(c Case) Act {
	_, err := version.Guard(c.Snapshot.Versions())
	switch {
	case errors.Is(err, version.ErrNoVersion): // never a pass, but one may answer yet
		return WaitFor(cluster.Member{}, err)
	case err != nil:
		return Refused(err)
	case shut(c) != nil:
		return Refused(shut(c))
	}
	return Act{Do: DoAddLearner}
}

// shut is the refusal where no voter's peer port takes our TLS: no read through our
// learner could ever be answered, so it would never get its vote.
func shut(c Case) error {
	if c.Survey == nil || c.Survey.Shut == nil {
		return nil
	}
	return reason.Advise(reason.Because(reason.ErrTLS, c.Survey.Shut), "check ClientConfig.PeerTLS: the voters' peer ports refuse it")
}

// Found adopts a learner, started before or not. A voter that never ran is a
// leftover of the old way: it counts against the quorum for nothing. It is not
// removed where it could not be added again, or answers all the same.
func (s Learning) Found(c Case, ours cluster.Seen) Act {
	switch {
	case ours.Learner && shut(c) != nil:
		return Refused(shut(c))
	case ours.Learner:
		return StartIt(ours.Member, "it is in the list as a learner")
	}
	switch next := s.Absent(c); {
	case next.Do != DoAddLearner:
		return next
	case ours.Liveness == cluster.Alive:
		return Refused(reason.Advise(reason.Of(reason.ErrVoter, "%s answers, though it has published no name", ours.Member),
			"it is starting: wait until it has published its name, and Join again"))
	case c.Data.Kind == cluster.DataMember && !c.Policy.Rejoin:
		return Refused(reason.Of(reason.ErrRemoved, "it would be once %s, a voter that never ran, is removed to be added as a learner", ours.Member))
	}
	return mayRemove(c, ours, reason.Of(reason.ErrVoter, "%s never ran, and is to be added as a learner", ours.Member))
}

// Learner promotes it if the gate is open, and waits else.
func (Learning) Learner(c Case, ours cluster.Seen) Act {
	switch {
	case c.Way == cluster.WayBroken && c.Stranger == nil:
		return WaitFor(ours.Member, oneWay(ours))
	case c.Stranger != nil, c.Proof == nil:
		return silent(c, ours)
	}
	if err := Gate(c, ours); err != nil {
		return Closed(ours.Member, err)
	}
	return Act{Do: DoPromote, Member: ours.Member}
}
