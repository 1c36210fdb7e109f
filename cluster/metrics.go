package cluster

import (
	"context"
	"strconv"
	"strings"
)

// Metrics is what a member exports, before it serves too. It counts only for the
// member that ServerID names.
type Metrics struct {
	ServerID  ID          // whose they are; 0: they do not tell
	Learner   bool        // raft has it as a learner. False proves nothing: so it is after a snapshot, too
	Applied   uint64      // etcd_server_proposals_applied_total; the snapshot's index counts
	Received  uint64      // bytes of peer traffic received, heartbeats too
	Receiving bool        // a snapshot is arriving or being applied
	Failed    uint64      // snapshots that did not arrive whole
	Peers     map[ID]Peer // what it tells of each peer it has met
}

// Peer is what a member exports of another one.
type Peer struct {
	Met          bool    // there has ever been a connection: without it Active is no answer
	Active       bool    // there is one, by whoever dialled
	Disconnected uint64  // how often connections to it were lost
	Received     uint64  // bytes that came from it
	RoundTrips   float64 // seconds, in all, of the round trips that this member's own dials made
}

// Metrics implements [Client].
func (e *EtcdClient) Metrics(ctx context.Context, at Target) (Metrics, error) {
	from := e.endpoints(at)
	if at.MetricsURL != "" {
		from = []string{at.MetricsURL}
	}
	return first(ctx, from, func(ctx context.Context, url string) (Metrics, error) {
		_, body, err := get(ctx, e.plain, url, "/metrics")
		return parseMetrics(string(body)), err
	})
}

// parseMetrics picks the few samples that a join needs out of an exposition.
func parseMetrics(exposition string) Metrics {
	var m Metrics
	for line := range strings.Lines(exposition) {
		name, labels, value, ok := sample(line)
		if !ok {
			continue
		}
		switch name {
		case "etcd_server_id":
			m.ServerID = idIn(labels, "server_id")
		case "etcd_server_is_learner":
			m.Learner = value > 0
		case "etcd_server_proposals_applied_total":
			m.Applied = uint64(value)
		case "etcd_network_snapshot_receive_inflights_total", "etcd_server_snapshot_apply_in_progress_total":
			m.Receiving = m.Receiving || value > 0
		case "etcd_network_snapshot_receive_failures":
			m.Failed += uint64(value)
		default:
			m.ofPeer(name, labels, value)
		}
	}
	return m
}

// ofPeer takes up a sample that is about a peer. A peer may have had several
// connections; one that is active decides.
func (m *Metrics) ofPeer(name, labels string, value float64) {
	switch name {
	case "etcd_network_peer_received_bytes_total":
		m.Received += uint64(value)
		m.peer(idIn(labels, "From"), func(p *Peer) { p.Received += uint64(value) })
	case "etcd_network_active_peers":
		m.peer(idIn(labels, "Remote"), func(p *Peer) { p.Met, p.Active = true, p.Active || value > 0 })
	case "etcd_network_disconnected_peers_total":
		m.peer(idIn(labels, "Remote"), func(p *Peer) { p.Disconnected += uint64(value) })
	case "etcd_network_peer_round_trip_time_seconds_sum":
		m.peer(idIn(labels, "To"), func(p *Peer) { p.RoundTrips += value })
	}
}

// peer changes what is known of a peer; connections that are not made yet have the
// peer 0, which is nobody.
func (m *Metrics) peer(id ID, change func(*Peer)) {
	if id == 0 {
		return
	}
	if m.Peers == nil {
		m.Peers = map[ID]Peer{}
	}
	p := m.Peers[id]
	change(&p)
	m.Peers[id] = p
}

// idIn is the ID in a label of labels such as Local="8e9e…",Remote="fd42…"}; 0 if
// there is none.
func idIn(labels, label string) ID {
	_, rest, _ := strings.Cut(labels, label+`="`)
	hex, _, found := strings.Cut(rest, `"`)
	var id ID
	if !found || id.UnmarshalText([]byte(hex)) != nil {
		return 0
	}
	return id
}

// sample is one line of an exposition: name{label="x"} value.
func sample(line string) (name, labels string, value float64, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 2 || strings.HasPrefix(line, "#") {
		return "", "", 0, false
	}
	value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
	name, labels, _ = strings.Cut(fields[0], "{")
	return name, labels, value, err == nil
}
