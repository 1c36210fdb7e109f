package decide

import (
	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Removal decides how a member goes.
func Removal(c Case, id cluster.ID) Act {
	if act, open := vanished(c); open {
		return act
	}
	m, found := c.Snapshot.ByID(id)
	switch {
	case c.Snapshot.NoQuorum:
		return WaitFor(m.Member, reason.Of(reason.ErrNoQuorum, "nothing can be removed"))
	case !found:
		return Known(c, id)
	case m.Learner:
		return Act{Do: DoRemove, Member: m.Member, Text: "asked to"}
	case len(c.Snapshot.Voters()) == 1:
		return Refused(reason.Advise(reason.Of(reason.ErrQuorumAtRisk, "%s is the only voter", m.Member),
			"the last voter is the cluster: join another one first, or stop its server to end it"))
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

// successor is the voter in contact with the leader that has applied most: one that is
// cut off would lead nobody.
func successor(s cluster.Snapshot) (best cluster.Seen, found bool) {
	for _, m := range s.VotersInContact() {
		if m.ID != s.Leader && (!found || m.Status.Applied > best.Status.Applied) {
			best, found = m, true
		}
	}
	return best, found
}
