package cluster_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
)

func TestALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
		fake.Kill(3)
		time.Sleep(10 * time.Second)
		s, err := cluster.Look(t.Context(), fake)
		require.NoError(t, err)
		assert.Len(t, s.Voters(), 3)
		assert.Len(t, s.LiveVoters(), 2)
		assert.EqualValues(t, 1, s.Leader)
		assert.Equal(t, 0, s.Margin())
		third, _ := s.ByID(3)
		assert.True(t, cluster.Foresee(s, cluster.ToRemove, third.Member).Safe(), "the dead one may go")
		second, _ := s.ByID(2)
		assert.False(t, cluster.Foresee(s, cluster.ToRemove, second.Member).Safe(), "the live one may not")
		assert.Empty(t, fake.Writes())
	})
}

func TestALookWithoutAQuorumIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
		fake.Kill(2)
		fake.Kill(3)
		time.Sleep(10 * time.Second)
		s, err := cluster.Look(t.Context(), fake)
		require.NoError(t, err)
		assert.True(t, s.NoQuorum)
		assert.Negative(t, s.Margin())
	})
}

func TestAwaitWaitsUntilSomebodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New("http://a:2380")
		fake.Kill(1)
		time.AfterFunc(time.Minute, func() { fake.Restart(1) })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		s, err := cluster.Await(ctx, fake)
		require.NoError(t, err)
		assert.Len(t, s.LiveVoters(), 1)
	})
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New("http://a:2380")
		fake.Kill(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := cluster.Await(ctx, fake)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, cluster.ErrUnreachable)
	})
}
