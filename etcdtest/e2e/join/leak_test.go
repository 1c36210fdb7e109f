package join_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// Not parallel: goleak sees the goroutines of the whole process.
func TestNoGoroutineIsLeftBehind(t *testing.T) {
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	good, dead := c.NewServer("good"), c.NewServer("dead")
	others := goleak.IgnoreCurrent()

	cli, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	require.NoError(t, err)
	client := cluster.NewClient(cli, cluster.ClientConfig{})
	for _, tc := range []struct {
		s     *etcdtest.Server
		start func(context.Context, member.StartSpec) error
		fails bool
	}{{good, kit.StartHook(good), false}, {dead, nil, true}} {
		j, err := learner.NewJoiner(client, tc.s.Name, member.Config{Start: tc.start, StallTimeout: 2 * time.Second})
		require.NoError(t, err)
		_, err = j.Join(kit.Within(t, time.Minute), tc.s.PeerURL)
		require.Equal(t, tc.fails, err != nil, err)
	}
	require.NoError(t, cli.Close()) // ends the library's client too
	good.Kill()                     // the test kit watches what runs
	goleak.VerifyNone(t, others)
}
