package decide

import (
	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Voting is the old way as a [Strategy].
type Voting struct{}

func (Voting) Absent(c Case) Act {
	if err := allowed(c, cluster.Foresee(c.Snapshot, cluster.ToAddVoter, cluster.Member{})); err != nil {
		return Refused(err)
	}
	return Act{Do: DoAddVoter}
}

func (Voting) Found(c Case, ours cluster.Seen) Act {
	if ours.Learner {
		return learnerOfOthers(ours)
	}
	return StartIt(ours.Member, "it is in the list and never ran")
}

func (Voting) Learner(_ Case, ours cluster.Seen) Act { return learnerOfOthers(ours) }

func learnerOfOthers(ours cluster.Seen) Act {
	return Refused(reason.Of(reason.ErrOtherWay, "%s is a learner: join with LearnerJoiner", ours.Member))
}
