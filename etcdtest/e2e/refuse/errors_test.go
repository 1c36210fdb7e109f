package refuse_test

import (
	"context"
	"crypto/tls"
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

func TestRefusedTLSEndsAJoinAtOnce(t *testing.T) {
	t.Parallel()
	secured := etcdtest.Start(t, 1, etcdtest.WithTLS())
	otherCA, noCert := secured.ClientTLS(), secured.ClientTLS()
	otherCA.RootCAs = secured.PeerTLS().RootCAs
	noCert.Certificates = nil
	for name, show := range map[string]*tls.Config{
		"we do not trust its authority":     otherCA,
		"it does not trust our certificate": secured.WrongTLS(),
		"we show no certificate":            noCert,
	} {
		t.Run(name, func(t *testing.T) {
			cli := kit.Dial(t, clientv3.Config{Endpoints: secured.Endpoints(), TLS: show})
			s := secured.NewServer("joiner")
			for way, by := range map[string]kit.Way{"learner": kit.TheLearnersWay, "voter": kit.TheOldWay} {
				t.Run(way, func(t *testing.T) {
					e := kit.Refused(t, func() []string { return kit.Entries(t, secured.Client()) }, cluster.ErrTLS, func(ctx context.Context) error {
						_, err := kit.JoinBy(t, ctx, by, cluster.NewClient(cli, cluster.ClientConfig{}), s, kit.StartsNothing(t), acceptNoMargin)
						return err
					})
					assert.NotErrorIs(t, e, cluster.ErrDenied)
					assert.NotEmpty(t, e.Hint)
				})
			}
		})
	}
}

// A server whose peer port refuses us runs all the same, and no wait changes that.
func TestAPeerPortThatRefusesUsIsNotTakenForAServerThatDoesNotRun(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithTLS())
	for name, show := range map[string]*tls.Config{
		"it does not trust our certificate": c.WrongTLS(),
		"nothing is configured":             nil,
	} {
		t.Run(name, func(t *testing.T) {
			cli := cluster.NewClient(c.Client(), cluster.ClientConfig{ClientTLS: c.ClientTLS(), PeerTLS: show})
			s := c.NewServer("second", kit.Outside)
			begin := time.Now()
			_, err := kit.JoinBy(t, kit.Within(t, 2*time.Minute), kit.TheLearnersWay, cli, s, func(c *member.Config) { c.OnFailure = member.Undo })
			t.Log(err)
			require.ErrorIs(t, err, cluster.ErrTLS)
			assert.Less(t, time.Since(begin), 30*time.Second)
			assert.NotContains(t, err.Error(), "not started")
			assert.Len(t, kit.Entries(t, c.Client()), 1)
		})
	}
}

func TestWithAuthOnOnlyRootJoins(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, kit.Outside)
	c.PutIndex(6000) // the joiner takes a snapshot, so that it has no token issued before
	kit.EnableAuth(t, c)
	root := kit.AsUser(t, c, "root")
	list := func() []string { return kit.Entries(t, root) }
	for name, cli := range map[string]*clientv3.Client{
		"a user without the root role": kit.AsUser(t, c, "guest"),
		"nobody":                       kit.Dial(t, clientv3.Config{Endpoints: c.Endpoints()}),
	} {
		t.Run(name, func(t *testing.T) {
			for way, by := range map[string]kit.Way{"learner": kit.TheLearnersWay, "voter": kit.TheOldWay} {
				t.Run(way, func(t *testing.T) {
					e := kit.Refused(t, list, cluster.ErrDenied, func(ctx context.Context) error {
						_, err := kit.JoinBy(t, ctx, by, cluster.NewClient(cli, cluster.ClientConfig{}), c.NewServer("joiner"), kit.StartsNothing(t), acceptNoMargin)
						return err
					})
					assert.NotErrorIs(t, e, cluster.ErrTLS)
					assert.NotEmpty(t, e.Hint)
				})
			}
		})
	}
	t.Run("root", func(t *testing.T) {
		r, err := kit.JoinBy(t, kit.Within(t, 2*time.Minute), kit.TheLearnersWay, cluster.NewClient(root, cluster.ClientConfig{}), c.NewServer("second"))
		require.NoError(t, err)
		assert.Equal(t, 2, r.Voters)
		_, err = root.Put(kit.Within(t, 20*time.Second), "e2e", "by root")
		require.NoError(t, err)
	})
}

func TestAnExpiredContextAsksNothing(t *testing.T) {
	t.Parallel()
	url, accepted := kit.HungURL(t)
	c := etcdtest.Start(t, 1)
	cli := kit.Dial(t, clientv3.Config{Endpoints: []string{url}})
	expired, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	begin := time.Now()
	_, err := kit.JoinBy(t, expired, kit.TheLearnersWay, cluster.NewClient(cli, cluster.ClientConfig{}), c.NewServer("late"), kit.StartsNothing(t))
	assert.Less(t, time.Since(begin), 10*time.Second)
	kit.Unwritten(t, err, context.DeadlineExceeded)
	assert.Zero(t, accepted.Load(), "it was dialled")
}

// What can heal is waited for, until the context ends or nothing has moved for
// StallTimeout; the reason is in the error either way.
func healable(t *testing.T, why error, list func() []string, join func(context.Context, ...func(*member.Config)) error) {
	t.Helper()
	for name, tc := range map[string]struct {
		deadline, stall time.Duration
	}{
		"the context ends": {5 * time.Second, time.Minute},
		"nothing moves":    {time.Minute, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			before, begin := list(), time.Now()
			err := join(kit.Within(t, tc.deadline), kit.StartsNothing(t), func(c *member.Config) {
				c.StallTimeout = tc.stall
			})
			t.Logf("after %v", time.Since(begin))
			e := kit.Unwritten(t, err, why)
			if tc.deadline < tc.stall {
				assert.ErrorIs(t, e, context.DeadlineExceeded)
			}
			assert.NotEmpty(t, e.Hint)
			assert.Equal(t, before, list(), "the member list was changed")
		})
	}
}

func TestUnreachableEndpointsAreAnErrorOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1)
	hung, _ := kit.HungURL(t)
	for name, url := range map[string]string{"dead": kit.DeadURL(c), "hung": hung} {
		t.Run(name, func(t *testing.T) {
			cli := cluster.NewClient(kit.Dial(t, clientv3.Config{Endpoints: []string{url}}), cluster.ClientConfig{})
			healable(t, cluster.ErrUnreachable, func() []string { return kit.Entries(t, c.Client()) }, func(ctx context.Context, change ...func(*member.Config)) error {
				_, err := kit.JoinBy(t, ctx, kit.TheLearnersWay, cli, c.NewServer("joiner"), change...)
				return err
			})
		})
	}
}

func TestWithoutAQuorumNothingIsWritten(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"))
	c.Servers()[1].Kill()
	c.Servers()[2].Kill()
	last := c.ClientFor(c.Servers()[0])
	require.Eventually(t, func() bool {
		st, err := last.Status(kit.Within(t, 5*time.Second), c.Endpoints()[0])
		return err == nil && st.Leader == 0
	}, 30*time.Second, 50*time.Millisecond, "the last voter still has a leader")
	list := func() []string { return kit.Entries(t, last, clientv3.WithSerializable()) }
	for way, by := range map[string]kit.Way{"learner": kit.TheLearnersWay, "voter": kit.TheOldWay} {
		t.Run(way, func(t *testing.T) {
			healable(t, cluster.ErrNoQuorum, list, func(ctx context.Context, change ...func(*member.Config)) error {
				_, err := kit.JoinBy(t, ctx, by, kit.NewClient(c), c.NewServer("joiner"), append(change, acceptNoMargin)...)
				return err
			})
		})
	}
	// Once it is back, so is everything else.
	require.NoError(t, c.Servers()[1].Start(""))
	require.NoError(t, c.Servers()[2].Start(""))
	kit.TakesWrites(t, c)
	r, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, c.NewServer("fourth"))
	require.NoError(t, err)
	assert.Equal(t, 4, r.Voters)
}
