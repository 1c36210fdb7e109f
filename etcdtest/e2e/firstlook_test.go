package e2e_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// hungURL is where connections are accepted and nothing is ever said; it counts
// them.
func hungURL(t *testing.T) (url string, accepted *atomic.Int64) {
	t.Helper()
	return hungAt(t, "http://127.0.0.1:0")
}

func hungAt(t *testing.T, url string) (string, *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", strings.TrimPrefix(url, "http://"))
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

// deadURL is where nothing listens: the ports of a server that never runs.
func deadURL(c *etcdtest.Cluster) string { return c.NewServer("never").ClientURL }

// dial makes a client of its own.
func dial(t *testing.T, cfg clientv3.Config) *clientv3.Client {
	t.Helper()
	cfg.Logger = zap.NewNop()
	cli, err := clientv3.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cli.Close() })
	return cli
}

func TestAFirstLookAtDeadAndHungEndpointsTakesOneTimeout(t *testing.T) {
	t.Parallel()
	const timeout = time.Second
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"))
	leader := c.Leader()
	var live, stopped string
	for _, s := range c.Servers() {
		if s != leader && stopped == "" {
			s.Pause()
			stopped = s.ClientURL
		} else {
			live = s.ClientURL
		}
	}
	hung1, _ := hungURL(t)
	hung2, _ := hungURL(t)
	for name, endpoints := range map[string][]string{
		"the live one first": {live, stopped, deadURL(c), hung1, deadURL(c), hung2, deadURL(c)},
		"the live one last":  {hung1, deadURL(c), stopped, hung2, deadURL(c), deadURL(c), live},
	} {
		t.Run(name, func(t *testing.T) {
			cli := cluster.NewClient(dial(t, clientv3.Config{Endpoints: endpoints}), cluster.ClientConfig{EndpointTimeout: timeout})
			j, err := learner.NewJoiner(cli, "looker", member.Config{})
			require.NoError(t, err)
			begin := time.Now()
			plan, err := j.Plan(within(t, time.Minute), "http://127.0.0.1:1")
			took := time.Since(begin)
			require.NoError(t, err)
			t.Logf("the first look took %.2f endpoint timeouts", took.Seconds()/timeout.Seconds())
			assert.Less(t, took, 3*timeout)
			assert.Len(t, plan.Snapshot.Voters(), 3)
			assert.Len(t, plan.Snapshot.LiveVoters(), 2)
			assert.NotZero(t, plan.Snapshot.Leader)
		})
	}
}
