package etcdtest_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

func TestMetricsAreReadByNameAndLabels(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.5.35", "3.7.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(version))
			voter, node := cluster.Servers()[0], cluster.NewServer("node-2")
			joins(t, cluster, node)
			id, own := fmt.Sprintf("%x", node.MemberID()), fmt.Sprintf("%x", voter.MemberID())
			require.Eventually(t, func() bool {
				active, ok := voter.Metric("etcd_network_active_peers", "Remote", id)
				return ok && active == 1
			}, late, soon)
			leads, ok := voter.Metric("etcd_server_is_leader")
			assert.True(t, ok)
			assert.EqualValues(t, 1, leads)
			_, ok = voter.Metric("etcd_network_active_peers", "Remote", own)
			assert.False(t, ok, "of itself it counts nothing")
			_, ok = voter.Metric("etcd_no_such_metric")
			assert.False(t, ok)
			node.Kill()
			_, ok = node.Metric("etcd_server_is_leader")
			assert.False(t, ok)
		})
	}
}

func TestWhatAServerLogsIsWaitedForAndFound(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(process))
	s := cluster.Servers()[0]
	line, err := s.WaitLog(t.Context(), "ready to serve client requests")
	require.NoError(t, err)
	assert.Equal(t, line, s.LogLines("ready to serve client requests")[0])

	found := make(chan error, 1)
	go func() {
		_, err := s.WaitLog(t.Context(), "skipped leadership transfer")
		found <- err
	}()
	s.Stop()
	require.NoError(t, <-found)
	assert.Equal(t, 143, s.ExitCode())
	assert.NotContains(t, s.LastLines(1), "\n")
	assert.Empty(t, s.LogLines("what etcd never says"))

	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	_, err = s.WaitLog(ctx, "what etcd never says")
	assert.ErrorContains(t, err, "what etcd never says")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

// A copy of a member's data, forced to a cluster of its own: one cluster ID and
// two histories.
func TestACopyOfAMembersDataServesAsIt(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(process))
	_, err := cluster.Client().Put(t.Context(), "k", "before")
	require.NoError(t, err)
	voter := cluster.Servers()[0]
	voter.Stop()
	fork := cluster.NewServer(voter.Name)
	fork.CopyData(voter)
	require.NoError(t, voter.Start(""))
	require.NoError(t, voter.WaitServing(t.Context()))
	require.NoError(t, fork.StartArgs(fork.Name+"="+fork.PeerURL, "--force-new-cluster"))
	require.NoError(t, fork.WaitServing(t.Context()))

	one, err := cluster.ClientFor(voter).Get(t.Context(), "k")
	require.NoError(t, err)
	two, err := cluster.ClientFor(fork).Get(t.Context(), "k")
	require.NoError(t, err)
	assert.Equal(t, one.Header.ClusterId, two.Header.ClusterId)
	require.Len(t, two.Kvs, 1)
}

func TestCertificatesThatDoNotFit(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithTLS(), etcdtest.WithVersion(process))
	s := cluster.Servers()[0]
	for name, tc := range map[string]struct {
		change func(*x509.Certificate)
		status int
	}{
		"unchanged":     {func(*x509.Certificate) {}, http.StatusOK},
		"not valid yet": {func(x *x509.Certificate) { x.NotBefore = time.Now().Add(time.Hour) }, 0},
		"expired":       {func(x *x509.Certificate) { x.NotAfter = time.Now().Add(-time.Minute) }, 0},
	} {
		conf, err := cluster.IssueClient(tc.change).Config()
		require.NoError(t, err)
		assert.Equal(t, tc.status, get(t, conf, s.ClientURL+"/version"), name)
	}

	node := cluster.NewServer("node-2")
	cluster.AddLearner(node)
	elsewhere := cluster.IssuePeer(func(x *x509.Certificate) { x.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)} })
	require.NoError(t, node.StartArgs(cluster.InitialCluster(node), elsewhere.PeerFlags()...))
	_, err := s.WaitLog(t.Context(), "192.0.2.1") // the voter says whose it is
	assert.NoError(t, err)
}

func TestWithoutTLSNothingIsIssued(t *testing.T) {
	assert.Contains(t, fatal(func(tb testing.TB) { etcdtest.Start(tb, 1).IssuePeer(func(*x509.Certificate) {}) }), "no authorities")
}
