package cluster

import (
	"fmt"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// StallError says what a server that showed no movement was doing last.
type StallError struct{ Progress Progress }

func (e *StallError) Error() string { return e.Progress.String() }

// Is finds ErrStalled, and ErrNotLive where the process did not answer.
func (e *StallError) Is(target error) bool {
	return target == reason.ErrStalled || target == reason.ErrNotLive && !e.Progress.Phase.Answers()
}

// Phase is what a started server was seen doing.
type Phase string

const (
	NotStarted  Phase = "not started"                // nothing has ever answered on its peer port
	Unreachable Phase = "not reachable"              // it has run before, or something accepts and stays silent
	NoContact   Phase = "no contact with the leader" // it answers, but can read nothing
	CatchingUp  Phase = "catching up"                // it applies
	InSync      Phase = "in sync"                    // it answered a linearizable read
	Silent      Phase = "votes, its client port is silent"
)

// Answers reports whether the process itself answered in this phase.
func (p Phase) Answers() bool { return p != NotStarted && p != Unreachable }

// Progress is how far a started server has come.
type Progress struct {
	Phase       Phase         `json:"phase"`
	Index       uint64        `json:"index,omitempty"` // it has applied; 0: cannot be read
	LeaderIndex uint64        `json:"leaderIndex"`     // committed
	DBSize      int64         `json:"dbSize,omitempty"`
	LeaderDB    int64         `json:"leaderDBSize,omitempty"` // bytes
	Receiving   bool          `json:"receiving,omitempty"`    // a snapshot is on its way
	Received    uint64        `json:"received,omitempty"`     // bytes from its peers, heartbeats too
	Rate        float64       `json:"rate,omitempty"`         // entries per second, over the wait so far
	Elapsed     time.Duration `json:"elapsed"`                // since its start
	Still       time.Duration `json:"still"`                  // since anything moved
	ReadError   string        `json:"readError,omitempty"`    // why the newest linearizable read through it failed
	ReadAt      time.Time     `json:"readAt,omitzero"`        // when one last succeeded; zero: never
	Pending     time.Duration `json:"pending,omitempty"`      // for how long one has been waiting for its answer
	Readable    bool          `json:"-"`                      // any of its numbers could be read
}

// Lag is how many entries it is behind, 0 where it cannot be read.
func (p Progress) Lag() uint64 {
	if p.Index == 0 {
		return 0
	}
	return p.LeaderIndex - min(p.LeaderIndex, p.Index)
}

// Estimate is how long it will take to catch up at this rate; 0: unknown.
func (p Progress) Estimate() time.Duration {
	if p.Rate <= 0 || p.Index == 0 {
		return 0
	}
	return time.Duration(float64(p.Lag()) / p.Rate * float64(time.Second))
}

// String is the phase with its numbers and the last evidence with its age.
func (p Progress) String() string {
	text := fmt.Sprintf("%s for %s", p.Phase, p.Still.Round(time.Millisecond))
	if p.Index > 0 {
		text += fmt.Sprintf(", applied %d of %d", p.Index, p.LeaderIndex)
	}
	if p.DBSize > 0 {
		text += fmt.Sprintf(", %d of %d bytes", p.DBSize, p.LeaderDB)
	}
	if p.Receiving {
		text += ", a snapshot is on its way"
	}
	if p.Receiving && p.Received > 0 {
		text += fmt.Sprintf(" (%d bytes received, the leader's database has %d)", p.Received, p.LeaderDB)
	}
	if !p.ReadAt.IsZero() {
		text += fmt.Sprintf(", last read through it answered %s ago", time.Since(p.ReadAt).Round(time.Millisecond))
	}
	if p.Pending > time.Second {
		text += fmt.Sprintf(", a read through it has been pending for %s", p.Pending.Round(time.Millisecond))
	}
	if p.ReadError != "" {
		text += ", the newest read failed: " + p.ReadError
	}
	return text
}

// Stalls reports whether to stand still would be a stall. While the process
// answers and none of its numbers can be read, there is none, only the caller's
// deadline.
func (p Progress) Stalls() bool { return p.Readable || !p.Phase.Answers() }
