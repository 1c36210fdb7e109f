package gate_test

import (
	"context"
	"net/http"
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

// A VIP that moved, a wrong DNS record, a proxy: the learner has caught up and dies, and
// somebody else answers at its peer URL. Etcd gives it its vote, and the one voter has no
// quorum of two.
func TestADeadLearnerInWhosePlaceAnotherAnswersGetsNoVote(t *testing.T) {
	says := func(status int, header ...string) func(*testing.T, *etcdtest.Cluster, *etcdtest.Link) {
		return func(_ *testing.T, _ *etcdtest.Cluster, l *etcdtest.Link) {
			a := etcdtest.Answer{Status: status, Header: http.Header{}}
			for i := 0; i < len(header); i += 2 {
				a.Header.Set(header[i], header[i+1])
			}
			l.Serve(a)
		}
	}
	for name, tc := range map[string]struct {
		version string
		stand   func(*testing.T, *etcdtest.Cluster, *etcdtest.Link)
		why     error
	}{
		"the voter, 3.7": {"3.7.3", func(_ *testing.T, c *etcdtest.Cluster, l *etcdtest.Link) { l.LeadTo(c.Servers()[0].PeerURL) }, cluster.ErrWrongServer},
		"the voter, 3.5": {"3.5.35", func(_ *testing.T, c *etcdtest.Cluster, l *etcdtest.Link) { l.LeadTo(c.Servers()[0].PeerURL) }, cluster.ErrWrongServer},
		"the voter's client port": {"3.7.3", func(_ *testing.T, c *etcdtest.Cluster, l *etcdtest.Link) { l.LeadTo(c.Servers()[0].ClientURL) },
			cluster.ErrWrongServer},
		"another cluster's member": {"3.7.3", func(t *testing.T, _ *etcdtest.Cluster, l *etcdtest.Link) {
			l.LeadTo(etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3")).Servers()[0].PeerURL)
		}, cluster.ErrWrongCluster},
		"a web server that says 200":         {"3.7.3", says(200), cluster.ErrWrongServer},
		"a web server that says 404":         {"3.7.3", says(404), cluster.ErrWrongServer},
		"a web server with etcd's version":   {"3.7.3", says(200, "X-Server-Version", "3.7.3"), member.ErrNotLive},
		"a balancer that has nobody behind":  {"3.7.3", says(503), cluster.ErrWrongServer},
		"something that does not speak HTTP": {"3.7.3", func(_ *testing.T, _ *etcdtest.Cluster, l *etcdtest.Link) { l.Speak("SSH-2.0-OpenSSH_9.6\r\n") }, member.ErrNotLive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(tc.version), etcdtest.WithLinks())
			c.PutIndex(500)
			s := c.NewServer("dead")
			_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, whenInSync(func() {
				s.Kill()
				tc.stand(t, c, s.Link())
			}), func(c *member.Config) { c.StallTimeout, c.OnFailure = 4*time.Second, member.Keep })
			require.ErrorIs(t, err, tc.why)
			assert.True(t, kit.MemberOf(t, c, s).IsLearner, "it got a vote")
			kit.TakesWrites(t, c)
		})
	}
}

// The question is answered by the member alone, whatever it is doing: before it has any
// data, while a snapshot arrives and is applied, and behind the others.
func TestAMemberTellsWhoItIsWhateverItIsDoing(t *testing.T) {
	for _, version := range []string{"3.5.35", "3.7.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(version), etcdtest.WithLinks(), etcdtest.WithArgs("--snapshot-count=100"))
			c.PutIndex(11_000) // more than what the log keeps: the learner gets a snapshot
			voter, s := c.Servers()[0], c.NewServer("learner")
			client := kit.NewClient(c)
			ctx := kit.Within(t, 2*time.Minute)
			list, err := client.List(ctx, cluster.Target{})
			require.NoError(t, err)
			id := cluster.ID(c.AddLearner(s))
			require.NoError(t, s.Start(c.InitialCluster(s)))
			ask := func(url string, m cluster.ID) cluster.Identity {
				soon, cancel := context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				who, err := client.Who(soon, url, list.ClusterID, m)
				if err != nil {
					return "nobody"
				}
				return who.Identity
			}
			told := map[cluster.Identity]int{}
			for caught := false; !caught; {
				_, err := client.Read(ctx, cluster.Target{ClusterID: list.ClusterID, Member: cluster.Member{ID: id, PeerURLs: []string{s.PeerURL}}})
				caught = err == nil
				told[ask(s.PeerURL, id)]++
			}
			t.Logf("while it caught up it was called %v", told)
			assert.NotContains(t, told, cluster.AnotherMember)
			assert.NotContains(t, told, cluster.AnotherCluster)

			assert.Equal(t, cluster.TheMember, ask(s.PeerURL, id))
			assert.Equal(t, cluster.TheMember, ask(voter.PeerURL, list.By))
			assert.Equal(t, cluster.AnotherMember, ask(s.PeerURL, list.By))
			assert.Equal(t, cluster.AnotherMember, ask(voter.PeerURL, id))
			assert.Equal(t, cluster.TheMember, ask(s.MetricsURL, id), "by its metrics")
			assert.Equal(t, cluster.AnotherMember, ask(voter.MetricsURL, id))
			assert.Equal(t, cluster.TheMember, ask(voter.ClientURL, list.By), "by the metrics of its client port")
			assert.Equal(t, cluster.IdentityUnknown, ask(voter.PeerURL, 0xabcdef), "an ID that nobody has")

			s.Link().Cut(etcdtest.OnlyFrom(voter))
			voter.Link().Cut(etcdtest.OnlyFrom(s))
			c.PutIndex(11_100)
			assert.Equal(t, cluster.TheMember, ask(s.PeerURL, id), "it is behind")
			_, err = c.Client().MemberRemove(ctx, uint64(id))
			require.NoError(t, err)
			assert.Equal(t, cluster.WasRemoved, ask(voter.PeerURL, id))
			assert.Equal(t, cluster.TheMember, ask(s.PeerURL, id), "it does not know yet that it was removed")
		})
	}
}

// The leader advertises two URLs that lead nowhere before its good one: the vote takes no
// dial, and the whole join one EndpointTimeout at most.
func TestALeaderWithDeadURLsFirst(t *testing.T) {
	t.Parallel()
	hung1, hung2 := etcdtest.NewLink(t, ""), etcdtest.NewLink(t, "")
	hung1.Freeze()
	hung2.Freeze()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	client := cluster.NewClient(kit.Dial(t, clientv3.Config{Endpoints: c.Endpoints()}), cluster.ClientConfig{
		Endpoints: func(m cluster.Member) []string { return append([]string{hung1.URL(), hung2.URL()}, m.ClientURLs...) },
	})
	t.Cleanup(client.Close)
	r, err := kit.JoinBy(t, kit.Within(t, time.Minute), kit.TheLearnersWay, client, c.NewServer("second"))
	require.NoError(t, err)
	took := r.Promoted.Sub(r.Added)
	t.Logf("added to promoted: %s; six seconds with each URL tried in turn", took)
	assert.Less(t, took, 5*time.Second)
}
