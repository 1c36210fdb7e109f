package clustertest

import (
	"math"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// tiny is what a count of entries may miss by rounding.
const tiny = 1e-6

// contact reports whether p hears the leader.
func (c *Cluster) contact(p *process) bool {
	if !p.up() || c.now.Before(p.hears) || c.leader == 0 || c.node(p.id) == nil || p.alone {
		return false
	}
	if p.id == c.leader {
		return p == c.leading
	}
	return c.leading.up() && c.proc(c.leader) == c.leading && !c.knob(c.leader).cut && !c.knob(p.id).cut
}

// flowAll moves what moves at once; it reports whether anything has.
func (c *Cluster) flowAll() bool {
	moved := false
	for _, p := range c.servers() {
		if c.flow(p, 0) {
			moved = true
		}
	}
	return moved
}

// flow lets p receive and apply for some seconds.
func (c *Cluster) flow(p *process, seconds float64) bool {
	d := p.host.data
	was, wasSnap := d.progress, p.snapState()
	moved := false
	if c.contact(p) {
		c.talk(p, seconds)
		if moved = c.hear(p); !p.doomed {
			c.receive(p, seconds)
			c.acknowledge(p)
		}
	}
	switch {
	case p.snap.arriving() && c.brokenOff(p):
		c.breakOff(p)
	case p.snap != nil:
		c.restore(p)
	default:
		d.applied = toward(d.applied, c.applicable(p), c.knob(p.id).applyRate, seconds)
	}
	return moved || d.progress != was || p.snapState() != wasSnap
}

// hear is what the first and every other contact with the leader does to p.
func (c *Cluster) hear(p *process) bool {
	n := c.node(p.id)
	if n.match > 0 && p.log() == 0 && !p.doomed {
		c.doom(p, 2, "panic: tocommit(%d) is out of range [lastIndex(0)]. Was the raft log corrupted, truncated, or lost?", int(n.match))
		return true
	}
	if p.leader == c.leader {
		return false
	}
	p.leader = c.leader
	p.leaders++
	return true
}

// receive lets p's log grow towards the leader's.
func (c *Cluster) receive(p *process, seconds float64) {
	d := p.host.data
	switch {
	case p.id == c.leader:
		d.log = c.last
	case p.snap != nil:
		c.receiveSnapshot(p, seconds)
	default:
		d.log = toward(d.log, c.receivable(p), c.receiveRate(p), seconds)
	}
	d.bytes = math.Max(d.bytes, entryBytes*d.log)
}

// acknowledge tells the leader what p has.
func (c *Cluster) acknowledge(p *process) {
	n := c.node(p.id)
	n.match = math.Max(n.match, p.log())
	if p.snap == nil {
		n.acked = math.Max(n.acked, p.log())
	}
}

// receivable is how far p may receive, applicable how far it may apply.
func (c *Cluster) receivable(p *process) float64 {
	return math.Max(0, c.last-c.knob(p.id).lag)
}

func (c *Cluster) applicable(p *process) float64 {
	return math.Max(0, math.Min(p.log(), c.commit)-c.knob(p.id).applyLag)
}

// receiveRate is in entries a second. A server that has just started takes
// CatchUp for what there was.
func (c *Cluster) receiveRate(p *process) float64 {
	switch k := c.knob(p.id); {
	case k.receiveRate > 0:
		return k.receiveRate
	case p.log() < p.goal-tiny && c.Timing.CatchUp > 0:
		return p.goal / c.Timing.CatchUp.Seconds()
	}
	return 0
}

// toward lets x grow towards goal; rate 0 is at once.
func toward(x, goal, rate, seconds float64) float64 {
	switch {
	case x >= goal:
		return x
	case rate == 0 || x+rate*seconds >= goal-tiny:
		return goal
	}
	return x + rate*seconds
}

// flowMoments tells when p has received or applied something that matters.
func (c *Cluster) flowMoments(p *process, w *wait) {
	switch {
	case p.snap != nil:
		c.snapshotMoments(p, w)
	case c.contact(p):
		c.logMoments(p, w)
	}
	rate := c.knob(p.id).applyRate
	if left := c.applicable(p) - p.host.data.applied; rate > 0 && left > 0 && p.snap == nil {
		w.in(c.now, left/rate)
	}
}

// logMoments are the ends of catching up, and each proposal that p's log reaches
// before: its vote may be what the commit waits for.
func (c *Cluster) logMoments(p *process, w *wait) {
	goal, rate := c.receivable(p), c.receiveRate(p)
	if p.log() >= goal || rate == 0 {
		return
	}
	marks := []float64{goal, p.goal}
	if len(c.props) > 0 {
		marks = append(marks, c.props[0].index)
	}
	for _, m := range marks {
		if m > p.log() && m <= goal {
			w.in(c.now, (m-p.log())/rate)
		}
	}
}

// untilApplied is when p will have applied index, as things stand.
func (c *Cluster) untilApplied(p *process, index float64) (seconds float64) {
	d := p.host.data
	if d.applied >= index-tiny {
		return 0
	}
	if p.snap != nil || index > c.receivable(p) && index > d.log {
		return math.Inf(1)
	}
	if d.log < index-tiny {
		if !c.contact(p) {
			return math.Inf(1)
		}
		seconds = (index - d.log) / c.receiveRate(p)
	}
	if k := c.knob(p.id); k.applyRate > 0 {
		seconds = math.Max(seconds, (index-d.applied)/k.applyRate)
	} else if k.applyLag > 0 {
		seconds = math.Inf(1)
	}
	return seconds
}

// applied reports whether p has applied index; if not, w learns when it will.
func (c *Cluster) applied(p *process, index float64, w *wait) bool {
	if p.host.data.applied >= index-tiny {
		return true
	}
	w.in(c.now, c.untilApplied(p, index))
	return false
}

// view is the member list as it was from one index on.
type view struct {
	index   float64
	members []cluster.Member
}

// remember keeps the list as it is now, for servers that lag behind.
func (c *Cluster) remember() {
	v := view{c.commit, c.list()}
	if len(c.history) == 0 {
		v.index = 0
	}
	c.history = append(c.history, v)
}

// viewOf is the member list as p has it.
func (c *Cluster) viewOf(p *process) []cluster.Member {
	if l := c.knob(p.id).diverged; l != nil {
		return l
	}
	if p.alone {
		return p.self()
	}
	if p.host.data.applied < 1 && p.initial != nil {
		return p.initial
	}
	return c.viewAt(p.host.data.applied)
}

func (c *Cluster) viewAt(index float64) []cluster.Member {
	for i := len(c.history) - 1; i > 0; i-- {
		if c.history[i].index <= index+tiny {
			return c.history[i].members
		}
	}
	return c.history[0].members
}
