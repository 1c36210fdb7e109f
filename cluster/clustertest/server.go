package clustertest

import (
	"fmt"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/version"
)

// process is a running etcd server.
type process struct {
	host    *Host
	id      cluster.ID
	name    string     // its --name
	started time.Time  // of this process
	boot    *bootstrap // nil once its ports are open
	hears   time.Time  // when it gets in contact
	paused  bool
	doomed  bool             // it is about to crash, and does nothing any more
	leaving bool             // it is about to exit, and answers still
	initial []cluster.Member // its own initial cluster, shown before it has data

	linked time.Time // since when the others are connected to it
	unlink time.Time // since when they no longer are; zero: they are

	leader  cluster.ID // as it knows; a learner never drops it
	leaders int        // how often it has heard of a new one

	peers map[cluster.ID]*peerView // what it counts of the others

	goal      float64 // what its catching up began with
	snap      *snapshot
	failed    uint64    // snapshots that broke off
	restored  float64   // the index of the snapshot it has restored, 0 if none
	pub       *proposal // the publish under way
	published bool
	pubIndex  float64
	serving   bool // its client port answers
	alone     bool // it leads a cluster of its own
}

// up reports whether the process is there and does anything at all.
func (p *process) up() bool { return p.open() && !p.paused && !p.doomed }

// open reports whether the process listens: it may be paused.
func (p *process) open() bool { return p != nil && p.boot == nil }

// log is how far the process has received.
func (p *process) log() float64 { return p.host.data.log }

// proc is the running server of a member, nil if there is none.
func (c *Cluster) proc(id cluster.ID) *process {
	for _, h := range c.hosts {
		if h.proc != nil && h.proc.id == id && id != 0 {
			return h.proc
		}
	}
	return nil
}

// servers are the running servers whose ports are open.
func (c *Cluster) servers() []*process {
	var ps []*process
	for _, h := range c.hosts {
		if h.proc.open() {
			ps = append(ps, h.proc)
		}
	}
	return ps
}

// knobs are what a test has set for one member; they outlive its processes, and
// may be set before there is a member.
type knobs struct {
	cut         bool
	silent      bool
	lag         float64
	applyLag    float64
	receiveRate float64
	applyRate   float64
	version     version.Version
	clientURLs  []string
	diverged    []cluster.Member
	oneWay      bool
	hidden      bool
	breaks      int // snapshots still to break off; -1: all
}

func (c *Cluster) knob(id cluster.ID) *knobs {
	k := c.knobs[id]
	if k == nil {
		k = &knobs{}
		c.knobs[id] = k
	}
	return k
}

// versionOf is what p's server runs.
func (c *Cluster) versionOf(p *process) version.Version {
	if v := c.knob(p.id).version; !v.IsZero() {
		return v
	}
	if !p.host.version.IsZero() {
		return p.host.version
	}
	return c.version
}

// can reports whether p's release has an ability.
func (c *Cluster) can(p *process, a version.Ability) bool { return c.versionOf(p).Can(a) }

// publishAll lets servers publish their names; it reports whether one tried.
func (c *Cluster) publishAll() bool {
	tried := false
	for _, p := range c.servers() {
		if c.publish(p) {
			tried = true
		}
	}
	return tried
}

// publish proposes p's name and client URLs, and again if that was lost.
func (c *Cluster) publish(p *process) bool {
	if p.published || p.pub != nil && !p.pub.lost ||
		c.now.Before(p.started.Add(c.Timing.Publish)) || !c.contact(p) || !c.leads() {
		return false
	}
	p.pub = &proposal{apply: func() error {
		p.published, p.pubIndex = true, c.commit
		c.name(p)
		return nil
	}}
	c.propose(p.pub)
	return true
}

// name puts p's attributes into the list.
func (c *Cluster) name(p *process) {
	n := c.node(p.id)
	if n == nil {
		return
	}
	n.Name, n.ClientURLs = p.name, clientURLs(p.host.urls)
	if urls := c.knob(p.id).clientURLs; urls != nil {
		n.ClientURLs = urls
	}
	c.remember()
}

func (c *Cluster) serveAll() bool {
	opened := false
	for _, p := range c.servers() {
		if !p.serving && c.mayServe(p) {
			p.serving, opened = true, true
		}
	}
	return opened
}

// mayServe reports whether p opens its client port: it has applied its own
// publish (E§2.4).
func (c *Cluster) mayServe(p *process) bool {
	d := p.host.data
	if !p.up() || !p.published || d.applied < p.pubIndex-tiny || c.now.Before(p.started.Add(c.Timing.Serve)) {
		return false
	}
	if p.restored == 0 || !c.can(p, version.SilentAfterSnapshot) {
		return true
	}
	// Its publish was in the snapshot and has to time out first; and with an
	// applied index that only entries set, it is refused until there is one.
	gap := p.restored > appliedGap && d.applied <= p.restored+tiny
	return !gap && !c.now.Before(p.started.Add(silentWindow))
}

// doom lets p exit by itself, in a moment.
func (c *Cluster) doom(p *process, code int, format string, args ...any) {
	if p.doomed || p.leaving {
		return
	}
	p.doomed, p.leaving = code != 0, code == 0
	exit := &cluster.ExitError{Code: code, Output: fmt.Sprintf(format, args...)}
	c.after(exitDelay, func() {
		if p.host.proc == p {
			p.host.proc, p.host.exit = nil, exit
		}
	})
}

// connected reports whether the server of member id has been connected to r
// since before t, as r's transport knows.
func (c *Cluster) connected(r *process, id cluster.ID, t time.Time) bool {
	since := c.activeSince(r, id)
	return !since.IsZero() && since.Before(t)
}

// activeSince is since when r has been connected to a member, zero if it is not.
func (c *Cluster) activeSince(r *process, id cluster.ID) time.Time {
	p, n := c.proc(id), c.node(id)
	if !p.open() || n == nil || p.alone || r.alone || r.id == id || c.linkLost(p) || c.linkLost(r) {
		return time.Time{}
	}
	since := n.added
	for _, t := range []time.Time{p.linked, r.linked} {
		if t.After(since) {
			since = t
		}
	}
	if c.unreached(id) && c.now.Sub(since) >= ownDial {
		return time.Time{}
	}
	return since
}

// linkLost reports whether p's link has been down for long enough to show.
func (c *Cluster) linkLost(p *process) bool {
	return c.Timing.Notice > 0 && !p.unlink.IsZero() && !c.now.Before(p.unlink.Add(c.Timing.Notice))
}

// relink notes that p's link went down or came up.
func (c *Cluster) relink(p *process) {
	down := p.paused || c.knob(p.id).cut
	switch {
	case down && p.unlink.IsZero():
		p.unlink = c.now
	case !down && !p.unlink.IsZero():
		if c.linkLost(p) {
			p.linked = c.now
		}
		p.unlink = time.Time{}
	}
}
