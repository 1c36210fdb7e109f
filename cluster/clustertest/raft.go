package clustertest

import (
	"math"
	"slices"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/version"
)

// raft is the cluster's log and its leadership. Entries without a proposal of
// their own (client traffic, dropped changes) are only counted.
type raft struct {
	term      uint64
	leader    cluster.ID // as all who are in contact see it
	leading   *process   // the leader's; one that starts anew no longer leads
	last      float64    // of the leader's log
	commit    float64
	termStart float64   // the first entry of this term; nothing is read before its commit
	confIndex float64   // the last membership change proposed
	confDone  time.Time // when the last one was applied
	props     []*proposal
	electAt   time.Time // when the loss of the leader or of quorum shows; zero: nothing is lost
}

// proposal is an entry that does something when it is committed.
type proposal struct {
	index float64
	ready time.Time // not committed before
	conf  bool      // a membership change
	apply func() error
	lost  bool // dropped by raft: nobody is ever told
	done  bool // committed and applied
	err   error
	from  *record // the call behind it
}

// propose appends an entry at the leader.
func (c *Cluster) propose(p *proposal) {
	c.dirty = true
	c.last++
	p.index, p.ready = c.last, c.now.Add(c.Timing.Commit)
	if p.conf && c.changing() {
		// Raft has one membership change at a time: another becomes an empty
		// entry, and its caller is never told (E§1.4).
		p.lost = true
		return
	}
	if p.conf {
		c.confIndex = p.index
	}
	c.props = append(c.props, p)
	c.after(c.Timing.Commit, nil)
}

// changing reports whether the leader has a membership change not yet applied, or
// one that raft does not know to be applied.
func (c *Cluster) changing() bool {
	leader := c.proc(c.leader)
	if leader == nil || c.confIndex > leader.host.data.applied+tiny {
		return true
	}
	return !c.can(leader, version.ChangesBackToBack) && c.now.Before(c.confDone.Add(c.Timing.Advance))
}

// raftMoments tells when raft does something by itself.
func (c *Cluster) raftMoments(w *wait) {
	if !c.electAt.IsZero() {
		w.until(c.electAt)
	}
}

// voters are the members that count for quorum, whatever the list says.
func (c *Cluster) voters() []*node {
	var vs []*node
	for _, n := range c.nodes {
		if n.voter {
			vs = append(vs, n)
		}
	}
	return vs
}

func quorumOf(n int) int { return n/2 + 1 }

// live reports whether a voter's process takes part in raft now. A cut voter
// reaches nobody, which is enough only where it is the only one.
func (c *Cluster) live(n *node) bool {
	p := c.proc(n.ID)
	return n.voter && p.up() && !p.alone && !c.now.Before(p.hears) && (!c.knob(n.ID).cut || len(c.voters()) == 1)
}

func (c *Cluster) liveVoters() []*node {
	return slices.DeleteFunc(c.voters(), func(n *node) bool { return !c.live(n) })
}

func (c *Cluster) hasQuorum() bool {
	return len(c.liveVoters()) >= quorumOf(len(c.voters()))
}

// leads reports whether there is a leader that can do its work.
func (c *Cluster) leads() bool { return c.leaderLives() && c.hasQuorum() }

func (c *Cluster) leaderLives() bool {
	n := c.node(c.leader)
	return n != nil && c.live(n) && c.proc(n.ID) == c.leading
}

// lead notices a lost leader or quorum, and elects, one election timeout late.
func (c *Cluster) lead() bool {
	lost := c.leader != 0 && !c.leads()
	electable := c.leader == 0 && c.hasQuorum()
	switch {
	case !lost && !electable:
		c.electAt = time.Time{}
		return false
	case c.electAt.IsZero():
		c.electAt = c.now.Add(c.patience())
	}
	if c.now.Before(c.electAt) {
		return false
	}
	c.electAt = time.Time{}
	c.stepDown()
	if c.hasQuorum() {
		c.elect(c.candidate())
	}
	return true
}

// patience is how long it takes until the loss of the leader, or a leader's loss
// of quorum, shows.
func (c *Cluster) patience() time.Duration {
	if c.leaderLives() {
		return c.Timing.StepDown
	}
	return c.Timing.Election
}

// stepDown ends the leadership. A learner never campaigns, so it goes on to name
// the leader it knew.
func (c *Cluster) stepDown() {
	c.leader = 0
	for _, n := range c.nodes {
		if p := c.proc(n.ID); n.voter && p.up() && !p.alone && (!c.knob(n.ID).cut || p == c.leading) {
			p.leader = 0
		}
	}
}

// candidate is the live voter with the longest log.
func (c *Cluster) candidate() *node {
	var best *node
	for _, n := range c.liveVoters() {
		if best == nil || c.proc(n.ID).log() > c.proc(best.ID).log() {
			best = n
		}
	}
	return best
}

// elect makes n the leader. Entries that it has not received are gone, and what
// the old leader knew of the others' logs is gone with it.
func (c *Cluster) elect(n *node) {
	keep := math.Max(c.commit, math.Floor(c.proc(n.ID).log()+tiny))
	if c.dropUncommitted {
		keep = c.commit
	}
	c.truncate(keep)
	c.leader, c.leading = n.ID, c.proc(n.ID)
	c.leading.snap = nil
	c.term++
	for _, other := range c.nodes {
		other.match, other.acked = 0, 0
	}
	c.propose(&proposal{apply: func() error { return nil }})
	c.termStart = c.last
}

// truncate drops the entries after index from the log, and from every copy.
func (c *Cluster) truncate(index float64) {
	c.last = index
	c.confIndex = math.Min(c.confIndex, index)
	kept := c.props[:0:0]
	for _, p := range c.props {
		if p.lost = p.index > index; !p.lost {
			kept = append(kept, p)
		}
	}
	c.props = kept
	for _, h := range c.hosts {
		if h.data != nil {
			h.data.log = math.Min(h.data.log, index)
		}
	}
}

// commitNext commits as far as a quorum has received, one proposal at most: a
// membership change counts for the entries behind it.
func (c *Cluster) commitNext() bool {
	if c.commit >= c.last || !c.leads() {
		return false
	}
	upTo := c.received()
	var p *proposal
	if len(c.props) > 0 && c.props[0].index <= upTo {
		p, upTo = c.props[0], c.props[0].index
		if c.now.Before(p.ready) {
			p, upTo = nil, upTo-1
		}
	}
	if upTo <= c.commit {
		return false
	}
	c.commit = upTo
	if p != nil {
		c.props = c.props[1:]
		c.applyProposal(p)
	}
	return true
}

func (c *Cluster) applyProposal(p *proposal) {
	p.err = p.apply()
	p.done = true
	if p.conf {
		c.confDone = c.now
	}
	if p.from != nil {
		p.from.Applied = p.from.Applied || p.err == nil
	}
}

// received is the index up to which a quorum of voters has the log.
func (c *Cluster) received() float64 {
	var acks []float64
	for _, n := range c.voters() {
		acks = append(acks, math.Floor(n.acked+tiny))
	}
	slices.Sort(acks)
	return acks[len(acks)-quorumOf(len(acks))]
}

// LiveVoters are the voters whose servers run and reach the others.
func (c *Cluster) LiveVoters() []cluster.Member {
	var live []cluster.Member
	c.with(func() {
		for _, n := range c.liveVoters() {
			live = append(live, clone(n.Member))
		}
	})
	return live
}

// HasQuorum reports whether enough voters are live.
func (c *Cluster) HasQuorum() bool {
	var has bool
	c.with(func() { has = c.hasQuorum() })
	return has
}
