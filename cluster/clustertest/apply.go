package clustertest

import (
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// What each committed change of the member list does, and why it may be refused
// even then (E§1.3).

func (c *Cluster) applyAdd(m cluster.Member) error {
	switch {
	case c.removed[m.ID]:
		return rpctypes.ErrMemberNotFound
	case c.node(m.ID) != nil:
		return rpctypes.ErrMemberExist
	case c.taken(m.PeerURLs, 0):
		return rpctypes.ErrPeerURLExist
	case m.Learner && c.learners()+1 > c.limit:
		return rpctypes.ErrTooManyLearners
	}
	n := &node{Member: clone(m), voter: !m.Learner, added: c.now}
	c.nodes = append(c.nodes, n)
	c.remember()
	c.meet(n)
	return nil
}

// taken reports whether a member other than id has one of the URLs, letter by
// letter.
func (c *Cluster) taken(urls []string, id cluster.ID) bool {
	return slices.ContainsFunc(c.nodes, func(n *node) bool {
		return n.ID != id && slices.ContainsFunc(urls, func(u string) bool { return slices.Contains(n.PeerURLs, u) })
	})
}

func (c *Cluster) learners() int {
	count := 0
	for _, n := range c.nodes {
		if n.Learner {
			count++
		}
	}
	return count
}

func (c *Cluster) applyPromote(id cluster.ID) error {
	n := c.node(id)
	switch {
	case n == nil:
		return rpctypes.ErrMemberNotFound
	case !n.Learner:
		return rpctypes.ErrMemberNotLearner
	}
	c.judge(n)
	c.vote(n)
	return nil
}

func (c *Cluster) vote(n *node) {
	n.Learner, n.voter = false, true
	c.remember()
}

func (c *Cluster) applyRemove(id cluster.ID) error {
	n := c.node(id)
	if n == nil {
		return rpctypes.ErrMemberNotFound
	}
	told := c.proc(id)
	c.nodes = slices.DeleteFunc(c.nodes, func(other *node) bool { return other == n })
	c.removed[id] = true
	c.remember()
	if told != nil {
		c.tell(told)
	}
	return nil
}

// tell lets a removed server learn of it: now, or when it is back.
func (c *Cluster) tell(p *process) {
	if p.up() && !c.knob(p.id).cut {
		c.expel(p)
	}
}

func (c *Cluster) applyUpdate(id cluster.ID, urls []string, keepsLearner bool) error {
	n := c.node(id)
	switch {
	case n == nil:
		return rpctypes.ErrMemberNotFound
	case c.taken(urls, id):
		return rpctypes.ErrPeerURLExist
	}
	n.PeerURLs = slices.Clone(urls)
	if !keepsLearner {
		n.Learner = false // in the list; not in raft (etcd #21694)
	}
	c.remember()
	c.meet(n)
	return nil
}
