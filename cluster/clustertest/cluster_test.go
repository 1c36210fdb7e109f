package clustertest_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
)

func TestNew(t *testing.T) {
	c := clustertest.New("https://10.0.0.1:2380", "https://[fd00::1]:2380,https://b:2390")
	assert.Equal(t, []cluster.Member{
		{ID: 1, Name: "m1", PeerURLs: []string{"https://10.0.0.1:2380"}, ClientURLs: []string{"https://10.0.0.1:2379"}},
		{ID: 2, Name: "m2", PeerURLs: []string{"https://[fd00::1]:2380", "https://b:2390"}, ClientURLs: []string{"https://[fd00::1]:2379", "https://b:2379"}},
	}, c.Members())
	assert.Equal(t, cluster.ID(1), c.Leader())
	assert.Equal(t, uint64(10), c.Index())
	assert.Len(t, c.LiveVoters(), 2)
	assert.True(t, c.HasQuorum())
	assert.False(t, c.QuorumLost())

	st, err := c.Status(within(t, time.Second), at(c, 2))
	require.NoError(t, err)
	assert.Equal(t, cluster.Status{
		ID: 2, ClusterID: clustertest.ClusterID, Version: "3.6.16", Leader: 1, Term: 2, Index: 10, Applied: 10, DBSize: 21480,
	}, st)
}

func TestJoinAsALearner(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Minute)
		id := add(t, c, "http://b:2380", true)
		assert.Equal(t, cluster.ID(2), id)
		start(t, c, id)

		began := time.Now()
		_, err := c.Read(ctx, at(c, id))
		require.ErrorIs(t, err, syscall.ECONNREFUSED, "its ports are not open yet")
		time.Sleep(55 * time.Millisecond)
		_, err = c.Read(ctx, at(c, id))
		assert.EqualError(t, err, "http://b:2380: the server runs but cannot read yet (500 failed linearized read: etcdserver: leader changed)",
			"its first contact ends what was asked before")
		answer, err := c.Read(ctx, at(c, id))
		require.NoError(t, err)
		assert.Equal(t, "peer", answer.Way)
		assert.Equal(t, clustertest.ClusterID, answer.ClusterID)
		assert.InDelta(t, 110*time.Millisecond, time.Since(began), float64(5*time.Millisecond))

		require.NoError(t, c.Promote(ctx, at(c, 1), id))
		st, err := c.Status(ctx, at(c, id))
		require.NoError(t, err)
		assert.False(t, st.Learner)
		assert.Equal(t, cluster.ID(1), st.Leader)
		assert.InDelta(t, 150*time.Millisecond, time.Since(began), float64(10*time.Millisecond))

		l, err := c.List(ctx, at(c, id))
		require.NoError(t, err)
		assert.Equal(t, cluster.ID(2), l.By)
		assert.Equal(t, []cluster.Member{
			{ID: 1, Name: "m1", PeerURLs: []string{"http://a:2380"}, ClientURLs: []string{"http://a:2379"}},
			{ID: 2, Name: "m2", PeerURLs: []string{"http://b:2380"}, ClientURLs: []string{"http://b:2379"}},
		}, l.Members)
		assert.False(t, c.QuorumLost())
		assert.Empty(t, c.VotesGivenToDead())
		assert.Equal(t, []string{
			"add-learner http://b:2380", "start 2",
			"read 2: http://b:2380: dial tcp b:2380: connect: connection refused",
			"read 2: http://b:2380: the server runs but cannot read yet (500 failed linearized read: etcdserver: leader changed)",
			"read 2", "promote 2", "status 2", "list",
		}, lines(c.Calls()))
		assert.Equal(t, []string{"add-learner http://b:2380", "promote 2"}, lines(c.Writes()))
	})
}

func TestManyJoinOneAfterTheOther(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		for id := cluster.ID(2); id <= 7; id++ {
			require.Equal(t, id, learner(t, c, url(id)))
			require.NoError(t, c.Promote(within(t, time.Second), leader(c), id))
			time.Sleep(6 * time.Second) // the rule of the five seconds
		}
		assert.Len(t, c.LiveVoters(), 7)
		assert.False(t, c.QuorumLost())
		assert.Empty(t, c.VotesGivenToDead())
	})
}

// Several joiners at once contend for one slot, and for raft's one membership
// change at a time; in real time, for the race detector.
func TestConcurrentUse(t *testing.T) {
	c := clustertest.New(url(1), url(2), url(3))
	c.Timing = clustertest.Timing{}
	c.SetLearnerLimit(8)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			u := fmt.Sprintf("http://10.0.0.%d:2380", i)
			m, err := c.Add(t.Context(), at(c, 1), []string{u}, true)
			if !assert.NoError(t, err) {
				return
			}
			c.Lag(m.ID, 0)
			_, _ = c.List(t.Context(), cluster.Target{})
			_, _ = c.Status(t.Context(), at(c, 2))
			assert.NoError(t, c.Remove(t.Context(), at(c, 1), m.ID))
		})
	}
	wg.Wait()
	assert.Len(t, c.Members(), 3)
	assert.Len(t, c.Writes(), 16)
}
