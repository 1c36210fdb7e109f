package membertest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// peerPatience is how long a starting server waits for a peer that accepts its
// connection and does not answer.
const peerPatience = 10 * time.Second

// Start fits [member.Config]: it starts a server on the host with the spec's peer
// URLs. See [Host.Start].
func (c *Cluster) Start(ctx context.Context, spec member.StartSpec) error {
	return c.Host(spec.PeerURLs...).Start(ctx, spec)
}

func (c *Cluster) start(ctx context.Context, h *Host, spec member.StartSpec) error {
	call := Call{Op: OpStart, ID: spec.MemberID, URLs: slices.Clone(spec.PeerURLs), Name: spec.Name}
	_, err := do(c, ctx, call, func(*record, Fault) asking[none] {
		b := &bootstrap{c: c, h: h, spec: spec}
		return b.step
	})
	return err
}

// bootstrap is one start of a server.
type bootstrap struct {
	c     *Cluster
	h     *Host
	spec  member.StartSpec
	until time.Time // while a peer hangs
}

func (b *bootstrap) step(w *wait) (none, error) {
	c, h := b.c, b.h
	switch {
	case h.proc != nil && h.proc.id == b.spec.MemberID:
		return none{}, nil
	case h.data != nil:
		b.resume()
		return none{}, nil
	case b.until.IsZero():
		b.until = c.now.Add(c.hungPeers(b.spec))
	}
	if c.now.Before(b.until) {
		w.until(b.until)
		return none{}, errWait
	}
	h.end()
	initial, exit := c.checkStart(h, b.spec)
	if exit != nil {
		h.exit = exit
		return none{}, exit
	}
	b.begin(initial)
	return none{}, nil
}

// begin starts a new member: it has nothing yet.
func (b *bootstrap) begin(initial []member.Member) {
	id := initial[len(initial)-1].ID
	b.h.data = &data{cluster: ClusterID, id: id, name: b.spec.Name}
	p := b.c.spawn(b.h)
	p.initial = initial
	if b.c.snapshotJoin {
		p.snap = &snapshot{}
	}
}

// resume starts a server on the data that is there; most flags no longer count.
func (b *bootstrap) resume() {
	b.h.end()
	if b.spec.Name != "" {
		b.h.data.name = b.spec.Name
	}
	b.c.spawn(b.h)
}

// spawn runs a server on the data of h.
func (c *Cluster) spawn(h *Host) *process {
	p := &process{host: h, id: h.data.id, name: h.data.name, started: c.now, linked: c.now, goal: c.last}
	h.proc, h.exit = p, nil
	c.dirty = true
	c.relink(p)
	c.after(c.Timing.Publish, nil)
	c.after(c.Timing.Serve, nil)
	c.after(silentWindow, nil)
	switch {
	case h.data.cluster != ClusterID:
		// It runs on, among members of another cluster that are not there.
	case c.removed[p.id]:
		c.expel(p)
	case c.version.IsZero() || c.clusterVersion().IsZero():
	case c.tooNew(h):
		c.doom(p, doomedDelay, 2, "panic: unmarshal should never fail")
	}
	return p
}

// expel lets a server learn that its member was removed.
func (c *Cluster) expel(p *process) {
	c.doom(p, removedDelay, 0, "the member has been permanently removed from the cluster")
}

// tooNew reports the one pair that passes the version gate and cannot read the
// older entries (E§4.5).
func (c *Cluster) tooNew(h *Host) bool {
	joiner, cluster := c.hostVersion(h), c.clusterVersion()
	return joiner.AtLeast(version.MustParse("3.7.0-alpha.0")) && !cluster.AtLeast(version.MustParse("3.6.0-alpha.0"))
}

func (c *Cluster) hostVersion(h *Host) version.Version {
	if h.version.IsZero() {
		return c.version
	}
	return h.version
}

// clusterVersion is the lowest of the servers', without the patch.
func (c *Cluster) clusterVersion() version.Version {
	var vs []version.Version
	for _, n := range c.nodes {
		if p := c.proc(n.ID); p != nil && p.published {
			vs = append(vs, c.versionOf(p))
		}
	}
	low := version.Lowest(vs...)
	if low.IsZero() {
		return low
	}
	return version.MustParse(fmt.Sprintf("%d.%d.0", low.Major(), low.Minor()))
}

// hungPeers is how long the start waits for peers that do not answer.
func (c *Cluster) hungPeers(spec member.StartSpec) time.Duration {
	var d time.Duration
	entries, err := parseInitial(spec.InitialCluster)
	if err != nil {
		return 0
	}
	for _, u := range peersOf(entries, spec.Name) {
		p := c.onPeerURL(u)
		if p.up() {
			break
		}
		if p != nil {
			d += peerPatience
		}
	}
	return d
}

// checkStart is what a server with an empty data directory checks (E§2.4, E§3.8).
// It returns the server's own initial cluster, with itself last.
func (c *Cluster) checkStart(h *Host, spec member.StartSpec) ([]member.Member, *member.ExitError) {
	entries, err := parseInitial(spec.InitialCluster)
	if err != nil {
		return nil, fatal("%v", err)
	}
	own, ok := find(entries, spec.Name)
	if !ok {
		return nil, fatal("couldn't find local name %q in the initial cluster configuration", spec.Name)
	}
	if !peerurl.SameSet(own.PeerURLs, spec.PeerURLs) {
		return nil, fatal("--initial-cluster has %s but missing from --initial-advertise-peer-urls=%s", spec.Name, strings.Join(spec.PeerURLs, ","))
	}
	list, exit := c.askPeers(entries, spec.Name)
	if exit != nil {
		return nil, exit
	}
	if exit := c.checkVersion(h, list); exit != nil {
		return nil, exit
	}
	return matchUp(entries, list, spec.Name)
}

func fatal(format string, args ...any) *member.ExitError {
	return &member.ExitError{Code: 1, Output: fmt.Sprintf(format, args...)}
}

// askPeers asks the others in the order of their URLs; the first answer wins, and
// it is that server's own list, perhaps a stale one.
func (c *Cluster) askPeers(entries []member.Member, name string) ([]member.Member, *member.ExitError) {
	for _, u := range peersOf(entries, name) {
		if p := c.onPeerURL(u); p.up() {
			return c.viewOf(p), nil
		}
	}
	return nil, fatal("cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs")
}

func peersOf(entries []member.Member, name string) []string {
	var urls []string
	for _, e := range entries {
		if e.Name != name {
			urls = append(urls, e.PeerURLs...)
		}
	}
	slices.Sort(urls)
	return urls
}

func (c *Cluster) checkVersion(h *Host, list []member.Member) *member.ExitError {
	joiner, cluster := c.hostVersion(h), c.clusterVersion()
	tooHigh := !joiner.AtLeast(cluster) && !joiner.SameMinor(cluster)
	if tooHigh || c.downgrading && joiner.SameMinor(cluster) {
		return fatal("incompatible with current running cluster")
	}
	learners := 0
	for _, m := range list {
		if m.Learner {
			learners++
		}
	}
	if joiner.Can(version.CountsLearnersAtStart) && learners > c.limit {
		return fatal("membership: too many learner members in cluster")
	}
	return nil
}

// matchUp gives each entry of the initial cluster the ID of the member that has
// its URLs.
func matchUp(entries, list []member.Member, name string) ([]member.Member, *member.ExitError) {
	if len(entries) != len(list) {
		return nil, fatal("error validating peerURLs: member count is unequal")
	}
	initial := cloneAll(entries)
	for _, m := range list {
		i := slices.IndexFunc(initial, func(e member.Member) bool { return e.ID == 0 && peerurl.SameSet(e.PeerURLs, m.PeerURLs) })
		if i < 0 {
			return nil, fatal("error validating peerURLs: PeerURLs: no match found for existing member (%s, %v)", m.ID, m.PeerURLs)
		}
		initial[i].ID = m.ID
	}
	slices.SortStableFunc(initial, func(a, b member.Member) int { return cmp.Compare(btoi(a.Name == name), btoi(b.Name == name)) })
	return initial, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func find(entries []member.Member, name string) (member.Member, bool) {
	for _, e := range entries {
		if e.Name == name {
			return e, true
		}
	}
	return member.Member{}, false
}

// parseInitial reads --initial-cluster as etcd does: a name repeated for each of
// its URLs.
func parseInitial(flag string) ([]member.Member, error) {
	var entries []member.Member
	seen := map[string]bool{}
	for _, part := range strings.Split(flag, ",") {
		name, url, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || name == "" || url == "" {
			return nil, fmt.Errorf("invalid --initial-cluster: %q is not name=URL", part)
		}
		if seen[url] {
			return nil, fmt.Errorf("found duplicate url %s in initial cluster", url)
		}
		seen[url] = true
		i := slices.IndexFunc(entries, func(e member.Member) bool { return e.Name == name })
		if i < 0 {
			entries, i = append(entries, member.Member{Name: name}), len(entries)
		}
		entries[i].PeerURLs = append(entries[i].PeerURLs, url)
	}
	return entries, nil
}
