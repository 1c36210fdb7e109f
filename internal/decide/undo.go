package decide

import (
	"fmt"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Undoing decides what becomes of our entry. The role is the live list's, never
// a remembered one. A voter stays: to take its vote away is a decision of its own.
func Undoing(c Case, added cluster.ID, policy OnFailure) Act {
	ours, found := c.Snapshot.ByURLs(c.PeerURLs)
	stays := func(why string) Act {
		return Act{Do: DoDone, Member: ours.Member, Text: fmt.Sprintf("%s %s", ours.Member, why)}
	}
	switch {
	case !found && !c.Snapshot.NoQuorum:
		return Act{Do: DoDone}
	case found && !ours.Learner:
		return stays("keeps its vote; Join again, or remove it")
	case found && added != 0 && ours.ID != added:
		return stays("was not added by this call and stays")
	case found && ours.Started() && policy != Undo:
		return stays("has run and stays; Join again, or remove it")
	case c.Snapshot.NoQuorum:
		return WaitFor(ours.Member, reason.Of(reason.ErrNoQuorum, "nothing can be removed"))
	}
	return Act{Do: DoRemove, Member: ours.Member, Text: "the join failed"}
}
