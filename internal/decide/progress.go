package decide

import (
	"errors"
	"slices"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/probe"
)

// phases are in the order of getting somewhere.
var phases = []cluster.Phase{cluster.NotStarted, cluster.Unreachable, cluster.NoContact, cluster.CatchingUp, cluster.InSync, cluster.Silent}

// Evidence is all that one pass knows of the server being watched.
type Evidence struct {
	Now      time.Time
	Patience time.Duration // how long a request may be pending
	Snapshot cluster.Snapshot
	Member   cluster.Seen
	Read     probe.Answer[cluster.ReadAnswer]
	Metrics  probe.Answer[cluster.Metrics]
}

// Tracker turns one evidence after another into progress, and knows what moved.
type Tracker struct {
	began, moved time.Time
	last         cluster.Progress
	best         int    // the furthest phase so far: a crash loop goes nowhere
	index        uint64 // the most it has ever applied
	size         int64  // the largest its db has been
	received     uint64
	firstIndex   uint64
	answered     bool // anything has ever answered
}

func NewTracker(now time.Time) *Tracker { return &Tracker{began: now, moved: now} }

// Observe is the stall clock. Movement is: a phase never reached before, more
// applied or a larger db than ever before, for a crash loop goes the same way
// again and again; and a snapshot on its way.
func (t *Tracker) Observe(e Evidence) cluster.Progress {
	p := t.read(e)
	rank := slices.Index(phases, p.Phase)
	if rank > t.best || p.Index > t.index || p.DBSize > t.size || p.Receiving && t.brings(e.Metrics.Value) {
		t.moved = e.Now
	}
	t.best, t.index, t.size = max(t.best, rank), max(t.index, p.Index), max(t.size, p.DBSize)
	t.received = max(t.received, e.Metrics.Value.Received)
	p.Elapsed, p.Still = e.Now.Sub(t.began), e.Now.Sub(t.moved)
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
func (t *Tracker) brings(m cluster.Metrics) bool {
	return m.Failed < 3 && (m.Received > t.received || m.Received == 0)
}

func (t *Tracker) read(e Evidence) cluster.Progress {
	p := cluster.Progress{LeaderIndex: e.Snapshot.Index, ReadAt: e.Read.At}
	if e.Read.Err != nil {
		p.ReadError = e.Read.Err.Error()
	}
	if !e.Read.Asked.IsZero() {
		p.Pending = e.Now.Sub(e.Read.Asked)
	}
	if leader, ok := e.Snapshot.ByID(e.Snapshot.Leader); ok {
		p.LeaderDB = leader.Status.DBSize
	}
	if e.Member.Liveness == cluster.Alive {
		p.Index, p.DBSize, p.Readable = e.Member.Status.Applied, e.Member.Status.DBSize, true
	}
	if e.Metrics.Live(e.Patience) {
		m := e.Metrics.Value
		p.Index, p.Receiving, p.Readable = max(p.Index, m.Applied), m.Receiving, true
		p.Received = m.Received
	}
	p.Phase = t.phase(e, p)
	return p
}

func (t *Tracker) phase(e Evidence, p cluster.Progress) cluster.Phase {
	var unready *cluster.Unready
	answersNow := e.Member.Liveness == cluster.Alive || e.Metrics.Live(e.Patience) || errors.As(e.Read.Err, &unready)
	t.answered = t.answered || answersNow || !e.Read.At.IsZero() || e.Member.Started() || classify.TLSRefused(e.Read.Err)
	switch {
	case e.Read.Live(e.Patience) && e.Member.Voting() && e.Member.Liveness != cluster.Alive:
		return cluster.Silent
	case e.Read.Live(e.Patience):
		return cluster.InSync
	case answersNow && p.Index > t.last.Index && t.last.Index > 0, p.Receiving, p.Lag() > 0:
		return cluster.CatchingUp
	case answersNow:
		return cluster.NoContact
	case t.answered, p.Pending > time.Second:
		return cluster.Unreachable
	}
	return cluster.NotStarted
}

func (t *Tracker) Memorise(m *Memory) {
	m.StartedAt, m.Moved, m.Phase = t.began, t.moved, phases[t.best]
	m.Index, m.DBSize, m.Received = t.index, t.size, t.received
}

func (t *Tracker) Recall(m Memory) {
	t.began, t.moved, t.received = m.StartedAt, m.Moved, m.Received
	t.index, t.size, t.last.Index, t.firstIndex = m.Index, m.DBSize, m.Index, m.Index
	for rank, p := range phases {
		if p == m.Phase {
			t.best = rank
		}
	}
	t.answered = t.best > 0
}
