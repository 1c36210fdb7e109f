// Package absence_test plays on real servers what it takes to know that a member is
// not there, or that an add will not be done.
package absence_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
)

var releases = []string{"3.5.35", "3.7.3"}

// impatient are callers that give up soon, and undo soon.
func impatient(cfg *member.Config) { cfg.WriteTimeout = 2 * time.Second }

// through is the library's client of one voter, behind a link.
func through(t *testing.T, c *etcdtest.Cluster) (*cluster.EtcdClient, *etcdtest.Link) {
	t.Helper()
	link := etcdtest.NewLink(t, strings.TrimPrefix(c.Servers()[0].ClientURL, "http://"))
	url := "http://" + link.Addr()
	client := cluster.NewClient(kit.Dial(t, clientv3.Config{Endpoints: []string{url}}), cluster.ClientConfig{
		EndpointTimeout: 500 * time.Millisecond,
		Endpoints:       func(cluster.Member) []string { return []string{url} }})
	t.Cleanup(client.Close)
	return client, link
}

// The network holds the add back, and the caller gives up. What becomes of it shows on
// its own connection, and nowhere else.
func TestAnAddThatWasGivenUpIsShownOnItsOwnConnection(t *testing.T) {
	for name, tc := range map[string]struct {
		then      func(*etcdtest.Link) // while it is undone
		undecided bool
	}{
		"released while it is undone": {func(l *etcdtest.Link) { time.AfterFunc(time.Second, l.Heal) }, false},
		"never released meanwhile":    {func(*etcdtest.Link) {}, true},
		"its connection is lost":      {func(l *etcdtest.Link) { l.Cut(); time.AfterFunc(500*time.Millisecond, l.Heal) }, true},
	} {
		for _, release := range releases {
			t.Run(name+"/"+release, func(t *testing.T) {
				t.Parallel()
				c := etcdtest.Start(t, 1, etcdtest.WithVersion(release))
				client, link := through(t, c)
				s := c.NewServer("second")
				ctx, cancel := context.WithCancel(kit.Within(t, time.Minute))
				var heard kit.Recorder
				_, err := kit.JoinBy(t, ctx, kit.TheLearnersWay, client, s, impatient, func(cfg *member.Config) {
					cfg.Observe = heard.Observe
					cfg.MayAdd = func(context.Context, cluster.Member) error {
						link.Freeze()
						time.AfterFunc(300*time.Millisecond, func() { cancel(); tc.then(link) })
						return nil
					}
				})
				t.Logf("%v", err)
				require.ErrorIs(t, err, context.Canceled)
				assert.Equal(t, tc.undecided, strings.Contains(heard.Kinds(), string(member.Undecided)))
				if tc.undecided {
					require.ErrorIs(t, err, member.ErrUndecided)
					assert.Equal(t, "Undecided", string(member.ReasonOf(err)))
				} else {
					require.NotErrorIs(t, err, member.ErrUndecided)
				}
				link.Heal()
				time.Sleep(2 * time.Second) // for what must not come
				if !tc.undecided {
					assert.Nil(t, kit.MemberOf(t, c, s), "an orphan that no error tells of")
				}
				r, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s)
				require.NoError(t, err, "to join again is always right")
				assert.Equal(t, 2, r.Voters)
				voters, learners := kit.Roles(t, c)
				assert.Equal(t, 2, voters)
				assert.Zero(t, learners)
			})
		}
	}
}

// settle waits until etcd takes an add at all: its members must have been connected for
// five seconds.
func settle(t *testing.T, c *etcdtest.Cluster) {
	t.Helper()
	_, err := c.Client().MemberRemove(kit.Within(t, 20*time.Second), c.AddLearner(c.NewServer("settles")))
	require.NoError(t, err)
}

// toldOf holds an orphan against the error: it is undone, or told of.
func toldOf(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server, err error) {
	t.Helper()
	m := kit.MemberOf(t, c, s)
	t.Logf("left: %v; told: %v", m, err)
	if m != nil {
		var join *member.JoinError
		require.ErrorAs(t, err, &join)
		if join.Undone == "" { // what it could not undo
			require.ErrorIs(t, err, member.ErrUndecided, "an orphan that no error tells of")
		}
		require.NoError(t, member.Remove(kit.Within(t, time.Minute), kit.NewClient(c), cluster.ID(m.ID), member.Config{}))
		assert.Nil(t, kit.MemberOf(t, c, s))
	}
}

// The leader stands still as the add reaches it, another is elected, and the first goes
// on once the caller has given up.
func TestAnAddAtALeaderThatStandsStill(t *testing.T) {
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 3, etcdtest.WithVersion(release))
			settle(t, c)
			s, leader := c.NewServer("fourth"), c.Leader()
			ctx, cancel := context.WithCancel(kit.Within(t, time.Minute))
			_, err := kit.JoinLearner(t, ctx, c, s, impatient, func(cfg *member.Config) {
				cfg.MayAdd = func(context.Context, cluster.Member) error {
					leader.Pause()
					time.AfterFunc(300*time.Millisecond, cancel)
					return nil
				}
			})
			require.Error(t, err)
			leader.Resume()
			require.Eventually(t, func() bool { return kit.PutOne(kit.Within(t, 2*time.Second), c) == nil }, time.Minute, 100*time.Millisecond)
			time.Sleep(3 * time.Second) // for what must not come untold
			toldOf(t, c, s, err)
		})
	}
}

// The add waits behind megabytes of writes on a slow line, while the small messages of
// a list pass: it commits many seconds after the caller has given up.
func TestAnAddBehindABacklog(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"), etcdtest.WithLinks(), etcdtest.WithArgs("--heartbeat-interval=100", "--election-timeout=5000"))
	settle(t, c)
	s, leader := c.NewServer("fourth"), c.Leader()
	cli := c.ClientFor(leader)
	var puts sync.WaitGroup
	ctx, cancel := context.WithCancel(kit.Within(t, time.Minute))
	_, err := kit.JoinLearner(t, ctx, c, s, func(cfg *member.Config) {
		cfg.MayAdd = func(context.Context, cluster.Member) error {
			leader.Link().Throttle(512 << 10)
			for i := range 12 {
				puts.Go(func() {
					_, _ = cli.Put(kit.Within(t, time.Minute), fmt.Sprintf("big%d", i), strings.Repeat("x", 400<<10))
				})
			}
			time.Sleep(500 * time.Millisecond) // the backlog is there
			time.AfterFunc(500*time.Millisecond, cancel)
			return nil
		}
	})
	require.Error(t, err)
	puts.Wait()
	leader.Link().Heal()
	require.Eventually(t, func() bool { return kit.PutOne(kit.Within(t, 2*time.Second), c) == nil }, time.Minute, 100*time.Millisecond,
		"a write goes through the log behind all of it")
	toldOf(t, c, s, err)
}
