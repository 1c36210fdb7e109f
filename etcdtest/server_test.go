package etcdtest_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// ended waits for a server's end, and fails the test if it does not come.
func ended(t *testing.T, s *etcdtest.Server) {
	t.Helper()
	select {
	case <-s.Exited():
	case <-time.After(30 * time.Second):
		t.Fatalf("%s still runs", s.Name)
	}
}

func TestAServerStopsAndStartsAgainWithItsData(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		opts []etcdtest.Option
		end  func(*etcdtest.Server)
		code int
	}{
		"embedded, stopped": {nil, (*etcdtest.Server).Stop, 0},
		"embedded, killed":  {nil, (*etcdtest.Server).Kill, 0},
		"process, stopped":  {[]etcdtest.Option{etcdtest.WithVersion(process)}, (*etcdtest.Server).Stop, 143},
		"process, killed":   {[]etcdtest.Option{etcdtest.WithVersion(process)}, (*etcdtest.Server).Kill, 137},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := etcdtest.Start(t, 1, tc.opts...)
			s := cluster.Servers()[0]
			_, err := cluster.Client().Put(t.Context(), "k", "before")
			require.NoError(t, err)
			assert.True(t, s.Running())
			assert.Equal(t, -1, s.ExitCode())

			tc.end(s)
			assert.False(t, s.Running())
			assert.Equal(t, tc.code, s.ExitCode())
			assert.Zero(t, get(t, nil, s.MetricsURL+"/health"))
			tc.end(s) // again: nothing happens

			require.NoError(t, s.Start(""))
			require.NoError(t, s.WaitServing(t.Context()))
			resp, err := cluster.Client().Get(t.Context(), "k")
			require.NoError(t, err)
			require.Len(t, resp.Kvs, 1)
			assert.Equal(t, "before", string(resp.Kvs[0].Value))
		})
	}
}

func TestAPausedProcessAcceptsAndDoesNotAnswer(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(process))
	s := cluster.Servers()[0]
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := cluster.Client().Get(ctx, "k")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.True(t, s.Running())

	s.Resume()
	_, err = cluster.Client().Get(t.Context(), "k")
	require.NoError(t, err)

	s.Pause()
	s.Stop() // resumes it
	assert.False(t, s.Running())
}

func TestAWrongFlagEndsTheStartAndTheNextIsWithoutIt(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(process))
	s := cluster.Servers()[0]
	s.Stop()
	require.NoError(t, s.StartArgs("", "--no-such-flag"))
	ended(t, s)
	assert.Equal(t, 2, s.ExitCode())
	assert.ErrorContains(t, s.Err(), "exit status 2")
	assert.Contains(t, s.Log(), "no-such-flag")
	assert.Error(t, s.WaitServing(t.Context()))

	require.NoError(t, s.Start(""))
	assert.NoError(t, s.WaitServing(t.Context()))
}

func TestAnEmbeddedServerTakesNoFlags(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1)
	assert.ErrorContains(t, cluster.NewServer("joiner").StartArgs("joiner=http://127.0.0.1:1", "--flag"), "no flags")
}

func TestAServerThatWasNeverStarted(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, 1).NewServer("joiner")
	assert.False(t, s.Running())
	assert.Equal(t, -1, s.ExitCode())
	assert.NoError(t, s.Err())
	<-s.Exited()
	s.Stop()
	s.Kill()
	s.Wipe()
	assert.ErrorContains(t, s.Start(""), "never started")
}

// Etcd's own start of a joiner blocks while it asks the others, and its Close
// while the joiner has no leader; neither may block a test.
func TestAnEmbeddedJoinerThatCannotJoinStartsAndEndsAtOnce(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1)
	s := cluster.NewServer("joiner")
	require.NoError(t, s.Start(cluster.InitialCluster(s)+",joiner="+s.PeerURL), "it was never added")
	ended(t, s)
	assert.ErrorContains(t, s.Err(), "member count is unequal")
	assert.Equal(t, 1, s.ExitCode())

	cluster.AddLearner(s)
	require.NoError(t, s.Start(cluster.InitialCluster(s)))
	s.Kill()
	require.NoError(t, s.Start(""))
	cluster.Servers()[0].Kill()
	s.Stop()
	assert.False(t, s.Running())
}

func TestAServerComesBackAsAnotherVersion(t *testing.T) {
	t.Parallel()
	needs(t, "3.6.16")
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion("3.6.16"))
	s := cluster.Servers()[0]
	s.Stop()
	s.UseVersion(process)
	require.NoError(t, s.Start(""))
	require.NoError(t, s.WaitServing(t.Context()))
	status, err := cluster.Client().Status(t.Context(), s.ClientURL)
	require.NoError(t, err)
	assert.Equal(t, process, status.Version)
	assert.Equal(t, http.StatusOK, get(t, nil, s.MetricsURL+"/livez"))
}

func TestAnOpenWatchDoesNotHoldAKillUp(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1)
	s := cluster.Servers()[0]
	watch := cluster.ClientFor(s).Watch(t.Context(), "k")
	_, err := cluster.Client().Put(t.Context(), "k", "v")
	require.NoError(t, err)
	<-watch
	began := time.Now()
	s.Kill()
	assert.Less(t, time.Since(began), 5*time.Second, "etcd's own close takes seven")
}
