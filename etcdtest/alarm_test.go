package etcdtest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// ofEach runs f with embedded servers, 3.5 and 3.7.
func ofEach(t *testing.T, f func(t *testing.T, version string)) {
	t.Helper()
	for name, version := range map[string]string{"embedded": "", "3.5": "3.5.35", "3.7": "3.7.3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, version)
		})
	}
}

func TestAlarmsAreRaisedAndCleared(t *testing.T) {
	t.Parallel()
	ofEach(t, func(t *testing.T, version string) {
		cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(version))
		voter, client := cluster.Servers()[0], cluster.Client()
		assert.Empty(t, cluster.Alarms())

		cluster.RaiseAlarm(voter, pb.AlarmType_NOSPACE)
		_, err := client.Put(t.Context(), "k", "v")
		require.ErrorIs(t, err, rpctypes.ErrNoSpace)
		cluster.ClearAlarms()
		_, err = client.Put(t.Context(), "k", "v")
		require.NoError(t, err, "there is room")

		cluster.RaiseAlarm(voter, pb.AlarmType_CORRUPT)
		_, err = client.Put(t.Context(), "k", "v")
		require.ErrorIs(t, err, rpctypes.ErrCorrupt)
		require.Len(t, cluster.Alarms(), 1)
		assert.Equal(t, voter.MemberID(), cluster.Alarms()[0].MemberID)
		assert.NotZero(t, cluster.AddLearner(cluster.NewServer("node-2")), "the list may change")
		cluster.ClearAlarms()
		assert.Empty(t, cluster.Alarms())
	})
}

func TestAQuotaIsFilled(t *testing.T) {
	t.Parallel()
	ofEach(t, func(t *testing.T, version string) {
		cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(version), etcdtest.WithQuota(4<<20))
		cluster.FillQuota()
		require.Len(t, cluster.Alarms(), 1)
		assert.Equal(t, pb.AlarmType_NOSPACE, cluster.Alarms()[0].Alarm)
		cluster.ClearAlarms()
		_, err := cluster.Client().Put(t.Context(), "k", "v")
		assert.ErrorIs(t, err, rpctypes.ErrNoSpace, "it is still full")
	})
}

func TestAQuotaTooLargeToFillIsRefused(t *testing.T) {
	assert.Contains(t, fatal(func(tb testing.TB) { etcdtest.Start(tb, 1).FillQuota() }), "WithQuota")
}
