package decide

import (
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Proof is one linearizable read that our member has answered, quickly, in the
// pass that decides.
type Proof struct {
	cluster.ReadAnswer
	At    time.Time     // when the answer came
	Took  time.Duration // from asking to the answer
	Since time.Time     // since when every such read was quick enough
}

// Gate decides whether a learner may get a vote now; nil means it may.
//
// A vote is the point of no return: from then on the member counts against the
// quorum, and in a cluster of two its silence stops all writes. Etcd's own test
// asks how much of the log the learner has received, and says yes to one that
// was killed a second ago, or that has applied nothing yet. So the vote hangs on
// one linearizable read through the learner itself, answered in this pass: its
// process runs, it is in contact with the leader now (the read index comes from
// there), and it has applied all that was committed when it was asked, so that
// waiting for it costs the cluster no more than ReadWithin.
//
// A peer URL that leads to another member could answer in its place. Such a
// learner gets no data, and etcd's own test refuses it: both tests are needed.
func Gate(c Case, m cluster.Seen) error {
	switch {
	case c.Snapshot.NoQuorum || !c.Snapshot.Fresh:
		return reason.Of(reason.ErrNoQuorum, "the voters were not all asked in this pass")
	case !m.Learner || !peerurl.SameSet(m.PeerURLs, c.PeerURLs):
		return reason.Of(reason.ErrGone, "%s is not the learner that was added", m.Member)
	case c.Snapshot.Corrupt() != "":
		return reason.Of(reason.ErrCorrupt, "%s", c.Snapshot.Corrupt())
	case c.Way == cluster.WayBroken:
		return oneWay(m)
	}
	if err := proven(c); err != nil {
		return err
	}
	return allowed(c, cluster.Foresee(c.Snapshot, cluster.ToPromote, m.Member))
}

// oneWay says whom the others cannot reach.
func oneWay(m cluster.Seen) error {
	return reason.Of(reason.ErrOneWay, "the leader cannot dial the peer port of %s, which speaks to it", m.Member)
}

// proven holds the read to its terms.
func proven(c Case) error {
	p, within := c.Proof, c.Policy.ReadWithin
	switch {
	case p == nil:
		return reason.Of(reason.ErrNotLive, "no linearizable read through it was answered within %s in this pass", within)
	case p.ClusterID != 0 && p.ClusterID != c.Snapshot.ClusterID:
		return reason.Of(reason.ErrWrongCluster, "a server of cluster %s answered for it", p.ClusterID)
	case p.Took > within:
		return reason.Of(reason.ErrNotLive, "a linearizable read through it took %s, more than %s", p.Took, within)
	case p.At.Sub(p.Since) < c.Policy.Settle:
		return reason.Of(reason.ErrNotLive, "it has answered that quickly for %s of %s only", p.At.Sub(p.Since), c.Policy.Settle)
	}
	return nil
}

// allowed lets a new vote pass if the quorum survives its failing at once. From
// one live voter to two there is no margin in either case, and no other way to
// three; the read was just proven, so that step is exempt for a learner.
func allowed(c Case, f cluster.Forecast) error {
	exempt := f.Change == cluster.ToPromote && f.Voters == 1 && f.Live == 1
	if f.Safe() || exempt || c.Policy.AcceptNoMargin {
		return nil
	}
	return beside(c, reason.Of(reason.ErrQuorumAtRisk, "%s%s", f, Silent(c)))
}
