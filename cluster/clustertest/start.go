package clustertest

import (
	"context"
	"slices"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// Start fits [member.Config]: it starts a server on the host with the spec's peer
// URLs. See [Host.Start].
func (c *Cluster) Start(ctx context.Context, spec member.StartSpec) error {
	return c.Host(spec.PeerURLs...).Start(ctx, spec)
}

// Start fits [member.Config]: it starts a server as the spec's member. Like a
// real one it asks a peer for the member list, and ends if its initial cluster
// does not fit: that is the error, a [*member.ExitError], where it shows at once;
// Exited says it in any case. Start is idempotent. With data in its directory the
// server goes on as whoever the data says.
func (h *Host) Start(ctx context.Context, spec member.StartSpec) error {
	call := Call{Op: OpStart, ID: spec.MemberID, URLs: slices.Clone(spec.PeerURLs), Name: spec.Name}
	_, err := do(h.c, ctx, call, func(r *record, _ Fault) asking[none] {
		return func(*wait) (none, error) {
			r.Reached = true
			if exit := h.start(spec); exit != nil && !h.c.supervised {
				return none{}, exit
			}
			return none{}, nil
		}
	})
	return err
}

func (h *Host) start(spec member.StartSpec) *cluster.ExitError {
	if h.proc != nil && h.proc.id == spec.MemberID {
		return nil
	}
	h.end()
	if h.data != nil {
		h.resume(spec.Name)
		return nil
	}
	b := &bootstrap{c: h.c, h: h, spec: spec}
	if h.exit = b.check(); h.exit == nil {
		h.c.spawn(h, spec.MemberID, spec.Name, b)
	}
	return h.exit
}

// resume starts a server on the data that is there; most flags no longer count.
func (h *Host) resume(name string) {
	if name != "" {
		h.data.name = name
	}
	b := &bootstrap{c: h.c, h: h, ends: h.c.now.Add(h.c.Timing.Boot), resumes: true}
	h.c.spawn(h, h.data.id, h.data.name, b)
}

// spawn runs a server. It boots first.
func (c *Cluster) spawn(h *Host, id cluster.ID, name string, b *bootstrap) {
	h.proc = &process{host: h, id: id, name: name, started: c.now, goal: c.last, boot: b}
	h.exit = nil
	c.dirty = true
	c.at(b.ends, nil)
	for _, d := range []time.Duration{c.Timing.Publish, c.cutAfter(), c.Timing.Serve, silentWindow} {
		c.after(d, nil)
	}
}

// bootAll lets servers open their ports; it reports whether one has, or has ended.
func (c *Cluster) bootAll() bool {
	done := false
	for _, h := range c.hosts {
		if h.proc != nil && h.proc.boot != nil && h.proc.boot.step() {
			done = true
		}
	}
	return done
}

// opened is the moment at which p's ports are open.
func (c *Cluster) opened(p *process) {
	p.boot = nil
	p.linked, p.hears = c.now, c.now.Add(contactDelay)
	c.at(p.hears, nil)
	c.relink(p)
	switch {
	case p.host.data.cluster != ClusterID:
		p.hears = c.now.Add(1 << 60) // among members of a cluster that is not there
	case c.removed[p.id]:
		c.tell(p)
	case c.tooNew(p.host):
		c.doom(p, 2, "panic: unmarshal should never fail")
	}
}

// expel lets a server learn that its member was removed.
func (c *Cluster) expel(p *process) {
	c.doom(p, 0, "the member has been permanently removed from the cluster")
}

// tooNew reports the one pair that passes the version gate and cannot read the
// older entries (E§4.5).
func (c *Cluster) tooNew(h *Host) bool {
	joiner, fake := c.hostVersion(h), c.clusterVersion()
	return !fake.IsZero() && joiner.AtLeast(version.MustParse("3.7.0-alpha.0")) && !fake.AtLeast(version.MustParse("3.6.0-alpha.0"))
}
