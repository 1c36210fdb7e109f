package etcdtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

func TestWritersLoseNothingWhenALeaderIsKilled(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.WithVersion(process))
	writers := cluster.WritersEvery(4, time.Millisecond)
	time.Sleep(200 * time.Millisecond) // writes before, during and after
	killed := cluster.Leader()
	killed.Kill()
	cluster.Leader()
	require.NoError(t, killed.Start(""))
	require.NoError(t, killed.WaitServing(t.Context()))

	report, err := writers.Check(t.Context())
	require.NoError(t, err)
	t.Log(report)
	assert.Positive(t, report.Acknowledged)
	assert.Zero(t, report.Lost)
	assert.Greater(t, report.LongestStall, 100*time.Millisecond, "an election takes longer")
	assert.Len(t, writers.History(), report.Acknowledged+report.Failed)
}

func TestALostWriteIsFound(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1)
	writers := cluster.Writers(2)
	time.Sleep(100 * time.Millisecond)
	history := writers.History()
	require.NotEmpty(t, history)
	require.NoError(t, history[0].Err)
	_, err := cluster.Client().Delete(t.Context(), history[0].Key)
	require.NoError(t, err)

	report, err := writers.Check(t.Context())
	assert.ErrorContains(t, err, history[0].Key)
	assert.Equal(t, 1, report.Lost)
	assert.Equal(t, len(history), report.Acknowledged)
}

func TestPreload(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1)
	cli := cluster.Client()
	cluster.PutSmall(1000)
	resp, err := cli.Get(t.Context(), "etcdtest/small/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	require.NoError(t, err)
	assert.EqualValues(t, 1024, resp.Count, "whole transactions")

	cluster.PutMiB(1)
	resp, err = cli.Get(t.Context(), "etcdtest/big/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	require.NoError(t, err)
	assert.EqualValues(t, 64, resp.Count)

	cluster.PutIndex(3000)
	status, err := cli.Status(t.Context(), cluster.Endpoints()[0])
	require.NoError(t, err)
	assert.GreaterOrEqual(t, status.RaftIndex, uint64(3000))
	cluster.PutIndex(10) // is there already
}
