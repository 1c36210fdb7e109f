package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
)

// A firewall is open one way: the joiner reaches the voters, and its own host reaches
// it, but they do not. Its data arrives all the same, by its own dials. Whether it gets
// its vote or waits for the way back, nobody is told that there is one, and the
// firewall's end is all it takes.
func TestNobodyButItsOwnHostReachesTheJoiner(t *testing.T) {
	for _, v := range kit.EveryRun {
		for name, shut := range map[string]func(*etcdtest.Link, ...etcdtest.Which){
			"reset": (*etcdtest.Link).Cut,
			"hangs": (*etcdtest.Link).Freeze,
		} {
			t.Run(v+", "+name, func(t *testing.T) {
				t.Parallel()
				c := etcdtest.Start(t, 1, etcdtest.WithVersion(v), etcdtest.WithLinks())
				voter, s := c.Servers()[0], c.NewServer("second")
				shut(s.Link(), etcdtest.OnlyFrom(voter))
				r, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s, func(cfg *member.Config) {
					cfg.StallTimeout = 10 * time.Second
				})
				if !waysAreNotCalledProven(t, c, r, err) {
					return
				}
				s.Link().Heal()
				r, err = kit.JoinLearner(t, kit.Within(t, time.Minute), c, s)
				require.NoError(t, err)
				assert.Equal(t, 2, r.Voters)
			})
		}
	}
}

// TLS on one side only: the joiner reaches plain voters, which do not trust it.
func TestAJoinerOfTLSAmongPlainVoters(t *testing.T) {
	for _, v := range kit.EveryRun {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(v))
			s := c.NewServer("second", etcdtest.WithSchemes("http", "https"))
			r, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s, func(cfg *member.Config) {
				cfg.StallTimeout = 10 * time.Second
			})
			waysAreNotCalledProven(t, c, r, err)
		})
	}
}

// waysAreNotCalledProven holds a join whose member nobody dials to what it may say: that
// it waits for the way back, without a vote, or that nothing proves there is one. It
// reports whether the member waits.
func waysAreNotCalledProven(t *testing.T, c *etcdtest.Cluster, r member.Result, err error) (waits bool) {
	t.Helper()
	t.Logf("way back %q, %v", r.WayBack, err)
	kit.TakesWrites(t, c)
	if err == nil {
		assert.NotEqual(t, cluster.WayProven, r.WayBack)
		return false
	}
	require.ErrorIs(t, err, member.ErrOneWay)
	voters, _ := kit.Roles(t, c)
	assert.Equal(t, 1, voters, "it got a vote")
	return true
}
