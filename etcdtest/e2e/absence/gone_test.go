package absence_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
)

// index is what the first voter has committed.
func index(t *testing.T, c *etcdtest.Cluster) uint64 {
	t.Helper()
	st, err := c.Client().Status(kit.Within(t, 10*time.Second), c.Endpoints()[0])
	require.NoError(t, err)
	return st.RaftIndex
}

// A barrier is one entry; its list is that of the server that committed it; and all go
// on one connection. A plan is none, nor is a Step that waits.
func TestWhatGoesThroughTheLog(t *testing.T) {
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(release))
			kit.TakesWrites(t, c)
			client := kit.NewClient(c)
			t.Cleanup(client.Close)
			voter := kit.MemberOf(t, c, c.Servers()[0])
			at := cluster.Target{Member: cluster.Member{ID: cluster.ID(voter.ID), ClientURLs: voter.ClientURLs}}
			before := index(t, c)
			var carriers []cluster.Carrier
			for range 3 {
				b, err := client.Barrier(kit.Within(t, 10*time.Second), at)
				require.NoError(t, err)
				assert.Equal(t, at.ID, b.By)
				require.Len(t, b.Members, 1)
				carriers = append(carriers, b.Carrier)
			}
			assert.NotEmpty(t, carriers[0])
			assert.Equal(t, []cluster.Carrier{carriers[0], carriers[0], carriers[0]}, carriers)
			before += 3
			require.Equal(t, before, index(t, c))

			s := c.NewServer("second")
			j, err := learner.NewJoiner(client, s.Name, member.Config{})
			require.NoError(t, err)
			for range 5 {
				p, err := j.Plan(kit.Within(t, 10*time.Second), s.PeerURL)
				require.NoError(t, err)
				assert.Equal(t, member.DoAddLearner, p.Do)
				assert.NotEmpty(t, p.Unasked)
			}
			assert.Equal(t, before, index(t, c), "five plans wrote to the log")

			c.AddLearner(s) // and nobody starts it
			before = index(t, c)
			var memory member.Memory
			for range 5 {
				step, err := j.Step(kit.Within(t, 10*time.Second), s.PeerURL, memory)
				require.NoError(t, err)
				memory = step.Memory
			}
			assert.Equal(t, before, index(t, c), "steps that only start and wait wrote to the log")
		})
	}
}

// With auth on a barrier needs a user, and no role. Who has no right to change the
// membership learns that before anything is stopped or moved aside.
func TestAProofNeedsAUserAndNoRole(t *testing.T) {
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(release))
			s := c.NewServer("second")
			id := c.AddLearner(s)
			require.NoError(t, s.Start(c.InitialCluster(s)))
			require.Eventually(t, func() bool { m := kit.MemberOf(t, c, s); return m != nil && m.Name != "" }, time.Minute, 50*time.Millisecond)
			require.NoError(t, member.Remove(kit.Within(t, time.Minute), kit.NewClient(c), cluster.ID(id), member.Config{}))
			s.Stop()
			anonymous := kit.NewClient(c)
			t.Cleanup(anonymous.Close)
			kit.EnableAuth(t, c)

			_, err := anonymous.Barrier(kit.Within(t, 10*time.Second), cluster.Target{})
			require.ErrorIs(t, err, rpctypes.ErrUserEmpty)
			guest := cluster.NewClient(kit.AsUser(t, c, "guest"), cluster.ClientConfig{})
			t.Cleanup(guest.Close)
			b, err := guest.Barrier(kit.Within(t, 10*time.Second), cluster.Target{})
			require.NoError(t, err)
			assert.Len(t, b.Members, 1)

			untouched := func(cfg *member.Config) {
				cfg.Rejoin, cfg.DataDir = true, manifest.DataDir{Dir: s.Dir}
				cfg.Stop = func(context.Context) error { assert.Fail(t, "stopped"); return nil }
			}
			_, err = kit.JoinBy(t, kit.Within(t, time.Minute), kit.TheLearnersWay, guest, s, untouched)
			require.ErrorIs(t, err, cluster.ErrDenied)
			data, err := manifest.DataDir{Dir: s.Dir}.Inspect(t.Context())
			require.NoError(t, err)
			assert.Equal(t, cluster.ID(id), data.MemberID, "its data is where it was")
		})
	}
}

// A member that no list ever had: to remove it is a success, once that is proven; to
// leave as it is none, and stops nothing. By ID means that ID.
func TestWhoIsNotThere(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	client := kit.NewClient(c)
	t.Cleanup(client.Close)
	before := index(t, c)
	var heard kit.Recorder
	require.NoError(t, member.Remove(kit.Within(t, time.Minute), client, 0x4711, member.Config{Observe: heard.Observe}))
	assert.Equal(t, before+2, index(t, c), "two barriers")
	assert.Equal(t, 2, strings.Count(heard.Kinds(), string(member.Proving)), heard.Kinds())
	err := member.Leave(kit.Within(t, time.Minute), client, 0x4711, member.Config{Stop: func(context.Context) error { assert.Fail(t, "stopped"); return nil }})
	require.ErrorIs(t, err, member.ErrGone)
	_, err = learner.Promote(kit.Within(t, time.Minute), client, 0x4711, member.Config{})
	require.ErrorIs(t, err, member.ErrGone)
}

// An operator starts a learner's join over: another entry has its URLs. Whoever was
// asked to promote the first gives the second no vote.
func TestPromoteByIDGivesNoVoteToAnotherID(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	s := c.NewServer("second")
	first := c.AddLearner(s)
	started := false
	_, err := learner.Promote(kit.Within(t, time.Minute), kit.NewClient(c), cluster.ID(first), member.Config{Observe: func(e member.Event) {
		if started || e.Kind != member.Waiting {
			return
		}
		started = true
		_, err := c.Client().MemberRemove(kit.Within(t, 20*time.Second), first)
		require.NoError(t, err)
		time.Sleep(1100 * time.Millisecond) // etcd gives out an ID once a second
		assert.NotEqual(t, first, c.AddLearner(s))
		require.NoError(t, s.Start(c.InitialCluster(s)))
	}})
	require.ErrorIs(t, err, member.ErrGone)
	require.True(t, started)
	m := kit.MemberOf(t, c, s)
	require.NotNil(t, m)
	assert.True(t, m.IsLearner, "nobody asked for its vote")
}
