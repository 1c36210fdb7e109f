package etcdtest_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// listed is the server's entry in the member list.
func listed(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server) *pb.Member {
	t.Helper()
	id := s.MemberID()
	list, err := c.Client().MemberList(t.Context())
	require.NoError(t, err)
	for _, m := range list.Members {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// joins adds the server as a learner and waits until it serves.
func joins(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server) {
	t.Helper()
	c.AddLearner(s)
	require.NoError(t, s.Start(c.InitialCluster(s)))
	require.NoError(t, s.WaitServing(t.Context()))
}

func host(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	return u.Hostname()
}

func TestServersListenWhereTheyAreTold(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"::1", "127.0.0.2", "localhost"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			if lis, err := net.Listen("tcp", net.JoinHostPort(at, "0")); err != nil {
				t.Skipf("this machine has no %s: %v", at, err)
			} else {
				lis.Close()
			}
			if at == "127.0.0.2" && runtime.GOOS != "linux" {
				t.Skip("only Linux has all of 127.0.0.0/8")
			}
			ofEach(t, func(t *testing.T, version string) {
				cluster := etcdtest.Start(t, 1, etcdtest.WithHost(at), etcdtest.WithTLS(), etcdtest.WithLinks(), etcdtest.WithVersion(version))
				other := cluster.NewServer("node-2", etcdtest.WithHost("127.0.0.1"))
				joins(t, cluster, other)
				voter := cluster.Servers()[0]
				for _, u := range []string{voter.PeerURL, voter.ListenPeerURL, voter.ClientURL, voter.MetricsURL} {
					assert.Equal(t, at, host(t, u))
				}
				assert.Equal(t, []string{voter.ClientURL}, listed(t, cluster, voter).ClientURLs)
				assert.Equal(t, "127.0.0.1", host(t, other.PeerURL))
				assert.Equal(t, http.StatusOK, get(t, nil, voter.MetricsURL+"/health"))
			})
		})
	}
}

func TestTheListSaysOtherURLsThanTheServersOwn(t *testing.T) {
	t.Parallel()
	ofEach(t, func(t *testing.T, version string) {
		dead, silent := etcdtest.NewLink(t, ""), etcdtest.NewLink(t, "")
		dead.Refuse()
		silent.Drop()
		cluster := etcdtest.Start(t, 2, etcdtest.WithVersion(version),
			etcdtest.WithClientURLs(func(own string) []string { return []string{dead.URL(), own} }),
			etcdtest.ForVoter(2, etcdtest.WithPeerURLs(func(own string) []string {
				return []string{strings.Replace(own, "127.0.0.1", "localhost", 1), own}
			})))
		one, two := cluster.Servers()[0], cluster.Servers()[1]
		assert.ElementsMatch(t, []string{dead.URL(), one.ClientURL}, listed(t, cluster, one).ClientURLs)
		assert.Equal(t, []string{one.PeerURL}, listed(t, cluster, one).PeerURLs)
		assert.ElementsMatch(t, two.PeerURLs(), listed(t, cluster, two).PeerURLs)
		assert.Len(t, two.PeerURLs(), 2)

		node := cluster.NewServer("node-3", etcdtest.WithPeerURLs(func(own string) []string { return []string{own, silent.URL()} }))
		joins(t, cluster, node)
		assert.ElementsMatch(t, []string{node.PeerURL, silent.URL()}, listed(t, cluster, node).PeerURLs)
		assert.Equal(t, []string{dead.URL(), node.ClientURL}, node.ClientURLs(), "inherited")
	})
}

func TestSchemesAreEachServersOwn(t *testing.T) {
	t.Parallel()
	ofEach(t, func(t *testing.T, version string) {
		cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(version), etcdtest.WithSchemes("http", "https"))
		voter := cluster.Servers()[0]
		assert.Equal(t, http.StatusOK, get(t, nil, voter.ClientURL+"/version"))
		assert.Equal(t, http.StatusOK, get(t, cluster.PeerTLS(), voter.PeerURL+"/version"))

		// A joiner of plain peers does not know the voters' authority.
		plain := cluster.NewServer("node-2", etcdtest.WithSchemes("https", "http"))
		assert.True(t, strings.HasPrefix(plain.PeerURL, "http://"))
		assert.True(t, strings.HasPrefix(plain.ClientURL, "https://"))
		cluster.AddLearner(plain)
		require.NoError(t, plain.Start(cluster.InitialCluster(plain)))
		ended(t, plain)
	})
}

func TestPlainVotersAndAJoinerOfTLS(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion("3.5.35"))
	assert.Nil(t, cluster.PeerTLS())
	node := cluster.NewServer("node-2", etcdtest.WithTLS())
	joins(t, cluster, node) // it dials the voter, which cannot dial it
	assert.Equal(t, http.StatusOK, get(t, cluster.PeerTLS(), node.PeerURL+"/version"))
	assert.Zero(t, get(t, &tls.Config{}, node.PeerURL+"/version"))
}
