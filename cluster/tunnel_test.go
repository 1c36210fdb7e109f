package cluster_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// A host that reaches its members by a tunnel dials an address that exists nowhere.
func TestMembersAreReachedByATunnel(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Etcd-Cluster-ID", "c1")
		_, _ = w.Write([]byte("[]"))
	}))
	defer s.Close()
	var dialled atomic.Int64
	tunnel := func(ctx context.Context, network, _ string) (net.Conn, error) {
		dialled.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}
	through := &http.Transport{DialContext: tunnel}
	defer through.CloseIdleConnections()
	for name, cfg := range map[string]cluster.ClientConfig{
		"a dialer":    {Dialer: tunnel},
		"a transport": {Transport: through},
	} {
		t.Run(name, func(t *testing.T) {
			before := dialled.Load()
			e := clientOf(t, cfg, deadURL(t))
			l, err := e.PeerMembers(within(t, 10*time.Second), cluster.Target{Member: cluster.Member{ID: 9, PeerURLs: []string{"http://member-9.nowhere.invalid:2380"}}})
			require.NoError(t, err)
			assert.EqualValues(t, 0xc1, l.ClusterID)
			assert.Greater(t, dialled.Load(), before)
		})
	}
}
