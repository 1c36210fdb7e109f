package decide

import (
	"fmt"
	"strings"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Own is what a call knows of the entry that it is to undo. It is its own by its ID;
// whatever has its URLs is, only where its add was not answered, or a person asks.
type Own struct {
	ID     cluster.ID      // 0: whatever learner has our URLs
	Doubt  bool            // an add was sent that nobody has answered
	On     cluster.Carrier // the connection that carried it
	Voting bool            // that was the add of a voter
	Asked  bool            // it was asked to vote, and no answer tells what came of that
}

// Undoing decides what becomes of our entry. The role is the live list's, never
// a remembered one. A voter stays: to take its vote away is a decision of its own.
func Undoing(c Case, own Own, policy OnFailure) Act {
	if act, open := vanished(c); open {
		return act
	}
	ours, found := own.entry(c)
	stays := func(why string) Act {
		return Act{Do: DoDone, Member: ours.Member, Text: fmt.Sprintf("%s %s", ours.Member, why)}
	}
	switch {
	case !found:
		return unseen(c, own)
	case own.ID != 0 && ours.ID != own.ID:
		return stays("was not added by this call and stays")
	case !ours.Learner && c.Snapshot.NoQuorum:
		return stays("keeps its vote, and the cluster has no quorum: start its server again; Remove cannot work before there is one")
	case !ours.Learner:
		return stays("keeps its vote; Join again, or remove it")
	case own.Asked:
		return stays("was asked to vote, which is undecided, and stays; Join again, or remove it")
	case ours.Started() && policy != Undo:
		return stays("has run and stays; Join again, or remove it")
	case c.Snapshot.NoQuorum:
		return WaitFor(ours.Member, reason.Of(reason.ErrNoQuorum, "nothing can be removed"))
	}
	return Act{Do: DoRemove, Member: ours.Member, Text: "the join failed"}
}

// entry is what is undone; where that is gone, who has its place.
func (o Own) entry(c Case) (cluster.Seen, bool) {
	if m, found := c.Snapshot.ByID(o.ID); found && o.ID != 0 {
		return m, true
	}
	return c.Snapshot.ByURLs(c.PeerURLs)
}

// unseen decides where the list has no such entry. That it is not there is one thing;
// that an add which was given up will not come to be is shown on its own connection
// alone.
func unseen(c Case, own Own) Act {
	shown := c.Absent[own.ID]
	switch {
	case c.Snapshot.NoQuorum:
		return WaitFor(cluster.Member{}, reason.Of(reason.ErrNoQuorum, "nothing can be removed"))
	case !own.Doubt && shown.Proven():
		return Act{Do: DoDone}
	case own.Doubt && shown.ProvenOn(own.On):
		return Act{Do: DoDone, Text: "the add was not done, and will not be: two barriers behind it show that"}
	case own.Doubt && shown.Proven() && (own.On == "" || shown.On != own.On):
		return Act{Do: DoDone, Why: Undecided(own, c.PeerURLs)}
	}
	return prove(c, own.ID)
}

// Undecided is what is told of an add that was given up and may still come to be.
func Undecided(own Own, urls []string) error {
	text := fmt.Sprintf("the add of %s was given up and may still be done", reason.Shown(strings.Join(urls, ",")))
	if own.Voting {
		text += "; a voter that comes to be and never starts may stop the cluster"
	}
	return reason.Of(reason.ErrUndecided, "%s", text)
}
