package e2e_test

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
			cli := dial(t, clientv3.Config{Endpoints: secured.Endpoints(), TLS: show})
			s := secured.NewServer("joiner")
			for way, by := range map[string]way{"learner": theLearnersWay, "voter": theOldWay} {
				t.Run(way, func(t *testing.T) {
					e := refused(t, func() []string { return entries(t, secured.Client()) }, cluster.ErrTLS, func(ctx context.Context) error {
						_, err := joinBy(t, ctx, by, cluster.NewClient(cli, cluster.ClientConfig{}), s, startsNothing(t), acceptNoMargin)
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
			s := c.NewServer("second", outside)
			begin := time.Now()
			_, err := joinBy(t, within(t, 2*time.Minute), theLearnersWay, cli, s, func(c *member.Config) { c.OnFailure = member.Undo })
			t.Log(err)
			require.ErrorIs(t, err, cluster.ErrTLS)
			assert.Less(t, time.Since(begin), 30*time.Second)
			assert.NotContains(t, err.Error(), "not started")
			assert.Len(t, entries(t, c.Client()), 1)
		})
	}
}

// enableAuth makes root and a user without any role, and turns auth on.
func enableAuth(t *testing.T, c *etcdtest.Cluster) {
	t.Helper()
	cli, ctx := c.Client(), within(t, 20*time.Second)
	for _, user := range []string{"root", "guest"} {
		_, err := cli.UserAdd(ctx, user, "secret of "+user)
		require.NoError(t, err)
	}
	_, err := cli.UserGrantRole(ctx, "root", "root")
	require.NoError(t, err)
	_, err = cli.AuthEnable(ctx)
	require.NoError(t, err)
}

func asUser(t *testing.T, c *etcdtest.Cluster, user string) *clientv3.Client {
	t.Helper()
	return dial(t, clientv3.Config{Endpoints: c.Endpoints(), Username: user, Password: "secret of " + user})
}

func TestWithAuthOnOnlyRootJoins(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, outside)
	c.PutIndex(6000) // the joiner takes a snapshot, so that it has no token issued before
	enableAuth(t, c)
	root := asUser(t, c, "root")
	list := func() []string { return entries(t, root) }
	for name, cli := range map[string]*clientv3.Client{
		"a user without the root role": asUser(t, c, "guest"),
		"nobody":                       dial(t, clientv3.Config{Endpoints: c.Endpoints()}),
	} {
		t.Run(name, func(t *testing.T) {
			for way, by := range map[string]way{"learner": theLearnersWay, "voter": theOldWay} {
				t.Run(way, func(t *testing.T) {
					e := refused(t, list, cluster.ErrDenied, func(ctx context.Context) error {
						_, err := joinBy(t, ctx, by, cluster.NewClient(cli, cluster.ClientConfig{}), c.NewServer("joiner"), startsNothing(t), acceptNoMargin)
						return err
					})
					assert.NotErrorIs(t, e, cluster.ErrTLS)
					assert.NotEmpty(t, e.Hint)
				})
			}
		})
	}
	t.Run("root", func(t *testing.T) {
		r, err := joinBy(t, within(t, 2*time.Minute), theLearnersWay, cluster.NewClient(root, cluster.ClientConfig{}), c.NewServer("second"))
		require.NoError(t, err)
		assert.Equal(t, 2, r.Voters)
		_, err = root.Put(within(t, 20*time.Second), "e2e", "by root")
		require.NoError(t, err)
	})
}

func TestAnExpiredContextAsksNothing(t *testing.T) {
	t.Parallel()
	url, accepted := hungURL(t)
	c := etcdtest.Start(t, 1)
	cli := dial(t, clientv3.Config{Endpoints: []string{url}})
	expired, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	begin := time.Now()
	_, err := joinBy(t, expired, theLearnersWay, cluster.NewClient(cli, cluster.ClientConfig{}), c.NewServer("late"), startsNothing(t))
	assert.Less(t, time.Since(begin), 10*time.Second)
	unwritten(t, err, context.DeadlineExceeded)
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
			err := join(within(t, tc.deadline), startsNothing(t), func(c *member.Config) {
				c.StallTimeout = tc.stall
			})
			t.Logf("after %v", time.Since(begin))
			e := unwritten(t, err, why)
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
	hung, _ := hungURL(t)
	for name, url := range map[string]string{"dead": deadURL(c), "hung": hung} {
		t.Run(name, func(t *testing.T) {
			cli := cluster.NewClient(dial(t, clientv3.Config{Endpoints: []string{url}}), cluster.ClientConfig{})
			healable(t, cluster.ErrUnreachable, func() []string { return entries(t, c.Client()) }, func(ctx context.Context, change ...func(*member.Config)) error {
				_, err := joinBy(t, ctx, theLearnersWay, cli, c.NewServer("joiner"), change...)
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
		st, err := last.Status(within(t, 5*time.Second), c.Endpoints()[0])
		return err == nil && st.Leader == 0
	}, 30*time.Second, 50*time.Millisecond)
	list := func() []string { return entries(t, last, clientv3.WithSerializable()) }
	for way, by := range map[string]way{"learner": theLearnersWay, "voter": theOldWay} {
		t.Run(way, func(t *testing.T) {
			healable(t, cluster.ErrNoQuorum, list, func(ctx context.Context, change ...func(*member.Config)) error {
				_, err := joinBy(t, ctx, by, newClient(c), c.NewServer("joiner"), append(change, acceptNoMargin)...)
				return err
			})
		})
	}
	// Once it is back, so is everything else.
	require.NoError(t, c.Servers()[1].Start(""))
	require.NoError(t, c.Servers()[2].Start(""))
	takesWrites(t, c)
	r, err := joinLearner(t, within(t, time.Minute), c, c.NewServer("fourth"))
	require.NoError(t, err)
	assert.Equal(t, 4, r.Voters)
}
