package etcdtest_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// process is the version for tests of processes; the embedded one's own.
const process = "3.7.3"

func TestAFreshClusterTakesWrites(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]etcdtest.Option{
		"embedded":      nil,
		"embedded, TLS": {etcdtest.WithTLS()},
		"process":       {etcdtest.WithVersion(process)},
		"process, TLS":  {etcdtest.WithVersion(process), etcdtest.WithTLS()},
	} {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d", name, n), func(t *testing.T) {
				t.Parallel()
				cluster := etcdtest.Start(t, n, opts...)
				require.Len(t, cluster.Servers(), n)
				list, err := cluster.Client().MemberList(t.Context())
				require.NoError(t, err)
				assert.Len(t, list.Members, n)
				for _, s := range cluster.Servers() {
					_, err := cluster.ClientFor(s).Put(t.Context(), "k", s.Name)
					assert.NoError(t, err, s.Name)
					assert.Equal(t, http.StatusOK, get(t, nil, s.MetricsURL+"/health"), s.Name)
				}
			})
		}
	}
}

func TestTLSWantsTheRightCertificateOnEachPort(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithTLS())
	s := cluster.Servers()[0]
	assert.Equal(t, http.StatusOK, get(t, cluster.ClientTLS(), s.ClientURL+"/version"))
	assert.Equal(t, http.StatusOK, get(t, cluster.PeerTLS(), s.PeerURL+"/version"))
	for name, conf := range map[string]*tls.Config{
		"a stranger's": cluster.WrongTLS(),
		"none":         {RootCAs: cluster.WrongTLS().RootCAs},
	} {
		assert.Zero(t, get(t, conf, s.ClientURL+"/version"), "client port, %s", name)
		assert.Zero(t, get(t, conf, s.PeerURL+"/version"), "peer port, %s", name)
	}
	assert.Zero(t, get(t, cluster.PeerTLS(), s.ClientURL+"/version"), "the peers' on the client port")
}

func TestAClientWithAWrongCertificateGetsNoAnswer(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithTLS())
	cli, err := clientv3.New(clientv3.Config{Endpoints: cluster.Endpoints(), TLS: cluster.WrongTLS(), Logger: zap.NewNop()})
	require.NoError(t, err)
	defer cli.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = cli.Get(ctx, "k")
	assert.Error(t, err)
}

func TestFilesHoldWhatTheConfigurationsDo(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithTLS())
	client, peer := cluster.Files()
	for _, f := range []etcdtest.TLSFiles{client, peer} {
		_, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		assert.NoError(t, err)
		assert.FileExists(t, f.CA)
	}
	assert.NotEqual(t, client, peer)
}

func TestSettingsReachTheServer(t *testing.T) {
	t.Parallel()
	const quota = 3 << 20
	for name, opts := range map[string][]etcdtest.Option{
		"embedded":            {etcdtest.WithConfig(func(c *embed.Config) { c.QuotaBackendBytes = quota })},
		"process":             {etcdtest.WithArgs(fmt.Sprintf("--quota-backend-bytes=%d", quota)), etcdtest.WithVersion(process)},
		"embedded, WithQuota": {etcdtest.WithQuota(quota)},
		"process, WithQuota":  {etcdtest.WithQuota(quota), etcdtest.WithVersion(process)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := append(opts, etcdtest.WithFsync())
			cluster := etcdtest.Start(t, 1, opts...)
			status, err := cluster.Client().Status(t.Context(), cluster.Endpoints()[0])
			require.NoError(t, err)
			assert.EqualValues(t, quota, status.DbSizeQuota)
		})
	}
}

func TestClientIsTheSameAtEachCall(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1)
	assert.Same(t, cluster.Client(), cluster.Client())
	assert.NotSame(t, cluster.Client(), cluster.ClientFor(cluster.Servers()...))
}

func TestTheLeaderIsFoundAgainAfterItsEnd(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3)
	first := cluster.Leader()
	first.Kill()
	assert.NotEqual(t, first.Name, cluster.Leader().Name)
}

// get is the status code of an answer, 0 if there was none.
func get(t *testing.T, conf *tls.Config, url string) int {
	t.Helper()
	client := http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true},
	}
	resp, err := client.Get(url)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
