package decide

import (
	"strconv"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Moving decides how leadership goes to one voter, or, where that is 0, from the one
// that led first to the best of the others.
func Moving(c Case, to, from cluster.ID) Act {
	s := c.Snapshot
	target, found := s.ByID(to)
	switch {
	case s.NoQuorum, s.Leader == 0:
		return WaitFor(cluster.Member{}, reason.Of(reason.ErrNoQuorum, "nobody leads"))
	case to == 0 && s.Leader != from:
		led, _ := s.ByID(s.Leader)
		return Act{Do: DoDone, Member: led.Member}
	case to == 0:
		best, ok := successor(s)
		if !ok {
			return WaitFor(cluster.Member{}, reason.Of(reason.ErrNotLive, "no other voter is in contact with the leader"))
		}
		return Act{Do: DoMoveLeader, Member: best.Member, Text: "it has applied most"}
	case !found:
		return Refused(reason.Of(reason.ErrGone, "no member has the ID %s", to))
	case target.Learner:
		return Refused(reason.Input("to", strconv.FormatUint(uint64(to), 16), "is a learner: it cannot lead"))
	case s.Leader == to:
		return Act{Do: DoDone, Member: target.Member}
	case !s.InContact(target):
		return WaitFor(target.Member, reason.Of(reason.ErrNotLive, "%s is not in contact with the leader: it would lead nobody", target.Member))
	}
	return Act{Do: DoMoveLeader, Member: target.Member, Text: "asked to"}
}
