package kit

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// HungURL is where connections are accepted and nothing is ever said; it counts
// them.
func HungURL(t *testing.T) (url string, accepted *atomic.Int64) {
	t.Helper()
	return HungAt(t, "http://127.0.0.1:0")
}

func HungAt(t *testing.T, url string) (string, *atomic.Int64) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	accepted := new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	return "http://" + l.Addr().String(), accepted
}

// DeadURL is where nothing listens: the ports of a server that never runs.
func DeadURL(c *etcdtest.Cluster) string { return c.NewServer("never").ClientURL }

// Dial makes a client of its own.
func Dial(t *testing.T, cfg clientv3.Config) *clientv3.Client {
	t.Helper()
	cfg.Logger = zap.NewNop()
	cli, err := clientv3.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cli.Close() })
	return cli
}

// EnableAuth makes root and a user without any role, and turns auth on.
func EnableAuth(t *testing.T, c *etcdtest.Cluster) {
	t.Helper()
	cli, ctx := c.Client(), Within(t, 20*time.Second)
	for _, user := range []string{"root", "guest"} {
		_, err := cli.UserAdd(ctx, user, "secret of "+user)
		require.NoError(t, err)
	}
	_, err := cli.UserGrantRole(ctx, "root", "root")
	require.NoError(t, err)
	_, err = cli.AuthEnable(ctx)
	require.NoError(t, err)
}

func AsUser(t *testing.T, c *etcdtest.Cluster, user string) *clientv3.Client {
	t.Helper()
	return Dial(t, clientv3.Config{Endpoints: c.Endpoints(), Username: user, Password: "secret of " + user})
}
