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
	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/member"
)

// LearnerJoiner adds the member as a learner, has it started, watches it catch
// up, and gives it a vote only when a linearizable read through the learner
// itself has just been answered. Until then no failure of it can cost the
// cluster its quorum: a learner does not count.
type LearnerJoiner struct{ *member.Engine }

var _ member.Joiner = (*LearnerJoiner)(nil)

// NewJoiner makes a LearnerJoiner for the server that will run under this name.
// Wrong arguments are a [*member.InputError]; nothing is asked of the cluster.
func NewJoiner(client cluster.Client, name string, config member.Config) (*LearnerJoiner, error) {
	e, err := member.New(client, name, config, decide.Learning{})
	if err != nil {
		return nil, err
	}
	return &LearnerJoiner{e}, nil
}
