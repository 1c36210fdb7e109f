// Package clustertest is an in-memory etcd cluster that implements
// [member.Client], for unit tests of whatever joins members: an installer, an
// operator, a program of one's own.
//
//	cluster := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
//	host := cluster.Host("http://d:2380")
//	joiner, err := learner.NewJoiner(cluster, "m4", member.Config{Start: host.Start, Stop: host.Stop})
//
// It is a cluster, not a mock. It keeps a raft log with an index, the members
// with their roles and names, what each server has received and applied, and who
// leads; and it answers, refuses, waits and loses quorum as etcd does, with
// etcd's error values, by the version each server runs. A test says what happens
// to the machines ([Cluster.Kill], [Cluster.Pause], [Cluster.CutPeer],
// [Cluster.Lag], [Host.Wipe], …) or to single calls ([Cluster.Fault]), and then
// asks what was done ([Cluster.Calls], [Cluster.Writes]) and whether the cluster
// came through it ([Cluster.HasQuorum], [Cluster.QuorumLost],
// [Cluster.VotesGivenToDead]).
//
// Time is time.Now. Nothing runs in the background: the state is brought up to
// the present whenever it is asked for, and a waiting call waits on a timer, its
// context or another call. So the cluster works under testing/synctest, where a
// seven-second timeout costs nothing; make it inside the bubble that uses it. All
// methods may be called concurrently.
//
// What it does not have: keys and values (entries are only counted), partitions
// other than members cut off one by one, limits and rules that differ from server
// to server, and auth but for [Cluster.Deny]. The conformance suite of module
// etcdtest holds it to real servers; where the two differ this one is wrong.
package clustertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/version"
)

// ClusterID is the cluster ID of every [Cluster].
const ClusterID cluster.ID = 0xc1

const (
	startIndex     = 10 // of the raft log of a new cluster
	longAgo        = -1 * time.Hour
	defaultVersion = "3.6.16" // of every server until SetVersion
)

// Cluster is an in-memory etcd cluster. Make one with [New].
type Cluster struct {
	// Timing is how long things take. Set it before the first call.
	Timing Timing

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, whenever the state has moved
	dirty   bool          // the state was changed since react
	now     time.Time     // the moment that the state is at
	events  []event

	raft
	nodes   []*node // the member list as committed
	removed map[cluster.ID]bool
	minted  map[string]cluster.ID // which ID a set of URLs got in which second
	nextID  cluster.ID
	history []view
	hosts   []*Host
	knobs   map[cluster.ID]*knobs

	options
	journal
	faults
	carriers
	witness
}

var _ cluster.Client = (*Cluster)(nil)

// options are the settings of the cluster as a whole.
type options struct {
	version         version.Version // of servers that nobody gave another
	limit           int             // --max-learners
	lenient         bool            // --strict-reconfig-check=false
	supervised      bool
	noPeerRead      bool
	snapshotJoin    bool
	dropUncommitted bool
	downgrading     bool
	own             []string // endpoints of the caller's own client; nil: the voters'
	routes          map[string]cluster.ID
	webs            map[string]Web // by address
	alarms          []alarm
}

// node is one entry of the member list, with what the leader knows of it.
type node struct {
	cluster.Member
	voter bool    // in raft; the list may say otherwise (etcd #21694)
	match float64 // the leader's Match: what it has received
	acked float64 // of that, what counts for a commit
	added time.Time
}

// New makes a cluster of voters with these peer URLs, one argument a member; a
// member's several URLs are separated by commas. The IDs are 1, 2, 3 …, the
// names m1, m2, m3 …; the client URLs are the same hosts with port 2379. All are
// started and have been connected for long, the first one leads, and later
// members get the next IDs.
func New(peerURLs ...string) *Cluster {
	c := &Cluster{
		Timing:   defaultTiming,
		changed:  make(chan struct{}),
		now:      time.Now(),
		raft:     raft{term: 2, last: startIndex, commit: startIndex},
		removed:  map[cluster.ID]bool{},
		minted:   map[string]cluster.ID{},
		knobs:    map[cluster.ID]*knobs{},
		options:  options{version: version.MustParse(defaultVersion), limit: 1, routes: map[string]cluster.ID{}, webs: map[string]Web{}},
		faults:   newFaults(),
		carriers: carriers{carried: map[*process]int{}, held: map[cluster.Carrier]time.Time{}},
	}
	for _, urls := range peerURLs {
		c.found(strings.Split(urls, ","))
	}
	if len(c.nodes) > 0 {
		c.leader, c.leading = c.nodes[0].ID, c.proc(c.nodes[0].ID)
	}
	c.remember()
	c.react()
	return c
}

// found adds one of the members that the cluster begins with.
func (c *Cluster) found(urls []string) {
	c.nextID++
	n := &node{
		Member: cluster.Member{
			ID: c.nextID, Name: fmt.Sprintf("m%d", c.nextID),
			PeerURLs: urls, ClientURLs: clientURLs(urls),
		},
		voter: true, match: startIndex, acked: startIndex, added: c.now.Add(longAgo),
	}
	c.nodes = append(c.nodes, n)
	c.run(n)
}

// run has a server run as n that has all data and serves.
func (c *Cluster) run(n *node) {
	h := c.host(n.PeerURLs)
	h.data = &data{id: n.ID, cluster: ClusterID, name: n.Name, progress: progress{log: c.last, applied: c.commit, bytes: entryBytes * c.last}}
	h.exit = nil
	h.proc = &process{
		host: h, id: n.ID, name: n.Name, started: c.now.Add(longAgo), linked: c.now.Add(longAgo),
		goal: c.last, serving: true, published: true,
	}
}

// Members is the member list as it is committed.
func (c *Cluster) Members() []cluster.Member {
	var list []cluster.Member
	c.with(func() { list = c.list() })
	return list
}

// Member is the entry with this ID as it is committed.
func (c *Cluster) Member(id cluster.ID) (cluster.Member, bool) {
	for _, m := range c.Members() {
		if m.ID == id {
			return m, true
		}
	}
	return cluster.Member{}, false
}

// Leader is the voter that leads now, 0 if none does.
func (c *Cluster) Leader() cluster.ID {
	var id cluster.ID
	c.with(func() { id = c.leader })
	return id
}

// Index is the committed raft index.
func (c *Cluster) Index() uint64 {
	var i uint64
	c.with(func() { i = uint64(c.commit) })
	return i
}

// list is a copy of the member list, by ID as etcd gives it.
func (c *Cluster) list() []cluster.Member {
	list := make([]cluster.Member, len(c.nodes))
	for i, n := range c.nodes {
		list[i] = clone(n.Member)
	}
	slices.SortFunc(list, func(a, b cluster.Member) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func (c *Cluster) node(id cluster.ID) *node {
	for _, n := range c.nodes {
		if n.ID == id {
			return n
		}
	}
	return nil
}

func clone(m cluster.Member) cluster.Member {
	m.PeerURLs = append([]string(nil), m.PeerURLs...)
	m.ClientURLs = append([]string(nil), m.ClientURLs...)
	return m
}

func cloneAll(list []cluster.Member) []cluster.Member {
	out := make([]cluster.Member, len(list))
	for i, m := range list {
		out[i] = clone(m)
	}
	return out
}
