package clustertest

import (
	"context"
	"slices"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// Host is a machine of the cluster, with a data directory and perhaps a running
// server; its peer URLs tell it from others. Its methods fit the hooks of
// [member.Config]: Start, Stop, Exited, and the Host itself is its DataDir.
type Host struct {
	c                      *Cluster
	urls                   []string
	peerAddrs, clientAddrs []string        // where it listens
	version                version.Version // zero: the cluster's
	data                   *data           // nil: no WAL
	damage                 string
	proc                   *process // nil: nothing runs
	exit                   *cluster.ExitError
}

var _ member.DataDir = (*Host)(nil)

// data is a data directory.
type data struct {
	cluster, id cluster.ID
	name        string
	progress
}

// progress is how far a server has got.
type progress struct {
	log      float64 // received
	applied  float64
	snapshot bool    // it has restored one
	bytes    float64 // received, for the metrics
}

// Host is the machine with these peer URLs; it is made if there is none. One
// argument may hold several, separated by commas.
func (c *Cluster) Host(peerURLs ...string) *Host {
	var h *Host
	c.with(func() { h = c.host(split(peerURLs)) })
	return h
}

// HostOf is the machine of a member, nil if nobody knows one.
func (c *Cluster) HostOf(id cluster.ID) *Host {
	var h *Host
	c.with(func() { h = c.hostOf(id) })
	return h
}

func (c *Cluster) host(urls []string) *Host {
	for _, h := range c.hosts {
		if shares(h.urls, urls) {
			return h
		}
	}
	h := &Host{c: c, urls: slices.Clone(urls), peerAddrs: whereAll(urls), clientAddrs: whereAll(clientURLs(urls))}
	c.hosts = append(c.hosts, h)
	return h
}

// hostOf finds the machine that runs the member, has its data, or its URLs.
func (c *Cluster) hostOf(id cluster.ID) *Host {
	for _, h := range c.hosts {
		if h.proc != nil && h.proc.id == id {
			return h
		}
	}
	for _, h := range c.hosts {
		if h.data != nil && h.data.id == id {
			return h
		}
	}
	if n := c.node(id); n != nil && len(n.PeerURLs) > 0 {
		return c.host(n.PeerURLs)
	}
	return nil
}

func shares(as, bs []string) bool {
	return slices.ContainsFunc(as, func(a string) bool {
		return slices.ContainsFunc(bs, func(b string) bool { return peerurl.Same(a, b) })
	})
}

// Stop fits [member.Config]: it ends the server. The data stays.
func (h *Host) Stop(ctx context.Context) error {
	_, err := do(h.c, ctx, Call{Op: OpStop, ID: h.member()}, func(*record, Fault) asking[none] {
		return func(*wait) (none, error) {
			h.end()
			return none{}, nil
		}
	})
	return err
}

// end lets the server be gone, and nothing said of its exit.
func (h *Host) end() {
	h.proc, h.exit = nil, nil
	h.c.dirty = true
}

func (h *Host) member() cluster.ID {
	var id cluster.ID
	h.c.with(func() {
		if h.data != nil {
			id = h.data.id
		}
	})
	return id
}

// Exited fits [member.Config]: how the last server ended by itself, nil while one
// runs or was never started.
func (h *Host) Exited(context.Context) *cluster.ExitError {
	var e *cluster.ExitError
	h.c.with(func() { e = h.exit })
	return e
}

// Running reports whether a server runs, paused or not.
func (h *Host) Running() bool {
	var running bool
	h.c.with(func() { running = h.proc != nil })
	return running
}

// Inspect implements [member.DataDir].
func (h *Host) Inspect(ctx context.Context) (cluster.DataInfo, error) {
	info := cluster.DataInfo{Kind: cluster.DataEmpty}
	h.c.with(func() {
		switch {
		case h.damage != "":
			info = cluster.DataInfo{Kind: cluster.DataDamaged, Reason: h.damage}
		case h.data != nil:
			info = cluster.DataInfo{Kind: cluster.DataMember, ClusterID: h.data.cluster, MemberID: h.data.id, Snapshot: h.data.snapshot}
		}
	})
	return info, ctx.Err()
}

// Archive implements [member.DataDir]: the directory is empty afterwards.
func (h *Host) Archive(ctx context.Context) error {
	_, err := do(h.c, ctx, Call{Op: OpArchive, ID: h.member()}, func(*record, Fault) asking[none] {
		return func(*wait) (none, error) {
			h.wipe()
			return none{}, nil
		}
	})
	return err
}

// Wipe loses the data directory, and with it the server that ran on it.
func (h *Host) Wipe() { h.c.change(h.wipe) }

func (h *Host) wipe() {
	h.end()
	h.data, h.damage = nil, ""
}

// Damage lets the data directory hold something unreadable.
func (h *Host) Damage(reason string) {
	h.c.change(func() {
		h.wipe()
		h.damage = reason
	})
}

// SetData lets the data directory be that of a member of a cluster, this one's or
// another's.
func (h *Host) SetData(fake, id cluster.ID) {
	h.c.change(func() {
		h.wipe()
		h.data = &data{cluster: fake, id: id}
	})
}

// SetVersion says which etcd the host's servers run, from now on.
func (h *Host) SetVersion(v string) {
	h.c.change(func() { h.version = version.MustParse(v) })
}
