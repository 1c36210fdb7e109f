package member

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

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

// phases are in the order of getting somewhere.
var phases = []Phase{NotStarted, Unreachable, NoContact, CatchingUp, InSync, Silent}

// answers reports whether the process itself answered in this phase.
func (p Phase) answers() bool { return p != NotStarted && p != Unreachable }

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
	readable    bool
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

// evidence is all that one pass knows of the server being watched.
type evidence struct {
	now      time.Time
	patience time.Duration // how long a request may be pending
	snap     Snapshot
	member   Seen
	read     answer[ReadAnswer]
	metrics  answer[Metrics]
}

// tracker turns one evidence after another into progress, and knows what moved.
type tracker struct {
	began, moved time.Time
	last         Progress
	best         int    // the furthest phase so far: a crash loop goes nowhere
	index        uint64 // the most it has ever applied
	size         int64  // the largest its db has been
	received     uint64
	firstIndex   uint64
	answered     bool // anything has ever answered
}

func newTracker(now time.Time) *tracker { return &tracker{began: now, moved: now} }

// observe is the stall clock. Movement is: a phase never reached before, more
// applied or a larger db than ever before, for a crash loop goes the same way
// again and again; and a snapshot on its way.
func (t *tracker) observe(e evidence) Progress {
	p := t.read(e)
	rank := slices.Index(phases, p.Phase)
	if rank > t.best || p.Index > t.index || p.DBSize > t.size || p.Receiving && t.brings(e.metrics.value) {
		t.moved = e.now
	}
	t.best, t.index, t.size = max(t.best, rank), max(t.index, p.Index), max(t.size, p.DBSize)
	t.received = max(t.received, e.metrics.value.Received)
	p.Elapsed, p.Still = e.now.Sub(t.began), e.now.Sub(t.moved)
	if t.firstIndex == 0 {
		t.firstIndex = p.Index
	} else if s := p.Elapsed.Seconds(); s > 0 && p.Index > t.firstIndex {
		p.Rate = float64(p.Index-t.firstIndex) / s
	}
	t.last = p
	return p
}

// brings reports whether a snapshot on its way counts as movement. It moves
// neither index nor size until it is there (k3s #5070), so what tells is traffic,
// where that can be read. Traffic without a snapshot may be heartbeats; and one
// snapshot after another that fails, as where large packets are lost (Talos
// #13710), brings nothing.
func (t *tracker) brings(m Metrics) bool {
	return m.Failed < 3 && (m.Received > t.received || m.Received == 0)
}

func (t *tracker) read(e evidence) Progress {
	p := Progress{LeaderIndex: e.snap.Index, ReadAt: e.read.at}
	if e.read.err != nil {
		p.ReadError = e.read.err.Error()
	}
	if !e.read.asked.IsZero() {
		p.Pending = e.now.Sub(e.read.asked)
	}
	if leader, ok := e.snap.ByID(e.snap.Leader); ok {
		p.LeaderDB = leader.Status.DBSize
	}
	if e.member.Liveness == Alive {
		p.Index, p.DBSize, p.readable = e.member.Status.Applied, e.member.Status.DBSize, true
	}
	if e.metrics.live(e.patience) {
		m := e.metrics.value
		p.Index, p.Receiving, p.readable = max(p.Index, m.Applied), m.Receiving, true
		p.Received = m.Received
	}
	p.Phase = t.phase(e, p)
	return p
}

func (t *tracker) phase(e evidence, p Progress) Phase {
	var unready *Unready
	answersNow := e.member.Liveness == Alive || e.metrics.live(e.patience) || errors.As(e.read.err, &unready)
	t.answered = t.answered || answersNow || !e.read.at.IsZero() || e.member.Started() || tlsRefused(e.read.err)
	switch {
	case e.read.live(e.patience) && e.member.Voting() && e.member.Liveness != Alive:
		return Silent
	case e.read.live(e.patience):
		return InSync
	case answersNow && p.Index > t.last.Index && t.last.Index > 0, p.Receiving, p.Lag() > 0:
		return CatchingUp
	case answersNow:
		return NoContact
	case t.answered, p.Pending > time.Second:
		return Unreachable
	}
	return NotStarted
}

// stalled reports whether nothing has moved for too long. While the process
// answers and none of its numbers can be read, there is no stall, only the
// caller's deadline.
func (p Progress) stalled(timeout time.Duration) bool {
	return p.Still >= timeout && (p.readable || !p.Phase.answers())
}

func (t *tracker) memorise(m *Memory) {
	m.StartedAt, m.Moved, m.Phase = t.began, t.moved, phases[t.best]
	m.Index, m.DBSize, m.Received = t.index, t.size, t.received
}

func (t *tracker) recall(m Memory) {
	t.began, t.moved, t.received = m.StartedAt, m.Moved, m.Received
	t.index, t.size, t.last.Index, t.firstIndex = m.Index, m.DBSize, m.Index, m.Index
	for rank, p := range phases {
		if p == m.Phase {
			t.best = rank
		}
	}
	t.answered = t.best > 0
}
