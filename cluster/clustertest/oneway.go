package clustertest

import (
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// OneWay puts a member behind a firewall that lets nobody in, or ends that. It dials the
// others and takes part in raft over its own connections, a vote included; but no
// snapshot reaches it, the others call it disconnected, and count it so.
func (c *Cluster) OneWay(id cluster.ID, on bool) {
	c.change(func() { c.knob(id).oneWay = on })
}

// Hide lets a member's ports refuse the caller, the peer port too, or ends that. The
// members reach it as before.
func (c *Cluster) Hide(id cluster.ID, on bool) {
	c.change(func() { c.knob(id).hidden = on })
}

const (
	ownDial    = 100 * time.Millisecond // for so long a member's own dial makes the others call it connected
	firstProbe = 3500 * time.Millisecond
	peerBytes  = 5000 // a second, of the answers to heartbeats
)

// peerView is what a server counts of another one. It begins anew with the process.
type peerView struct {
	met, active bool
	lost        uint64
	bytes       float64
}

func (p *process) view(id cluster.ID) *peerView {
	v := p.peers[id]
	if v == nil {
		v = &peerView{}
		if p.peers == nil {
			p.peers = map[cluster.ID]*peerView{}
		}
		p.peers[id] = v
	}
	return v
}

// talk lets the leader and a follower hear of each other for some seconds.
func (c *Cluster) talk(p *process, seconds float64) {
	if p.id != c.leader && seconds > 0 {
		c.leading.view(p.id).bytes += peerBytes * seconds
		p.view(c.leader).bytes += peerBytes * seconds
	}
}

// meetAll lets servers notice whom they are connected to.
func (c *Cluster) meetAll() {
	for _, p := range c.servers() {
		for _, n := range c.nodes {
			if !c.activeSince(p, n.ID).IsZero() {
				v := p.view(n.ID)
				v.met, v.active = true, true
			}
		}
		for id, v := range p.peers {
			if v.active && c.activeSince(p, id).IsZero() {
				v.active = false
				v.lost++
			}
		}
	}
}

// unreached reports whether the others' own dials to a member fail.
func (c *Cluster) unreached(id cluster.ID) bool { return c.knob(id).oneWay }

// countsOf is what p exports of the others.
func (c *Cluster) countsOf(p *process) map[cluster.ID]cluster.Peer {
	c.meetAll()
	var peers map[cluster.ID]cluster.Peer
	for id, v := range p.peers {
		if peers == nil {
			peers = map[cluster.ID]cluster.Peer{}
		}
		told := cluster.Peer{Met: v.met, Active: v.active, Disconnected: v.lost, Received: uint64(v.bytes)}
		if since := c.activeSince(p, id); !since.IsZero() && !c.unreached(id) && c.now.Sub(since) >= firstProbe {
			told.RoundTrips = 0.001
		}
		peers[id] = told
	}
	return peers
}
