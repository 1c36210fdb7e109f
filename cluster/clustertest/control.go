package clustertest

import (
	"fmt"
	"slices"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/version"
)

// What a test does to servers and to the cluster. Most of it may be said of a
// member that does not exist yet: the next IDs are known.

// Kill ends a member's server; data and entry stay.
func (c *Cluster) Kill(id cluster.ID) {
	c.change(func() {
		if p := c.proc(id); p != nil {
			p.host.proc = nil
		}
	})
}

// Restart runs a server on the member's data again. A member that has no data
// gets it all at once, and a name: so an entry of AddRaw becomes one that runs and
// serves.
func (c *Cluster) Restart(id cluster.ID) {
	c.change(func() {
		h, n := c.hostOf(id), c.node(id)
		switch {
		case h == nil || h.proc != nil:
		case h.data != nil:
			h.resume("")
		case n != nil:
			c.run(n)
			c.introduce(n)
		}
	})
}

// introduce fills in what a running member has published.
func (c *Cluster) introduce(n *node) {
	if n.Name == "" {
		n.Name = "m" + n.ID.String()
	}
	if len(n.ClientURLs) == 0 {
		n.ClientURLs = clientURLs(n.PeerURLs)
	}
	p := c.proc(n.ID)
	p.name, p.host.data.name = n.Name, n.Name
	c.remember()
}

// Pause stops a member's server as SIGSTOP does: its ports accept connections,
// and nothing answers.
func (c *Cluster) Pause(id cluster.ID) { c.setPaused(id, true) }

// Resume ends Pause.
func (c *Cluster) Resume(id cluster.ID) { c.setPaused(id, false) }

func (c *Cluster) setPaused(id cluster.ID, paused bool) {
	c.change(func() {
		if p := c.proc(id); p != nil {
			p.paused = paused
			c.back(p)
		}
	})
}

// CutPeer cuts the link between a member and all others. Its client port answers
// still; what it knows stays as it was. A voter finds itself without a leader
// after an election timeout; a learner never does.
func (c *Cluster) CutPeer(id cluster.ID) {
	c.change(func() {
		c.knob(id).cut = true
		c.after(c.Timing.Election, func() { c.forgetLeader(id) })
		if p := c.proc(id); p != nil {
			c.back(p)
		}
	})
}

// HealPeer ends CutPeer.
func (c *Cluster) HealPeer(id cluster.ID) {
	c.change(func() {
		c.knob(id).cut = false
		if p := c.proc(id); p != nil {
			c.back(p)
		}
	})
}

// back lets p's link go down or come up, and p learn what it has missed.
func (c *Cluster) back(p *process) {
	c.relink(p)
	if c.removed[p.id] {
		c.tell(p)
	}
}

// forgetLeader is a cut voter's election timeout.
func (c *Cluster) forgetLeader(id cluster.ID) {
	n, p := c.node(id), c.proc(id)
	if n != nil && n.voter && p.up() && c.knob(id).cut && len(c.voters()) > 1 {
		p.leader = 0
	}
}

// Silent lets a member's client port accept connections and answer nothing, or
// ends that. Its peer port answers.
func (c *Cluster) Silent(id cluster.ID, silent bool) {
	c.change(func() { c.knob(id).silent = silent })
}

// Wipe loses a member's data directory, and the server that ran on it.
func (c *Cluster) Wipe(id cluster.ID) {
	c.change(func() {
		if h := c.hostOf(id); h != nil {
			h.wipe()
		}
	})
}

// Lag keeps a member's log, and what it has applied, so many entries behind the
// leader; 0 ends it.
func (c *Cluster) Lag(id cluster.ID, entries int) {
	c.change(func() {
		c.knob(id).lag = float64(entries)
		n, p := c.node(id), c.proc(id)
		if n == nil || !p.open() {
			return
		}
		d := p.host.data
		d.log = min(d.log, c.receivable(p))
		d.applied = min(d.applied, d.log)
		n.match = min(n.match, d.log)
	})
}

// LagApply keeps what a member has applied so many entries behind what is
// committed, although it has received it all; 0 ends it.
func (c *Cluster) LagApply(id cluster.ID, entries int) {
	c.change(func() {
		c.knob(id).applyLag = float64(entries)
		if p := c.proc(id); p.open() {
			p.host.data.applied = min(p.host.data.applied, c.applicable(p))
		}
	})
}

// ReceiveRate is how many entries a second a member receives; 0 is at once, but
// for Timing.CatchUp.
func (c *Cluster) ReceiveRate(id cluster.ID, perSecond float64) {
	c.change(func() { c.knob(id).receiveRate = perSecond })
}

// ApplyRate is how many entries a second a member applies; 0 is at once. A
// snapshot is restored at this rate too.
func (c *Cluster) ApplyRate(id cluster.ID, perSecond float64) {
	c.change(func() { c.knob(id).applyRate = perSecond })
}

// BreakSnapshots lets the next n snapshots that a member receives break off before
// they are whole; below 0 all of them.
func (c *Cluster) BreakSnapshots(id cluster.ID, n int) {
	c.change(func() { c.knob(id).breaks = max(n, -1) })
}

// SetVersion says which etcd a member's server is, and every one after it. ID 0
// is all members without a version of their own, and all to come.
func (c *Cluster) SetVersion(id cluster.ID, v string) {
	parsed := version.MustParse(v)
	c.change(func() {
		if id == 0 {
			c.version = parsed
			return
		}
		c.knob(id).version = parsed
	})
}

// SetLeader lets another voter lead, at once.
func (c *Cluster) SetLeader(id cluster.ID) {
	c.change(func() {
		if n := c.node(id); n != nil && c.live(n) && c.leader != id {
			c.elect(n)
		}
	})
}

// SetLearnerLimit is --max-learners of every server; 1 by default.
func (c *Cluster) SetLearnerLimit(n int) { c.change(func() { c.limit = n }) }

// SetStrict is --strict-reconfig-check of every server; true by default.
func (c *Cluster) SetStrict(strict bool) { c.change(func() { c.lenient = !strict }) }

// SetName changes the name in a member's entry.
func (c *Cluster) SetName(id cluster.ID, name string) {
	c.edit(id, func(n *node) { n.Name = name })
}

// SetClientURLs changes what a member advertises, now and when it publishes
// again. Its server listens where it did, and here too if nobody else does.
func (c *Cluster) SetClientURLs(id cluster.ID, urls ...string) {
	c.edit(id, func(n *node) { n.ClientURLs = slices.Clone(urls) })
	c.change(func() { c.knob(id).clientURLs = slices.Clone(urls) })
}

func (c *Cluster) edit(id cluster.ID, f func(*node)) {
	c.change(func() {
		if n := c.node(id); n != nil {
			f(n)
			c.remember()
		}
	})
}

// AddRaw puts any entry into the list as if it had been committed, whatever the
// rules say, and returns its ID: the entry's own, or the next if that is 0. No
// server runs as it; Restart changes that.
func (c *Cluster) AddRaw(m cluster.Member) cluster.ID {
	m = clone(m)
	c.change(func() {
		if m.ID == 0 {
			m.ID = c.nextID + 1
		}
		c.nextID = max(c.nextID, m.ID)
		c.skip()
		n := &node{Member: m, voter: !m.Learner, added: c.now}
		c.nodes = append(c.nodes, n)
		c.remember()
		c.meet(n)
	})
	return m.ID
}

// Promoted lets somebody else have promoted a member, whatever the rules say.
func (c *Cluster) Promoted(id cluster.ID) {
	c.change(func() {
		if n := c.node(id); n != nil {
			c.skip()
			c.vote(n)
		}
	})
}

// Removed lets somebody else have removed a member, whatever the rules say.
func (c *Cluster) Removed(id cluster.ID) {
	c.change(func() {
		c.skip()
		_ = c.applyRemove(id)
	})
}

// skip commits one entry at once, quorum or not, before those on their way.
func (c *Cluster) skip() {
	c.commit++
	c.last++
	for _, p := range c.props {
		p.index++
	}
	for _, index := range []*float64{&c.termStart, &c.confIndex} {
		if *index >= c.commit {
			*index++
		}
	}
}

// DivergeList gives one server a member list of its own; nil ends it.
func (c *Cluster) DivergeList(id cluster.ID, list []cluster.Member) {
	c.change(func() {
		c.knob(id).diverged = nil
		if list != nil {
			c.knob(id).diverged = cloneAll(list)
		}
	})
}

// alarm is one that every server shows.
type alarm struct {
	id   cluster.ID
	kind string
}

func (a alarm) String() string { return fmt.Sprintf("memberID:%d alarm:%s ", a.id, a.kind) }

func (c *Cluster) corrupt() bool {
	return slices.ContainsFunc(c.alarms, func(a alarm) bool { return a.kind == "CORRUPT" })
}

// SetAlarm raises an alarm of a member, NOSPACE or CORRUPT; an empty kind ends
// its alarms.
func (c *Cluster) SetAlarm(id cluster.ID, kind string) {
	c.change(func() {
		if kind == "" {
			c.alarms = slices.DeleteFunc(c.alarms, func(a alarm) bool { return a.id == id })
			return
		}
		c.alarms = append(c.alarms, alarm{id, kind})
	})
}

// Downgrading says whether a downgrade of the cluster is under way.
func (c *Cluster) Downgrading(on bool) { c.change(func() { c.downgrading = on }) }

// SnapshotJoin lets new members receive a snapshot in place of the log. From 3.6
// on their client port is then silent for seven seconds; with an index above 5000
// it stays so until anything more is committed.
func (c *Cluster) SnapshotJoin(on bool) { c.change(func() { c.snapshotJoin = on }) }

// Supervised says that somebody else than the start hook runs the servers: a
// failed start is no error of Start then, only Exited tells of it.
func (c *Cluster) Supervised(on bool) { c.change(func() { c.supervised = on }) }

// NoPeerRead lets reads take another way than the peer port, as a client does
// that may not ask it.
func (c *Cluster) NoPeerRead(on bool) { c.change(func() { c.noPeerRead = on }) }

// DropUncommitted says that entries which were not committed when the quorum was
// lost do not survive the next election. By default they do, so that a write that
// timed out may take effect later.
func (c *Cluster) DropUncommitted(on bool) { c.change(func() { c.dropUncommitted = on }) }

// Put lets clients have written n entries, as far as there is a leader to take
// them.
func (c *Cluster) Put(n int) {
	c.change(func() {
		if c.leads() {
			c.last += float64(n)
		}
	})
}

// Route lets a URL lead to a member's server, whoever listens there.
func (c *Cluster) Route(url string, id cluster.ID) {
	c.change(func() { c.routes[where(url)] = id })
}

// OwnEndpoints are those of the caller's own client, which the zero Target stands
// for; none are the voters'.
func (c *Cluster) OwnEndpoints(urls ...string) { c.change(func() { c.own = urls }) }
