package clustertest

import (
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/version"
)

// The checks that the receiving server makes before it proposes anything (E§2).

// readyPercent is the part of the leader's log that a learner must have received.
const readyPercent = 0.9

// votersIn are the voters of a list.
func votersIn(list []cluster.Member) []cluster.Member {
	var vs []cluster.Member
	for _, m := range list {
		if !m.Learner {
			vs = append(vs, m)
		}
	}
	return vs
}

func started(list []cluster.Member) int {
	n := 0
	for _, m := range list {
		if m.Started() {
			n++
		}
	}
	return n
}

// mayAdd is the server's check of an add; of URLs that it cannot read there are
// none left.
func (c *Cluster) mayAdd(r *process, urls []string, learner bool) error {
	voters := votersIn(c.viewOf(r))
	switch {
	case len(urls) == 0:
		return rpctypes.ErrMemberBadURLs
	case c.lenient:
		return nil
	case !learner && !enoughForAdd(voters):
		return rpctypes.ErrMemberNotEnoughStarted
	case !c.healthyForAdd(r, voters):
		return rpctypes.ErrUnhealthy
	}
	return nil
}

// enoughForAdd asks for a started quorum of the cluster to be. One started voter
// may always have a second.
func enoughForAdd(voters []cluster.Member) bool {
	n := started(voters)
	return n >= quorumOf(len(voters)+1) || len(voters) == 1 && n == 1
}

// healthyForAdd is the rule of the five seconds: which voters the receiving
// server must have been connected to.
func (c *Cluster) healthyForAdd(r *process, voters []cluster.Member) bool {
	if c.can(r, version.QuorumAddCheck) {
		return len(voters) == 1 || c.connectedVoters(r, voters) >= quorumOf(len(voters)+1)
	}
	return c.connectedVoters(r, voters) == len(voters)
}

// connectedVoters counts the voters that r has been connected to for five
// seconds, itself included.
func (c *Cluster) connectedVoters(r *process, voters []cluster.Member) int {
	n := 0
	for _, m := range voters {
		if m.ID == r.id || c.connected(r, m.ID, c.now.Add(-healthInterval)) {
			n++
		}
	}
	return n
}

// mayRemove is the server's check of a remove. Learners are exempt, and a member
// that is down skips the connectivity.
func (c *Cluster) mayRemove(r *process, id cluster.ID) error {
	list := c.viewOf(r)
	if c.lenient || isLearnerIn(list, id) {
		return nil
	}
	voters := votersIn(list)
	var rest []cluster.Member
	for _, m := range voters {
		if m.ID != id {
			rest = append(rest, m)
		}
	}
	if started(rest) < quorumOf(len(rest)) {
		return rpctypes.ErrMemberNotEnoughStarted
	}
	if id != r.id && c.activeSince(r, id).IsZero() {
		return nil
	}
	if c.connectedVoters(r, voters)-1 < 1+(len(voters)-1)/2 {
		return rpctypes.ErrUnhealthy
	}
	return nil
}

// mayPromote is the leader's check of a promote: how much the learner has
// received, whether it still runs or not, and the started members.
func (c *Cluster) mayPromote(leader *process, id cluster.ID) error {
	n := c.node(id)
	switch {
	case n == nil && c.can(leader, version.PromoteChecksStarted):
		return rpctypes.ErrMemberNotFound
	case n == nil:
		// It counts as ready, is proposed, and refused when that is applied.
	case id != leader.id && n.match/c.last < readyPercent:
		return rpctypes.ErrMemberLearnerNotReady
	case c.lenient:
		return nil
	}
	voters := votersIn(c.viewOf(leader))
	count := started(voters)
	if c.can(leader, version.PromotesLoneVoter) {
		count++ // the learner itself
	}
	if count < quorumOf(len(voters)+1) {
		return rpctypes.ErrMemberNotEnoughStarted
	}
	return nil
}
