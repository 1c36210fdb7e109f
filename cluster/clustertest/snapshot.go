package clustertest

import (
	"math"
	"time"
)

// snapshot is one that a joiner receives in place of the log.
type snapshot struct {
	index float64 // its last entry; 0 until it is cut
	bytes float64
	got   float64
	until time.Time // when it is restored; zero while it arrives
	after time.Time // not cut before: the one before it broke off
	mute  time.Time // since when nothing arrives; zero: it does
}

const (
	entryBytes    = 100
	snapshotPause = 100 * time.Millisecond // until another is sent
)

func (p *process) snapState() snapshot {
	if p.snap == nil {
		return snapshot{}
	}
	return *p.snap
}

// arriving reports whether some of the snapshot is there, and not all.
func (s *snapshot) arriving() bool { return s != nil && s.index > 0 && s.until.IsZero() }

// cutAfter is when a joiner's snapshot is cut, at the latest: by then its publish
// is committed, if it can be, and is contained (E§2.5).
func (c *Cluster) cutAfter() time.Duration { return c.Timing.Publish + 2*c.Timing.Commit }

// receiveSnapshot lets a snapshot arrive.
func (c *Cluster) receiveSnapshot(p *process, seconds float64) {
	s, d := p.snap, p.host.data
	switch {
	case c.unreached(p.id): // its sender dials
	case s.index == 0 && c.mayCut(p):
		s.index, s.bytes = c.commit, entryBytes*c.commit
	case s.arriving():
		was := s.got
		s.got = toward(s.got, s.bytes, entryBytes*c.snapshotRate(p), seconds)
		d.bytes += s.got - was
		if s.got >= s.bytes {
			c.arrived(p)
		}
	}
}

func (c *Cluster) mayCut(p *process) bool {
	return (p.published || !c.now.Before(p.started.Add(c.cutAfter()))) && !c.now.Before(p.snap.after)
}

// arrived begins the restoring, unless the test lets the snapshot break off.
func (c *Cluster) arrived(p *process) {
	if k := c.knob(p.id); k.breaks != 0 {
		k.breaks = max(k.breaks-1, -1)
		c.breakOff(p)
		return
	}
	p.host.data.log = p.snap.index
	p.snap.until = c.now.Add(c.restoreTime(p))
}

// brokenOff reports whether the snapshot has broken off: at once where its sender
// is gone, and after a while where nothing arrives any more.
func (c *Cluster) brokenOff(p *process) bool {
	s := p.snap
	switch {
	case !p.up():
		return false
	case c.contact(p):
		s.mute = time.Time{}
		return false
	case s.mute.IsZero():
		s.mute = c.now
		c.after(readTimeout, nil)
	}
	sender := c.leading.open() && c.proc(c.leading.id) == c.leading
	return !sender || !c.now.Before(s.mute.Add(readTimeout))
}

// breakOff loses what has arrived of a snapshot; another will be sent.
func (c *Cluster) breakOff(p *process) {
	p.failed++
	p.snap = &snapshot{after: c.now.Add(snapshotPause)}
	c.at(p.snap.after, nil)
}

// restore ends the restoring of a snapshot when its time has come.
func (c *Cluster) restore(p *process) {
	if s := p.snap; !s.until.IsZero() && !c.now.Before(s.until) {
		p.host.data.applied, p.host.data.snapshot = s.index, true
		p.snap, p.restored = nil, s.index
	}
}

func (c *Cluster) snapshotRate(p *process) float64 {
	if rate := c.knob(p.id).receiveRate; rate > 0 {
		return rate
	}
	if c.Timing.CatchUp <= 0 {
		return 0
	}
	return p.snap.index / c.Timing.CatchUp.Seconds()
}

func (c *Cluster) restoreTime(p *process) time.Duration {
	if rate := c.knob(p.id).applyRate; rate > 0 {
		return time.Duration(math.Ceil(p.snap.index / rate * float64(time.Second)))
	}
	return c.Timing.Restore
}

// snapshotMoments tells when the snapshot has arrived, or is restored.
func (c *Cluster) snapshotMoments(p *process, w *wait) {
	switch s := p.snap; {
	case s.arriving():
		if rate := c.snapshotRate(p); rate > 0 && c.contact(p) {
			w.in(c.now, (s.bytes-s.got)/rate/entryBytes)
		}
	case s.index > 0:
		w.until(s.until)
	}
}
