// Package learner is the safe way into an etcd cluster: the member is added as a
// learner, which does not count against the quorum, is started, catches up, and
// gets its vote only when a linearizable read through the learner itself has just
// been answered.
//
// [NewJoiner] makes the joiner; [Promote] finishes somebody's join by the
// learner's ID; [FeatureGate] chooses between this way and the old one, by the
// stages of KEP-3614. The machine behind all of them is package member's.
//
// The package is small because a way in is no more than three decisions: what to
// do where there is no entry of ours, with one that this call has not started,
// and with a learner that runs.
package learner

import (
	"errors"
	"fmt"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// LearnerJoiner adds the member as a learner, has it started, watches it catch
// up, and gives it a vote only when a linearizable read through the learner
// itself has just been answered. Until then no failure of it can cost the
// cluster its quorum: a learner does not count.
type LearnerJoiner struct{ *member.Engine }

var _ member.Joiner = (*LearnerJoiner)(nil)

// NewJoiner makes a LearnerJoiner for the server that will run under this name.
// Wrong arguments are a [*member.InputError]; nothing is asked of the cluster.
func NewJoiner(client member.Client, name string, config member.Config) (*LearnerJoiner, error) {
	e, err := member.New(client, name, config, strategy{})
	if err != nil {
		return nil, err
	}
	return &LearnerJoiner{e}, nil
}

// strategy is the learner's way as a [member.Strategy].
type strategy struct{}

// Absent adds a learner, if every server that answers knows what that is. A 3.3
// server would add a voter without a word.
func (strategy) Absent(c member.Case) member.Act {
	_, err := version.Guard(c.Snapshot.Versions())
	switch {
	case errors.Is(err, version.ErrNoVersion): // never a pass, but one may answer yet
		return member.WaitFor(member.Member{}, err)
	case err != nil:
		return member.Refused(err)
	}
	return member.Act{Do: member.DoAddLearner}
}

// Found adopts a learner, started before or not. A voter that never ran is a
// leftover of the old way: it counts against the quorum for nothing. It is not
// removed where it could not be added again, or answers all the same.
func (s strategy) Found(c member.Case, ours member.Seen) member.Act {
	if ours.Learner {
		return member.StartIt(ours.Member, "it is in the list as a learner")
	}
	switch next := s.Absent(c); {
	case next.Do != member.DoAddLearner:
		return next
	case ours.Liveness == member.Alive:
		return member.Refused(fmt.Errorf("%w: %s answers, though it has published no name", member.ErrVoter, ours.Member))
	case c.Data.Kind == member.DataMember && !c.Policy.Rejoin:
		return member.Refused(fmt.Errorf("%w: it would be once %s, a voter that never ran, is removed to be added as a learner", member.ErrRemoved, ours.Member))
	}
	return member.RemoveIt(c, ours.Member, "it is a voter that never ran, to be added as a learner")
}

// Learner promotes it if the gate is open, and waits else.
func (strategy) Learner(c member.Case, ours member.Seen) member.Act {
	if c.Proof == nil {
		return member.WaitFor(ours.Member, &member.StallError{Progress: c.Progress})
	}
	err := member.Gate(c, ours)
	switch {
	case err == nil:
		return member.Act{Do: member.DoPromote, Member: ours.Member}
	case errors.Is(err, member.ErrCorrupt), errors.Is(err, member.ErrWrongCluster):
		return member.Refused(err)
	}
	return member.WaitFor(ours.Member, err)
}
