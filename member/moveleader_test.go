package member_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/member"
)

func TestMoveLeader(t *testing.T) {
	const down = 3
	for name, tc := range map[string]struct {
		to    cluster.ID
		leads cluster.ID // 0: it fails
		why   error
		moves int
	}{
		"to one":               {to: 2, leads: 2, moves: 1},
		"to who leads already": {to: 1, leads: 1},
		"to the best":          {leads: 2, moves: 1},
		"to one that is down":  {to: down, why: member.ErrNotLive},
		"to nobody":            {to: 77, why: member.ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
				fake.Kill(down)
				time.Sleep(10 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				m, err := member.MoveLeader(ctx, fake, tc.to, member.Config{StallTimeout: 10 * time.Second})
				assert.Equal(t, tc.moves, fake.Count(clustertest.OpMoveLeader))
				if tc.leads == 0 {
					require.ErrorIs(t, err, tc.why)
					assert.ErrorContains(t, err, "move leader")
					return
				}
				require.NoError(t, err)
				assert.Equal(t, tc.leads, m.ID)
				assert.Equal(t, tc.leads, fake.Leader())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New("http://a:2380")
		fake.AddRaw(cluster.Member{PeerURLs: []string{"http://d:2380"}, Learner: true})
		_, err := member.MoveLeader(t.Context(), fake, 2, member.Config{})
		var input *member.InputError
		require.ErrorAs(t, err, &input)
	})
}

// The answer is lost, and it is found out by looking.
func TestMoveLeaderWithALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
		fake.Fault(clustertest.OpMoveLeader, 1, clustertest.Fault{HangAfter: true})
		m, err := member.MoveLeader(t.Context(), fake, 0, member.Config{WriteTimeout: time.Second})
		require.NoError(t, err)
		assert.NotEqual(t, cluster.ID(1), m.ID)
		assert.Equal(t, 1, fake.Count(clustertest.OpMoveLeader))
	})
}
