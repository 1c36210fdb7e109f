package membertest_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/member/membertest"
)

// bubble runs a test in virtual time, on a cluster of voters.
func bubble(t *testing.T, voters int, test func(t *testing.T, c *membertest.Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var urls []string
		for i := range voters {
			urls = append(urls, fmt.Sprintf("http://%c:2380", 'a'+i))
		}
		test(t, membertest.New(urls...))
	})
}

// target is where the client dials a member.
func target(c *membertest.Cluster, id member.ID) member.Target {
	m, _ := c.Member(id)
	t := member.Target{Member: m, Endpoints: m.ClientURLs}
	t.ID = id
	if m.ID == 0 || len(t.Endpoints) == 0 {
		t.Endpoints = []string{fmt.Sprintf("http://%c:2379", 'a'+id-1)}
	}
	return t
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// spec is what an installer would start member id with.
func spec(c *membertest.Cluster, id member.ID, name string) member.StartSpec {
	s := member.StartSpec{Name: name, MemberID: id, ClusterID: membertest.ClusterID}
	var initial []string
	for _, m := range c.Members() {
		n := m.Name
		if m.ID == id {
			n, s.PeerURLs = name, m.PeerURLs
		} else if n == "" {
			n = "unnamed-" + m.ID.String()
		}
		for _, u := range m.PeerURLs {
			initial = append(initial, n+"="+u)
		}
	}
	s.InitialCluster = strings.Join(initial, ",")
	return s
}

// join adds a learner or a voter and starts it.
func join(t *testing.T, c *membertest.Cluster, url string, learner bool) member.ID {
	t.Helper()
	m, err := c.Add(within(t, time.Minute), target(c, c.Leader()), []string{url}, learner)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), spec(c, m.ID, "m"+m.ID.String())))
	return m.ID
}

func TestJoinAsALearner(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *membertest.Cluster) {
		ctx := within(t, time.Minute)
		id := join(t, c, "http://b:2380", true)
		assert.Equal(t, member.ID(2), id)

		began := time.Now()
		_, err := c.Read(ctx, target(c, id))
		require.ErrorIs(t, err, syscall.ECONNREFUSED, "its ports are not open yet")
		time.Sleep(55 * time.Millisecond)
		_, err = c.Read(ctx, target(c, id))
		assert.EqualError(t, err, "http://b:2380: the server runs but cannot read yet (500 failed linearized read: etcdserver: leader changed)",
			"its first contact ends what was asked before")
		answer, err := c.Read(ctx, target(c, id))
		require.NoError(t, err)
		assert.Equal(t, member.ReadAnswer{ClusterID: membertest.ClusterID, Way: "peer"}, answer)
		assert.InDelta(t, 110*time.Millisecond, time.Since(began), float64(5*time.Millisecond))

		require.NoError(t, c.Promote(ctx, target(c, 1), id))
		st, err := c.Status(ctx, target(c, id))
		require.NoError(t, err)
		assert.False(t, st.Learner)
		assert.Equal(t, member.ID(1), st.Leader)
		assert.InDelta(t, 150*time.Millisecond, time.Since(began), float64(10*time.Millisecond))

		l, err := c.List(ctx, target(c, id))
		require.NoError(t, err)
		assert.Equal(t, []member.Member{
			{ID: 1, Name: "m1", PeerURLs: []string{"http://a:2380"}, ClientURLs: []string{"http://a:2379"}},
			{ID: 2, Name: "m2", PeerURLs: []string{"http://b:2380"}, ClientURLs: []string{"http://b:2379"}},
		}, l.Members)
		assert.False(t, c.QuorumLost())
		assert.Empty(t, c.VotesGivenToDead())
		assert.Equal(t, []string{"add-learner http://b:2380", "start 2",
			"read 2: http://b:2380: dial tcp b:2380: connect: connection refused",
			"read 2: http://b:2380: the server runs but cannot read yet (500 failed linearized read: etcdserver: leader changed)",
			"read 2", "promote 2", "status 2", "list"}, lines(c.Calls()))
		assert.Equal(t, []string{"add-learner http://b:2380", "promote 2"}, lines(c.Writes()))
	})
}

func lines(calls []membertest.Call) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.String())
	}
	return out
}

func TestKilledAndPaused(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *membertest.Cluster) {
		c.Kill(2)
		_, err := c.Status(within(t, time.Second), target(c, 2))
		assert.ErrorContains(t, err, "connection refused")
		assert.True(t, c.HasQuorum())
		c.Pause(3)
		_, err = c.Status(within(t, time.Second), target(c, 3))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, c.HasQuorum())
		assert.True(t, c.QuorumLost())
	})
}
