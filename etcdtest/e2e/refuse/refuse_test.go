package refuse_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
)

func acceptNoMargin(c *member.Config) { c.AcceptNoMargin = true }

const kepWords = "etcd learner mode is not supported by this etcd version"

func TestAClusterOf33TakesNoLearnerAndStillGrowsTheOldWay(t *testing.T) {
	t.Parallel()
	kit.Needs(t, "3.3.27", "3.4.13")
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.3.27"))
	list := func() []string { return kit.Entries(t, c.Client()) }
	refusesLearner := func(t *testing.T, names ...string) {
		t.Helper()
		s := c.NewServer("learner")
		e := kit.Refused(t, list, member.ErrUnsupported, func(ctx context.Context) error {
			_, err := kit.JoinLearner(t, ctx, c, s, kit.StartsNothing(t))
			return err
		})
		assert.Contains(t, e.Error(), kepWords)
		assert.Contains(t, e.Error(), "3.3.27")
		for _, name := range names {
			assert.Contains(t, e.Error(), name)
		}
		kit.TakesWrites(t, c)
	}
	refusesLearner(t, "voter-1", c.Endpoints()[0])

	second := c.NewServer("second")
	kit.Refused(t, list, member.ErrQuorumAtRisk, func(ctx context.Context) error {
		_, err := kit.JoinVoter(t, ctx, c, second, kit.StartsNothing(t))
		return err
	})
	for i, s := range []*etcdtest.Server{second, c.NewServer("third")} {
		change := []func(*member.Config){acceptNoMargin}[:1-i] // two to three needs no leave
		r, err := kit.JoinVoter(t, kit.Within(t, time.Minute), c, s, change...)
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
			for way, by := range map[string]kit.Way{"learner": kit.TheLearnersWay, "voter": kit.TheOldWay} {
				t.Run(way, func(t *testing.T) {
					e := kit.Refused(t, func() []string { return kit.Entries(t, c.Client()) }, member.ErrDataLost, func(ctx context.Context) error {
						_, err := kit.JoinBy(t, ctx, by, kit.NewClient(c), lost, kit.StartsNothing(t), func(c *member.Config) {
							c.DataDir = manifest.DataDir{Dir: t.TempDir()}
						})
						return err
					})
					assert.NotZero(t, e.MemberID)
					assert.NotEmpty(t, e.Hint)
				})
			}
			kit.TakesWrites(t, c)
		})
	}
}

func TestAnIdentityThatIsSomebodyElsesIsRefused(t *testing.T) {
	t.Parallel()
	c, other := etcdtest.Start(t, 1), etcdtest.Start(t, 1)
	voter := c.Servers()[0]
	id := cluster.ID(kit.MemberOf(t, c, voter).ID).String()
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
			e := kit.Refused(t, func() []string { return kit.Entries(t, c.Client()) }, tc.why, func(ctx context.Context) error {
				_, err := kit.JoinLearner(t, ctx, c, s, kit.StartsNothing(t), func(cfg *member.Config) {
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
