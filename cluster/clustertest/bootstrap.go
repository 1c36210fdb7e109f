package clustertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// bootstrap is what a server does before it opens its ports. One with an empty
// data directory asks the other members who they are (E§2.4).
type bootstrap struct {
	c       *Cluster
	h       *Host
	spec    member.StartSpec
	resumes bool             // there is data: nobody is asked
	initial []cluster.Member // the server's own initial cluster, with IDs; nil until a peer has answered
	ends    time.Time        // when the peers have been asked
	gate    time.Time        // until when it waits for a peer's word on downgrades; zero: not yet
}

// check is what shows at once: the flags, and the list of a peer that answers.
func (b *bootstrap) check() *cluster.ExitError {
	entries, err := parseInitial(b.spec.InitialCluster)
	if err != nil {
		return fatal("%v", err)
	}
	own, ok := find(entries, b.spec.Name)
	switch {
	case b.h.damage != "":
		return fatal("failed to read the data directory: %s", b.h.damage)
	case !ok:
		return fatal("couldn't find local name %q in the initial cluster configuration", b.spec.Name)
	case !peerurl.SameSet(own.PeerURLs, b.spec.PeerURLs):
		return fatal("--initial-cluster has %s but missing from --initial-advertise-peer-urls=%s", b.spec.Name, strings.Join(b.spec.PeerURLs, ","))
	}
	hung, _ := b.askPeers()
	b.ends = b.c.now.Add(b.c.Timing.Boot + hung)
	if hung > 0 {
		return nil
	}
	return b.match()
}

// askPeers asks the others in the order of their URLs; the first answer wins, and
// it is that server's own list, perhaps a stale one.
func (b *bootstrap) askPeers() (hung time.Duration, list []cluster.Member) {
	entries, _ := parseInitial(b.spec.InitialCluster)
	for _, u := range peersOf(entries, b.spec.Name) {
		switch p := b.c.onPeerURL(u); {
		case p == nil:
		case b.reaches(p):
			return hung, b.c.viewOf(p)
		default:
			hung += peerPatience
		}
	}
	return hung, nil
}

func (b *bootstrap) reaches(p *process) bool {
	return p.up() && !b.c.knob(p.id).cut && !b.c.knob(b.spec.MemberID).cut
}

// match holds the initial cluster against the list of a peer.
func (b *bootstrap) match() *cluster.ExitError {
	_, list := b.askPeers()
	if list == nil {
		return fatal("cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs")
	}
	entries, _ := parseInitial(b.spec.InitialCluster)
	initial, exit := matchUp(entries, list)
	if exit == nil {
		exit = b.c.checkVersion(b.h, list)
	}
	b.initial = initial
	return exit
}

// step goes on with the bootstrap; it reports whether that has come to an end.
func (b *bootstrap) step() bool {
	c, p := b.c, b.h.proc
	switch {
	case c.now.Before(b.ends) || p.paused:
		return false
	case b.resumes:
		c.opened(p)
		return true
	case b.initial == nil:
		if exit := b.match(); exit != nil {
			b.h.proc, b.h.exit = nil, exit
			return true
		}
	}
	if b.gated() {
		return false
	}
	own, _ := find(b.initial, b.spec.Name)
	p.id, p.initial = own.ID, b.initial
	b.h.data = &data{cluster: ClusterID, id: p.id, name: b.spec.Name}
	if c.snapshotJoin {
		p.snap = &snapshot{}
	}
	c.opened(p)
	return true
}

// gated reports whether the server waits for a peer's word on whether a downgrade
// is under way: a linearizable read, which without a quorum takes seven seconds
// of each peer that runs.
func (b *bootstrap) gated() bool {
	c := b.c
	if !c.hostVersion(b.h).Can(version.ReadThroughPeer) {
		return false
	}
	wait := time.Duration(0)
	for _, n := range c.nodes {
		p := c.proc(n.ID)
		if !p.open() || !c.can(p, version.ReadThroughPeer) {
			continue
		}
		if b.reaches(p) && c.contact(p) && c.leads() {
			return false
		}
		wait += requestTimeout
	}
	if b.gate.IsZero() {
		b.gate = c.now.Add(wait)
		c.at(b.gate, nil)
	}
	return c.now.Before(b.gate)
}

func fatal(format string, args ...any) *cluster.ExitError {
	return &cluster.ExitError{Code: 1, Output: fmt.Sprintf(format, args...)}
}

// checkVersion is the gate by versions, and the count of learners.
func (c *Cluster) checkVersion(h *Host, list []cluster.Member) *cluster.ExitError {
	joiner, fake := c.hostVersion(h), c.clusterVersion()
	tooHigh := !joiner.AtLeast(fake) && !joiner.SameMinor(fake)
	if tooHigh || c.downgrading && joiner.SameMinor(fake) {
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

func (c *Cluster) hostVersion(h *Host) version.Version {
	if h.version.IsZero() {
		return c.version
	}
	return h.version
}

// clusterVersion is the lowest of the running servers', without the patch.
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

// matchUp gives each entry of the initial cluster the ID of the member that has
// its URLs. Names are not compared.
func matchUp(entries, list []cluster.Member) ([]cluster.Member, *cluster.ExitError) {
	if len(entries) != len(list) {
		return nil, fatal("error validating peerURLs: member count is unequal")
	}
	initial := cloneAll(entries)
	for _, m := range list {
		i := slices.IndexFunc(initial, func(e cluster.Member) bool {
			return e.ID == 0 && peerurl.SameSet(e.PeerURLs, m.PeerURLs)
		})
		if i < 0 {
			return nil, fatal("error validating peerURLs: PeerURLs: no match found for existing member (%s, %v)", m.ID, m.PeerURLs)
		}
		initial[i].ID = m.ID
	}
	return initial, nil
}

func find(entries []cluster.Member, name string) (cluster.Member, bool) {
	for _, e := range entries {
		if e.Name == name {
			return e, true
		}
	}
	return cluster.Member{}, false
}

// peersOf are the URLs of all entries but one, sorted.
func peersOf(entries []cluster.Member, name string) []string {
	var urls []string
	for _, e := range entries {
		if e.Name != name {
			urls = append(urls, e.PeerURLs...)
		}
	}
	slices.Sort(urls)
	return urls
}

// parseInitial reads --initial-cluster as etcd does: a name repeated for each of
// its URLs.
func parseInitial(flag string) ([]cluster.Member, error) {
	var entries []cluster.Member
	seen := map[string]bool{}
	for part := range strings.SplitSeq(flag, ",") {
		name, url, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || name == "" || url == "" {
			return nil, fmt.Errorf("invalid --initial-cluster: %q is not name=URL", part)
		}
		if seen[url] {
			return nil, fmt.Errorf("found duplicate url %s in initial cluster", url)
		}
		seen[url] = true
		i := slices.IndexFunc(entries, func(e cluster.Member) bool { return e.Name == name })
		if i < 0 {
			entries, i = append(entries, cluster.Member{Name: name}), len(entries)
		}
		entries[i].PeerURLs = append(entries[i].PeerURLs, url)
	}
	return entries, nil
}
