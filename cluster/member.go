package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Member is one entry of a cluster's member list.
type Member struct {
	ID         ID       `json:"id"`
	Name       string   `json:"name,omitempty"` // empty until the server has published itself
	PeerURLs   []string `json:"peerURLs,omitempty"`
	ClientURLs []string `json:"clientURLs,omitempty"`
	Learner    bool     `json:"learner,omitempty"` // in the list, without a vote
}

// Started reports whether a server has ever run as this entry: it publishes its
// name when it does. It says nothing of now, nor that any data has arrived.
func (m Member) Started() bool { return m.Name != "" }

// Role is "learner" or "voter".
func (m Member) Role() string {
	if m.Learner {
		return "learner"
	}
	return "voter"
}

// String names the member for a person: role, ID, name and peer URLs.
func (m Member) String() string {
	name := m.Name
	if name == "" {
		name = "never started"
	}
	return fmt.Sprintf("%s %s (%s, %s)", m.Role(), m.ID, name, reason.Shown(strings.Join(m.PeerURLs, ",")))
}

// Redacted is m as an event may show it.
func (m Member) Redacted() *Member {
	m.PeerURLs, m.ClientURLs = slices.Clone(m.PeerURLs), slices.Clone(m.ClientURLs)
	for _, urls := range [][]string{m.PeerURLs, m.ClientURLs} {
		for i, u := range urls {
			urls[i] = reason.Shown(u)
		}
	}
	return &m
}

// Target is a member and where it is to be dialled. The zero Target stands for the
// endpoints of the caller's own client, one with nothing but ClientURLs for some of them.
type Target struct {
	Member
	ClusterID  ID     // that it is a member of; 0: not known, then of any
	MetricsURL string // of --listen-metrics-urls, where it is known
}

// Own reports whether t stands for the endpoints of the caller's own client.
func (t Target) Own() bool { return t.ID == 0 }

// String names whom a request went to.
func (t Target) String() string {
	if t.Own() {
		return "the caller's endpoints"
	}
	return "member " + t.ID.String()
}

// List is a member list as one server answered it.
type List struct {
	ClusterID ID
	By        ID // the server that answered
	Members   []Member
}

// Status is what one server says of itself.
type Status struct {
	ID          ID       `json:"id"` // the server that answered, by its own word
	ClusterID   ID       `json:"clusterID"`
	Version     string   `json:"version"`
	Leader      ID       `json:"leader,omitempty"` // 0: it knows none
	Term        uint64   `json:"term"`
	Index       uint64   `json:"index"`   // committed, as far as it knows
	Applied     uint64   `json:"applied"` // 0 below 3.4
	DBSize      int64    `json:"dbSize"`  // bytes
	Learner     bool     `json:"learner,omitempty"`
	Errors      []string `json:"errors,omitempty"`      // alarms, "no leader"
	Downgrading bool     `json:"downgrading,omitempty"` // 3.6 and later
}

// ReadAnswer is one linearizable read that a member has answered: its process
// runs, it is in contact with the leader, and it has applied all that was
// committed when it was asked.
type ReadAnswer struct {
	ClusterID   ID     // 0 where the way it was asked does not tell
	Way         string // "peer", "metrics", "client" or "hook"
	URL         string // where it was asked; empty for a hook
	Conn        string // as [Answer]'s
	Downgrading bool   // a downgrade of the cluster is under way; "peer" only
}
