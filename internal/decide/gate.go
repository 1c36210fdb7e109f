package decide

import (
	"errors"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Proof is one linearizable read that our member has answered, quickly, in the
// pass that decides, between two answers of who it is.
type Proof struct {
	cluster.ReadAnswer
	Before, After cluster.Answer
	Asked         time.Time     // when the read was sent: its age counts from there
	Took          time.Duration // until its answer
}

// Good reports whether a vote that is sent now still rests on the proof. What the
// learner had applied when it was asked grows old like any other answer.
func (p *Proof) Good(now time.Time, within time.Duration) bool {
	return p != nil && now.Sub(p.Asked) <= within
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
// A URL that leads to another member, or to a web server, could answer in its place:
// such a learner gets its data all the same, by its own dials, and dies unseen. So the
// server that reads is asked who it is, on the same connection, before and after.
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
	case gone(m):
		return reason.Of(reason.ErrNotLive, "its client port has answered before: %v", m.Err)
	}
	if err := proven(c, m); err != nil {
		return err
	}
	if c.Unreached { // and it has just answered
		return oneWay(m)
	}
	return allowed(c, cluster.Foresee(c.Snapshot, cluster.ToPromote, m.Member))
}

// oneWay says whom the others cannot reach.
func oneWay(m cluster.Seen) error {
	return reason.Of(reason.ErrOneWay, "the leader cannot dial the peer port of %s, which speaks to it", m.Member)
}

// gone reports whether a client port that has answered under its own ID refuses now,
// or answers as another: then the process that answered is not there. Silence is no
// evidence.
func gone(m cluster.Seen) bool {
	var wrong *cluster.WrongServerError
	return m.Answered() && (classify.Refused(m.Err) || errors.As(m.Err, &wrong))
}

// proven holds the read to its terms.
func proven(c Case, m cluster.Seen) error {
	p, within := c.Proof, c.Policy.ReadWithin
	switch {
	case p == nil:
		return reason.Of(reason.ErrNotLive, "no linearizable read through it was answered within %s in this pass", within)
	case p.ClusterID != 0 && p.ClusterID != c.Snapshot.ClusterID:
		return reason.Of(reason.ErrWrongCluster, "a server of cluster %s answered for it", p.ClusterID)
	case p.Took > within:
		return reason.Of(reason.ErrNotLive, "a linearizable read through it took %s, more than %s", p.Took, within)
	case p.Way == "hook":
		return nil // the host's own word on that very member
	}
	return bound(p, c.Snapshot.ClusterID, m.ID)
}

// bound holds a proof to the member: on the one connection that the read was answered
// on, the member was there before and is there after it.
func bound(p *Proof, clusterID, m cluster.ID) error {
	for _, who := range []cluster.Answer{p.Before, p.After} {
		switch err := who.Err(clusterID, m); {
		case err != nil:
			return err
		case who.URL != p.URL || who.Conn != p.Conn:
			return reason.Of(reason.ErrNotLive, "who it is was told on another connection than the read was answered on")
		case (who.Way == "peer") != (p.Way == "peer"):
			return reason.Of(reason.ErrNotLive, "the read was answered by another port than was asked who it is")
		}
	}
	return nil
}

// Closed is what to do while the gate is closed.
func Closed(m cluster.Member, why error) Act {
	switch {
	case errors.Is(why, reason.ErrQuorumAtRisk): // whoever else answers for a voter
		return WaitFor(m, why)
	case errors.Is(why, reason.ErrWrongCluster): // the endpoints are right, what stands at our URLs is not
		return Refused(reason.Advise(why, "stop the server of the other cluster that answers at the member's URLs, or let them lead to its own"))
	case errors.Is(why, reason.ErrCorrupt):
		return Refused(why)
	}
	return WaitFor(m, why)
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
