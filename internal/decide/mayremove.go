package decide

import (
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// mayRemove decides whether a member goes that nobody has asked us to remove: another
// one of our name, a holder of the slot, our own entry whose data is lost or that is a
// leftover. It is the only place that does, and why is what wants it gone.
//
// It goes only if the forecast agrees and it is dead, or never ran, by a proof of
// package cluster's. A learner that answers, a voter that is only silent, an entry whose
// data is ours: they stay. Where the proof takes time, that is waited for; where
// anything speaks for the member, or nothing can be learned, it is refused.
//
// One thing needs no proof: our own learner whose server panics on "tocommit". It has
// lost the log that the others remember, and can only panic again.
func mayRemove(c Case, m cluster.Seen, why error) Act {
	proven, needs := proof(c, m)
	act := RemoveIt(c, m.Member, why.Error())
	switch q := m.Silence; {
	case act.Do == DoRefuse, crashes(c, m):
		return act
	case holds(c, m.ID):
		return Refused(reason.Of(why, "our own data directory is its"))
	case m.Liveness == cluster.Alive:
		return Refused(reason.Of(why, "it answers"))
	case proven && m.Started():
		act.Text += ": it is dead"
		return act
	case proven:
		act.Text += ": it does not run"
		return act
	case q.Sign != "":
		return Refused(reason.Of(why, "it is not dead: %s", q.Sign))
	case q.Unheard(c.Snapshot.At):
		return Refused(reason.Of(why, "it is not known to be dead: %s", q.Deaf))
	}
	return untilProven(c, m, why, needs)
}

// proof is whether m is dead or never ran, and how long a silence that takes.
func proof(c Case, m cluster.Seen) (proven bool, needs time.Duration) {
	if m.Started() {
		return c.Snapshot.Dead(m), cluster.DeadAfter
	}
	hostSeen := peerurl.SameSet(m.PeerURLs, c.PeerURLs) &&
		(c.Data.Kind == cluster.DataEmpty || c.Data.Kind == cluster.DataMember && c.Data.MemberID != m.ID)
	if hostSeen {
		return c.Snapshot.NotRunning(m, true), cluster.DeadAfter
	}
	return c.Snapshot.NotRunning(m, false), cluster.UnseenAfter
}

// untilProven waits for a silence to last.
func untilProven(c Case, m cluster.Seen, why error, needs time.Duration) Act {
	silent := m.Silence.Unbroken(c.Snapshot.At)
	if needs == cluster.UnseenAfter {
		silent = c.Snapshot.At.Sub(m.Since)
	}
	act := WaitFor(m.Member, &cluster.SilenceError{Why: why, Member: m.Member, For: silent, Needs: needs})
	act.Suspect = m.ID
	return act
}

// crashes reports whether m is our own learner whose server, started by this call, has
// ended because its log is gone.
func crashes(c Case, m cluster.Seen) bool {
	return m.Learner && c.Exit != nil && c.Started == m.ID && strings.Contains(c.Exit.Output, "tocommit(")
}

// holds reports whether our data directory is that of this member.
func holds(c Case, id cluster.ID) bool {
	return c.Data.Kind == cluster.DataMember && c.Data.MemberID == id
}
