package decide

import (
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Unproven reports whether nothing shows that a voter of the list has a vote in raft:
// this call did not give it one, and it was not seen leading. Where a learner's URLs were
// updated by a server below 3.5.31 or 3.6.12, list and server both say voter ever after,
// also when all servers were upgraded, and raft does not count it (etcd #21694).
func Unproven(m cluster.Seen, given bool) bool { return !m.Learner && !given && !m.Led }

// applying is how long a server may take to apply its promotion after the list shows it.
const applying = time.Second

// voteless decides for a voter whose own raft has it as a learner.
func voteless(c Case, ours cluster.Seen) Act {
	why := reason.Of(reason.ErrRoleDisagrees, "%s has no vote: its own etcd_server_is_learner is 1", ours.Member)
	if c.Voteless < applying {
		return WaitFor(ours.Member, why)
	}
	return Refused(why)
}
