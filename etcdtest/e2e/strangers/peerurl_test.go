package strangers_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// web answers everything with one status, and some headers.
func web(t *testing.T, status int, header ...string) string {
	t.Helper()
	answer := etcdtest.Answer{Status: status, Header: http.Header{}}
	for i := 0; i < len(header); i += 2 {
		answer.Header.Set(header[i], header[i+1])
	}
	at := etcdtest.NewLink(t, "")
	at.Serve(answer)
	return at.URL()
}

// asksForCertificates is a server that talks to nobody without a certificate.
func asksForCertificates(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// planFor is what a joiner with this peer URL would do.
func planFor(t *testing.T, client cluster.Client, url string) member.Plan {
	t.Helper()
	j, err := learner.NewJoiner(client, "new", member.Config{})
	require.NoError(t, err)
	p, err := j.Plan(kit.Within(t, time.Minute), url)
	require.NoError(t, err)
	return p
}

// behind is a peer URL that leads to another server's port.
func behind(t *testing.T, url string) string {
	return etcdtest.NewLink(t, url).URL()
}

// fork is a copy of a server's data, forced to be a cluster of its own on other ports.
func fork(t *testing.T, c *etcdtest.Cluster, of *etcdtest.Server) string {
	t.Helper()
	s := c.NewServer(of.Name + "-fork")
	s.CopyData(of)
	require.NoError(t, s.StartArgs(s.Name+"="+s.PeerURL, "--force-new-cluster"))
	require.NoError(t, s.WaitServing(kit.Within(t, 30*time.Second)))
	return s.PeerURL
}

func TestNobodyIsAddedWhereSomebodyAnswers(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"))
	foreign := etcdtest.Start(t, 1)
	before := kit.Entries(t, c.Client())
	voter := c.Servers()[1]
	config := cluster.ClientConfig{PeerTLS: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // strangers have certificates of their own
	client := cluster.NewClient(c.Client(), config)
	t.Cleanup(client.Close)
	for name, url := range map[string]string{
		"200": web(t, 200), "204": web(t, 204), "301": web(t, 301, "Location", voter.PeerURL), "401": web(t, 401), "403": web(t, 403),
		"404": web(t, 404), "410": web(t, 410), "412": web(t, 412), "500": web(t, 500),
		"410 that calls itself etcd":  web(t, 410, "X-Server-Version", "3.7.3"),
		"503 that calls itself etcd":  web(t, 503, "X-Server-Version", "3.7.3"),
		"a version that is none":      web(t, 200, "X-Server-Version", "banana"),
		"502 that knows a cluster":    web(t, 502, "X-Etcd-Cluster-ID", "cdf818194e3a8c32"),
		"a certificate is asked for":  asksForCertificates(t),
		"another member's peer port":  behind(t, voter.PeerURL),
		"another member's client":     behind(t, voter.ClientURL),
		"a server of another cluster": foreign.Servers()[0].PeerURL,
		"a fork of our own data":      fork(t, c, voter),
	} {
		t.Run(name, func(t *testing.T) {
			p := planFor(t, client, url)
			assert.Equal(t, member.DoRefuse, p.Do, "%v", p)
			assert.ErrorIs(t, p.Why, member.ErrURLInUse)
		})
	}
	for name, url := range map[string]string{
		"502": web(t, 502), "503": web(t, 503), "504": web(t, 504),
		"nobody": c.NewServer("nobody").PeerURL,
	} {
		t.Run(name, func(t *testing.T) {
			p := planFor(t, client, url)
			assert.Equal(t, member.DoAddLearner, p.Do, "%v", p)
		})
	}
	forbidden := web(t, 403)
	for way, by := range map[string]kit.Way{"learner": kit.TheLearnersWay, "voter": kit.TheOldWay} {
		t.Run("a join the "+way+"'s way", func(t *testing.T) {
			kit.Refused(t, func() []string { return kit.Entries(t, c.Client()) }, member.ErrURLInUse, func(ctx context.Context) error {
				j, err := by(kit.NewClient(c), "new", member.Config{})
				require.NoError(t, err)
				_, err = j.Join(ctx, forbidden)
				return err
			})
		})
	}
	assert.Equal(t, before, kit.Entries(t, c.Client()))
	for _, s := range c.Servers() {
		assert.True(t, s.Running(), "%s ended", s.Name)
	}
	kit.TakesWrites(t, c)
}

// What the refusal is for: an entry whose URL leads to a web server that says 403 ends
// the members of a real cluster, one after the other.
func TestAWebServerAtAnEntryEndsTheMembers(t *testing.T) {
	for _, v := range []string{"3.7.3", "3.5.35"} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			if v != "3.7.3" {
				kit.NotInEveryRun(t)
			}
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(v))
			_, err := c.Client().MemberAddAsLearner(kit.Within(t, 20*time.Second), []string{web(t, 403)})
			require.NoError(t, err)
			select {
			case <-c.Servers()[0].Exited():
				assert.Zero(t, c.Servers()[0].ExitCode())
				assert.Contains(t, c.Servers()[0].Log(), "permanently removed")
			case <-time.After(time.Minute):
				t.Fatal("it lives")
			}
		})
	}
}

// A real server stops at what is asked before it has any effect: it goes on among its
// peers, and knows nobody new.
func TestARealServerIsAskedWithoutEffect(t *testing.T) {
	for _, v := range []string{"3.4.13", "3.5.16", "3.5.35", "3.6.0", "3.6.16", "3.7.3"} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			kit.Needs(t, v)
			c := etcdtest.Start(t, 3, etcdtest.WithVersion(v))
			w := c.Writers(2)
			client := kit.NewClient(c)
			t.Cleanup(client.Close)
			list, err := client.List(kit.Within(t, 20*time.Second), cluster.Target{})
			require.NoError(t, err)
			remotes := func() (n int) {
				for _, s := range c.Servers() {
					n += strings.Count(s.Log(), "added remote peer")
				}
				return n
			}
			known := remotes()
			for range 10 {
				for _, s := range c.Servers() {
					replies, err := client.Ask(kit.Within(t, 20*time.Second), s.PeerURL)
					require.NoError(t, err)
					assert.Equal(t, []cluster.Reply{{Status: 412, Version: v, ClusterID: list.ClusterID.String()}}, replies)
				}
			}
			kit.CheckWrites(t, w)
			for _, s := range c.Servers() {
				assert.True(t, s.Running())
			}
			assert.Equal(t, known, remotes(), "a server was made to know somebody")
			after, err := client.List(kit.Within(t, 20*time.Second), cluster.Target{})
			require.NoError(t, err)
			assert.Equal(t, list.Members, after.Members)
		})
	}
}

// PeerTLS is tried on the voters, before there is a learner that could never be read
// through; and where peers demand a certificate that we do not have, the same is said.
func TestWrongPeerTLSIsFoundBeforeTheAdd(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithTLS())
	noCertificate := c.PeerTLS()
	noCertificate.Certificates = nil
	for name, peerTLS := range map[string]*tls.Config{"another CA": c.WrongTLS(), "none": nil, "no certificate": noCertificate} {
		t.Run(name, func(t *testing.T) {
			client := cluster.NewClient(c.Client(), cluster.ClientConfig{PeerTLS: peerTLS, ClientTLS: c.ClientTLS()})
			t.Cleanup(client.Close)
			s := c.NewServer("new")
			kit.Refused(t, func() []string { return kit.Entries(t, c.Client()) }, cluster.ErrTLS, func(ctx context.Context) error {
				_, err := kit.JoinBy(t, ctx, kit.TheLearnersWay, client, s, kit.StartsNothing(t))
				return err
			})
		})
	}
}
