package cluster

import (
	"fmt"

	"github.com/etcdjoin/etcdjoin/version"
)

// quorum is how many of n voters must agree.
func quorum(n int) int { return n/2 + 1 }

// Change is a planned change of a cluster's membership.
type Change string

const (
	ToAddLearner Change = "add a learner"
	ToAddVoter   Change = "add a voter"
	ToPromote    Change = "promote"
	ToRemove     Change = "remove"
)

// Forecast is what a change would do to the quorum, and what the server that is
// Asked would say.
type Forecast struct {
	Change      Change `json:"change"`
	Voters      int    `json:"voters"`
	VotersAfter int    `json:"votersAfter"`
	Quorum      int    `json:"quorum"`
	QuorumAfter int    `json:"quorumAfter"`
	Live        int    `json:"live"`
	LiveAfter   int    `json:"liveAfter"`             // with the new member counted as voting and failing
	Margin      int    `json:"margin"`                // how many more may fail
	MarginAfter int    `json:"marginAfter"`           // with the new member alive
	Worst       int    `json:"worst"`                 // the margin after, with the new member failing; negative: quorum lost
	Refused     string `json:"refused,omitempty"`     // why the server will refuse, empty if it will not
	RemoveFirst bool   `json:"removeFirst,omitempty"` // the server takes the change only after a dead member is removed
}

// Safe reports whether the quorum survives the change with the new member
// counted as voting and failing.
func (f Forecast) Safe() bool { return f.Worst >= 0 }

// String explains the forecast in one line.
func (f Forecast) String() string {
	text := fmt.Sprintf("to %s takes %d voters of quorum %d to %d of quorum %d; %d of them answer",
		f.Change, f.Voters, f.Quorum, f.VotersAfter, f.QuorumAfter, f.Live)
	switch {
	case f.Worst < 0 && f.Change == ToRemove:
		text += ", and the rest would have no quorum"
	case f.Worst < 0:
		text += ", and if the new one fails too, the quorum is lost"
	case f.VotersAfter > f.Voters:
		text += fmt.Sprintf(", and %d more may fail even if the new one does", f.Worst)
	default:
		text += fmt.Sprintf(", and %d more may fail", f.Worst)
	}
	if f.Refused != "" {
		text += "; etcd will refuse: " + f.Refused
	}
	return text
}

// Foresee computes what a change of one member would do. Who is alive is who
// answered the look and knows a leader; a member that only we cannot reach counts as
// failed, which errs towards refusing. For [ToRemove] and [ToPromote], m is the member concerned.
func Foresee(s Snapshot, change Change, m Member) Forecast {
	n, live := len(s.Voters()), len(s.VotersInContact())
	f := Forecast{Change: change, Voters: n, VotersAfter: n, Quorum: quorum(n), Live: live, LiveAfter: live, Margin: live - quorum(n)}
	after := live
	switch change {
	case ToAddVoter, ToPromote:
		f.VotersAfter, after = n+1, live+1
	case ToRemove:
		if !m.Learner {
			f.VotersAfter = n - 1
			if seen, ok := s.ByID(m.ID); ok && s.InContact(seen) {
				f.LiveAfter, after = live-1, live-1
			}
		}
	}
	f.QuorumAfter = quorum(f.VotersAfter)
	f.MarginAfter, f.Worst = after-f.QuorumAfter, f.LiveAfter-f.QuorumAfter
	f.Refused, f.RemoveFirst = serverRefuses(s, change, m)
	return f
}

// serverRefuses applies etcd's own rules with strict-reconfig-check on, its
// default, by the version of the server that will be asked (E§1.3, §2.2, §2.3).
// They judge by who is connected to that server; that who answers us is
// connected to it is the best guess there is.
func serverRefuses(s Snapshot, change Change, m Member) (why string, removeFirst bool) {
	n, live := len(s.Voters()), len(s.VotersInContact())
	started := len(s.where(func(v Seen) bool { return !v.Learner && v.Started() }))
	switch change {
	case ToAddVoter:
		if started < quorum(n+1) && !(n == 1 && started == 1) {
			return fmt.Sprintf("%d started voters are fewer than %d, the quorum after it", started, quorum(n+1)), false
		}
		return disconnected(s, n, live)
	case ToAddLearner:
		return disconnected(s, n, live)
	case ToPromote:
		if started+1 < quorum(n+1) {
			return fmt.Sprintf("%d started voters and the learner are fewer than %d, the quorum after it", started, quorum(n+1)), false
		}
	case ToRemove:
		return removeRefused(s, m, n, live, started), false
	}
	return "", false
}

// disconnected is the 5 s rule of an add: all voters up to 3.5.29 and 3.6.10,
// from then on as many as the quorum with one more.
func disconnected(s Snapshot, n, live int) (why string, removeFirst bool) {
	need := n
	if s.leaderVersion().Can(version.QuorumAddCheck) {
		need = min(n, quorum(n+1))
	}
	if live >= need {
		return "", false
	}
	why = fmt.Sprintf("%d of %d voters are connected, it wants %d for 5 s", live, n, need)
	if live < quorum(n) {
		return why, false // nothing can be removed either
	}
	return why + "; remove a dead one first", true
}

func removeRefused(s Snapshot, m Member, n, live, started int) string {
	seen, ok := s.ByID(m.ID)
	if !ok || seen.Learner {
		return ""
	}
	if seen.Started() {
		started--
	}
	if started < quorum(n-1) {
		return fmt.Sprintf("%d started voters would remain, fewer than %d, their quorum", started, quorum(n-1))
	}
	if s.InContact(seen) && live-1 < quorum(n-1) {
		return fmt.Sprintf("%d connected voters would remain, fewer than %d, their quorum", live-1, quorum(n-1))
	}
	return ""
}
