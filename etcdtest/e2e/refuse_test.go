package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
)

// way makes the joiner of one of the two ways into a cluster.
type way func(cluster.Client, string, member.Config) (member.Joiner, error)

func theLearnersWay(c cluster.Client, name string, cfg member.Config) (member.Joiner, error) {
	return learner.NewJoiner(c, name, cfg)
}

func theOldWay(c cluster.Client, name string, cfg member.Config) (member.Joiner, error) {
	return member.NewVotingJoiner(c, name, cfg)
}

// joinBy joins s one way or the other, through any client.
func joinBy(t *testing.T, ctx context.Context, by way, client cluster.Client, s *etcdtest.Server, change ...func(*member.Config)) (member.Result, error) {
	t.Helper()
	cfg := config(t, s)
	for _, f := range change {
		f(&cfg)
	}
	j, err := by(client, s.Name, cfg)
	require.NoError(t, err)
	return j.Join(ctx, s.PeerURL)
}

func joinVoter(t *testing.T, ctx context.Context, c *etcdtest.Cluster, s *etcdtest.Server, change ...func(*member.Config)) (member.Result, error) {
	t.Helper()
	return joinBy(t, ctx, theOldWay, newClient(c), s, change...)
}

// entries is the member list in words, as this client has it.
func entries(t *testing.T, cli *clientv3.Client, opts ...clientv3.OpOption) []string {
	t.Helper()
	list, err := cli.MemberList(within(t, 20*time.Second), opts...)
	require.NoError(t, err)
	var out []string
	for _, m := range list.Members {
		out = append(out, cluster.Member{ID: cluster.ID(m.ID), Name: m.Name, PeerURLs: m.PeerURLs, Learner: m.IsLearner}.String())
	}
	slices.Sort(out)
	return out
}

// refused checks that a join ended for this reason, long before the two minutes
// it had, and that nothing was written or started for it.
func refused(t *testing.T, list func() []string, why error, join func(context.Context) error) *member.JoinError {
	t.Helper()
	before, begin := list(), time.Now()
	err := join(within(t, 2*time.Minute))
	assert.Less(t, time.Since(begin), 30*time.Second, "no wait heals it, so there was nothing to wait for")
	e := unwritten(t, err, why)
	assert.Equal(t, before, list(), "the member list was changed")
	return e
}

// unwritten checks that a join ended for this reason and says that it wrote nothing.
func unwritten(t *testing.T, err, why error) *member.JoinError {
	t.Helper()
	require.ErrorIs(t, err, why)
	var e *member.JoinError
	require.ErrorAs(t, err, &e)
	t.Log(e)
	assert.False(t, e.Changed, "it says that the cluster may have been changed")
	assert.Contains(t, e.Error(), "the cluster was not changed")
	return e
}

// startsNothing fails the test if a server is to be started.
func startsNothing(t *testing.T) func(*member.Config) {
	return func(c *member.Config) {
		c.Start = func(context.Context, member.StartSpec) error {
			t.Error("the start hook was called")
			return nil
		}
	}
}

func acceptNoMargin(c *member.Config) { c.AcceptNoMargin = true }

const kepWords = "etcd learner mode is not supported by this etcd version"

func TestAClusterOf33TakesNoLearnerAndStillGrowsTheOldWay(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.3.27"))
	list := func() []string { return entries(t, c.Client()) }
	refusesLearner := func(t *testing.T, names ...string) {
		t.Helper()
		s := c.NewServer("learner")
		e := refused(t, list, member.ErrUnsupported, func(ctx context.Context) error {
			_, err := joinLearner(t, ctx, c, s, startsNothing(t))
			return err
		})
		assert.Contains(t, e.Error(), kepWords)
		assert.Contains(t, e.Error(), "3.3.27")
		for _, name := range names {
			assert.Contains(t, e.Error(), name)
		}
		takesWrites(t, c)
	}
	refusesLearner(t, "voter-1", c.Endpoints()[0])

	second := c.NewServer("second")
	refused(t, list, member.ErrQuorumAtRisk, func(ctx context.Context) error {
		_, err := joinVoter(t, ctx, c, second, startsNothing(t))
		return err
	})
	for i, s := range []*etcdtest.Server{second, c.NewServer("third")} {
		change := []func(*member.Config){acceptNoMargin}[:1-i] // two to three needs no leave
		r, err := joinVoter(t, within(t, time.Minute), c, s, change...)
		require.NoError(t, err)
		assert.Equal(t, i+2, r.Voters)
		assert.False(t, r.Serving.IsZero())
	}
	refusesLearner(t, "voter-1", "second", "third")

	// Upgraded one by one, the cluster is refused until the last 3.3 is gone.
	for _, s := range []*etcdtest.Server{c.Servers()[0], second} {
		s.Stop()
		s.UseVersion("3.4.13")
		require.NoError(t, s.Start(""))
		require.NoError(t, s.WaitServing(t.Context()))
	}
	refusesLearner(t, "third")
}

func TestAStartedVoterWhoseDataIsGoneIsNotStarted(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3)
	lost := c.Servers()[1]
	for name, end := range map[string]func(){
		"it runs elsewhere": func() {},
		"it was wiped":      func() { lost.Kill(); lost.Wipe() },
	} {
		t.Run(name, func(t *testing.T) {
			end()
			for way, by := range map[string]way{"learner": theLearnersWay, "voter": theOldWay} {
				t.Run(way, func(t *testing.T) {
					e := refused(t, func() []string { return entries(t, c.Client()) }, member.ErrDataLost, func(ctx context.Context) error {
						_, err := joinBy(t, ctx, by, newClient(c), lost, startsNothing(t), func(c *member.Config) {
							c.DataDir = manifest.DataDir{Dir: t.TempDir()}
						})
						return err
					})
					assert.NotZero(t, e.MemberID)
					assert.NotEmpty(t, e.Hint)
				})
			}
			takesWrites(t, c)
		})
	}
}

func TestAnIdentityThatIsSomebodyElsesIsRefused(t *testing.T) {
	t.Parallel()
	c, other := etcdtest.Start(t, 1), etcdtest.Start(t, 1)
	voter := c.Servers()[0]
	id := cluster.ID(memberOf(t, c, voter).ID).String()
	for name, tc := range map[string]struct {
		name, peerURL string // zero: a free one
		dataDir       string
		why           error
		says          string
	}{
		"data of another cluster":        {dataDir: other.Servers()[0].Dir, why: member.ErrForeignData, says: "of cluster"},
		"data of another member":         {dataDir: voter.Dir, why: member.ErrAddress, says: id},
		"a name that is taken":           {name: voter.Name, why: member.ErrNameTaken, says: id},
		"another's URL as localhost":     {peerURL: strings.Replace(voter.PeerURL, "127.0.0.1", "localhost", 1), why: member.ErrURLTaken, says: voter.PeerURL},
		"another's URL by other scheme":  {peerURL: strings.Replace(voter.PeerURL, "http:", "https:", 1), why: member.ErrURLTaken, says: voter.PeerURL},
		"another's URL as mapped IPv6":   {peerURL: strings.Replace(voter.PeerURL, "127.0.0.1", "[::ffff:127.0.0.1]", 1), why: member.ErrOtherName, says: id},
		"another's URL beside a new one": {peerURL: voter.PeerURL + ",http://127.0.0.1:1", why: member.ErrURLTaken, says: voter.PeerURL},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.NewServer("joiner")
			if tc.name != "" {
				s.Name = tc.name
			}
			if tc.peerURL != "" {
				s.PeerURL = tc.peerURL
			}
			e := refused(t, func() []string { return entries(t, c.Client()) }, tc.why, func(ctx context.Context) error {
				_, err := joinLearner(t, ctx, c, s, startsNothing(t), func(cfg *member.Config) {
					if tc.dataDir != "" {
						cfg.DataDir = manifest.DataDir{Dir: tc.dataDir}
					}
				})
				return err
			})
			assert.Contains(t, e.Error(), tc.says)
			assert.NotEmpty(t, e.Hint)
		})
	}
}
