package cluster_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
)

func TestMetrics(t *testing.T) {
	const one, two = cluster.ID(0x8e9e05c52164694d), cluster.ID(2)
	for name, tc := range map[string]struct {
		body string
		want cluster.Metrics
	}{
		"a voter among others": {`# HELP etcd_server_id Server or member ID in hexadecimal format. 1 for the ID.
# TYPE etcd_server_id gauge
etcd_server_id{server_id="9"} 1
etcd_server_is_learner 0
etcd_server_proposals_applied_total 1.234567e+06
etcd_server_proposals_applied_total_of_others 1
etcd_network_peer_received_bytes_total{From="0"} 50
etcd_network_peer_received_bytes_total{From="8e9e05c52164694d"} 100
etcd_network_peer_received_bytes_total{From="2"} 2.5e+01
etcd_network_peer_sent_bytes_total{To="2"} 7
etcd_network_active_peers{Local="9",Remote="8e9e05c52164694d"} 2
etcd_network_active_peers{Local="9",Remote="2"} 0
etcd_network_active_peers{Local="9",Remote="what"} 1
etcd_network_disconnected_peers_total{Local="9",Remote="2"} 3
etcd_network_peer_round_trip_time_seconds_bucket{To="8e9e05c52164694d",le="0.0001"} 4
etcd_network_peer_round_trip_time_seconds_sum{To="8e9e05c52164694d"} 0.00288709
etcd_network_peer_round_trip_time_seconds_sum{To="2"} 0
`, cluster.Metrics{ServerID: 9, Applied: 1234567, Received: 175, Peers: map[cluster.ID]cluster.Peer{
			one: {Met: true, Active: true, Received: 100, RoundTrips: 0.00288709},
			two: {Met: true, Received: 25, Disconnected: 3},
		}}},
		"a learner":            {"etcd_server_id{server_id=\"8e9e05c52164694d\"} 1\netcd_server_is_learner 1\n", cluster.Metrics{ServerID: one, Learner: true}},
		"a snapshot arrives":   {"etcd_network_snapshot_receive_inflights_total{From=\"2\"} 1\n", cluster.Metrics{Receiving: true}},
		"it is being applied":  {"etcd_server_snapshot_apply_in_progress_total 1\n", cluster.Metrics{Receiving: true}},
		"snapshots that broke": {"etcd_network_snapshot_receive_failures{From=\"1\"} 2\netcd_network_snapshot_receive_failures{From=\"2\"} 1\n", cluster.Metrics{Failed: 3}},
		"heard but not met":    {"etcd_network_peer_received_bytes_total{From=\"2\"} 7\n", cluster.Metrics{Received: 7, Peers: map[cluster.ID]cluster.Peer{two: {Received: 7}}}},
		"a former connection": {"etcd_network_active_peers{Local=\"9\",Remote=\"2\"} 1\netcd_network_active_peers{Local=\"8\",Remote=\"2\"} 0\n",
			cluster.Metrics{Peers: map[cluster.ID]cluster.Peer{two: {Met: true, Active: true}}}},
		"labels with spaces":   {"etcd_network_peer_received_bytes_total{From=\"a b\"} 7\n", cluster.Metrics{Received: 7}},
		"numbers nobody reads": {"etcd_server_proposals_applied_total x\netcd_server_proposals_applied_total\n\n{} 1\n", cluster.Metrics{}},
		"nothing of etcd's":    {"go_goroutines 7\n", cluster.Metrics{}},
		"a page":               {"<html><body>etcd_server_id</body></html>", cluster.Metrics{}},
		"nothing":              {"", cluster.Metrics{}},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := listen(t, map[string]http.HandlerFunc{"/metrics": says(200, "", tc.body)})
			e := clientOf(t, cluster.ClientConfig{}, deadURL(t))
			for way, at := range map[string]cluster.Target{
				"metrics URL":  {Member: cluster.Member{ID: 9, ClientURLs: []string{deadURL(t)}}, MetricsURL: url},
				"with a slash": {Member: cluster.Member{ID: 9}, MetricsURL: url + "/"},
				"client URL":   {Member: cluster.Member{ID: 9, ClientURLs: []string{url}}},
			} {
				m, err := e.Metrics(within(t, 10*time.Second), at)
				require.NoError(t, err, way)
				assert.Equal(t, tc.want, m, way)
			}
		})
	}
	t.Run("none to ask", func(t *testing.T) {
		_, err := clientOf(t, cluster.ClientConfig{}, deadURL(t)).Metrics(within(t, 10*time.Second), cluster.Target{Member: cluster.Member{ID: 9}})
		require.ErrorIs(t, err, cluster.ErrUnreachable)
	})
}
