package etcdtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

func TestALearnerJoinsByHand(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		version string
		opts    []etcdtest.Option
	}{
		"embedded":       {},
		"embedded, TLS":  {opts: []etcdtest.Option{etcdtest.WithTLS()}},
		"process":        {version: process},
		"process, TLS":   {version: process, opts: []etcdtest.Option{etcdtest.WithTLS()}},
		"links, TLS":     {opts: []etcdtest.Option{etcdtest.WithLinks(), etcdtest.WithTLS()}},
		"3.4":            {version: "3.4.13"},
		"links, process": {version: process, opts: []etcdtest.Option{etcdtest.WithLinks()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, tc.version)
			cluster := etcdtest.Start(t, 1, append(tc.opts, etcdtest.WithVersion(tc.version))...)
			s := cluster.NewServer("joiner")
			id := cluster.AddLearner(s)
			initial := cluster.InitialCluster(s)
			require.NoError(t, s.Start(initial))
			require.NoError(t, s.Start(initial), "a second start does nothing")
			require.NoError(t, s.WaitServing(t.Context()))
			cluster.Promote(id)

			joined := cluster.ClientFor(s)
			require.Eventually(t, func() bool { // it learns of its promotion a moment later
				_, err := joined.MemberList(t.Context())
				return err == nil
			}, 10*time.Second, 10*time.Millisecond, "the member list through the new voter")
			list, err := joined.MemberList(t.Context())
			require.NoError(t, err)
			require.Len(t, list.Members, 2)
			for _, m := range list.Members {
				assert.False(t, m.IsLearner)
			}
		})
	}
}

func TestAJoinerOfAnotherVersion(t *testing.T) {
	t.Parallel()
	needs(t, "3.6.16")
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion("3.5.35"))
	s := cluster.NewServer("newer", etcdtest.WithVersion("3.6.16"))
	id := cluster.AddLearner(s)
	require.NoError(t, s.Start(cluster.InitialCluster(s)))
	require.NoError(t, s.WaitServing(t.Context()))
	cluster.Promote(id)
	status, err := cluster.ClientFor(s).Status(t.Context(), s.ClientURL)
	require.NoError(t, err)
	assert.Equal(t, "3.6.16", status.Version)
}

// A voter in the list that never started takes the quorum of a cluster of one,
// and starting it gives it back: this is what joining as a learner is for.
func TestAVoterJoinsByHandTheOldWay(t *testing.T) {
	t.Parallel() // ten seconds: the joiner asks for what takes a quorum, and waits 7 s for it
	cluster := etcdtest.Start(t, 1)
	s := cluster.NewServer("joiner")
	cluster.AddVoter(s)
	require.NoError(t, s.Start(cluster.InitialCluster(s)))
	require.NoError(t, s.WaitServing(t.Context()))
	_, err := cluster.Client().Put(t.Context(), "k", "v")
	assert.NoError(t, err)
}

// Etcd never takes a member back that lost its data; it panics, which is why
// tests of that want processes.
func TestAWipedLearnerCannotComeBack(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(process))
	s := cluster.NewServer("joiner")
	cluster.AddLearner(s)
	require.NoError(t, s.Start(cluster.InitialCluster(s)))
	require.NoError(t, s.WaitServing(t.Context()))
	s.Kill()
	s.Wipe()
	require.NoError(t, s.Start(""))
	ended(t, s)
	assert.Equal(t, 2, s.ExitCode())
	assert.Contains(t, s.Log(), "tocommit")
}
