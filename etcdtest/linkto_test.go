package etcdtest_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

func TestALinkThatRefusesDoesNotListen(t *testing.T) {
	l := echo(t)
	c := dial(t, l)
	require.NoError(t, c.say("x", late))
	l.Refuse()
	assert.Error(t, c.say("y", late))
	_, err := net.Dial("tcp", l.Addr())
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	l.Heal()
	assert.NoError(t, dial(t, l).say("z", late))
}

func TestALinkThatDropsAnswersNothingAndLosesNothing(t *testing.T) {
	l := echo(t)
	c := dial(t, l)
	require.NoError(t, c.say("x", late))
	l.Drop()
	_, err := net.DialTimeout("tcp", l.Addr(), soon)
	var netErr net.Error
	require.ErrorAs(t, err, &netErr)
	assert.True(t, netErr.Timeout(), "not even accepted: %v", err)
	assert.Error(t, c.say("y", soon))

	dialled := make(chan error, 1) // it dials while packets are dropped, and is patient
	go func() {
		conn, err := net.DialTimeout("tcp", l.Addr(), 30*time.Second)
		if err == nil {
			conn.Close()
		}
		dialled <- err
	}()
	time.Sleep(soon) // its first packet is gone; too early would only make this easier
	l.Heal()
	assert.NoError(t, c.hear("y", late))
	assert.NoError(t, <-dialled)
}

func TestALinkLeadsWhereItIsTold(t *testing.T) {
	l := etcdtest.NewLink(t, "")
	assert.ErrorIs(t, dialAndRead(l), syscall.ECONNRESET, "nowhere")

	visits := l.Serve(etcdtest.Answer{Status: http.StatusTeapot, Header: http.Header{"x-what": {"pot"}}, Body: "short"})
	resp, err := http.Post(l.URL()+"/raft", "text/plain", strings.NewReader("body"))
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusTeapot, resp.StatusCode)
	assert.Equal(t, "pot", resp.Header.Get("X-What"))
	assert.Equal(t, "short", string(body))
	require.Len(t, visits.All(), 1)
	assert.Equal(t, "POST", visits.All()[0].Method)
	assert.Equal(t, 1, visits.Count("/raft"))
	assert.Zero(t, visits.Count("/members"))

	l.Speak("SSH-2.0-x\r\n")
	conn, err := net.Dial("tcp", l.Addr())
	require.NoError(t, err)
	defer conn.Close()
	said, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Equal(t, "SSH-2.0-x\r\n", string(said))

	l.LeadTo(echo(t).URL())
	assert.NoError(t, dial(t, l).say("x", late))
	l.Heal()
	assert.ErrorIs(t, dialAndRead(l), syscall.ECONNRESET, "nowhere again")
}

func TestAWebServerAtAPeerPortThatSpeaksTLS(t *testing.T) {
	cluster := etcdtest.Start(t, 1, etcdtest.WithTLS(), etcdtest.WithLinks())
	node := cluster.NewServer("node-2")
	none := &tls.Config{RootCAs: cluster.PeerTLS().RootCAs}
	node.Link().Serve(etcdtest.Answer{Status: http.StatusForbidden})
	assert.Equal(t, http.StatusForbidden, get(t, none, node.PeerURL), "trusted, and asks for no certificate")
	node.Link().ServeTLS(etcdtest.Answer{Status: http.StatusForbidden}, cluster.WrongTLS())
	assert.Zero(t, get(t, none, node.PeerURL), "not trusted")
}

// What etcd does with such a server is why anybody wants to have one in a test.
func TestAVoterEndsByAWebServerThatForbids(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.5.35", "3.7.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(version), etcdtest.WithLinks())
			node := cluster.NewServer("node-2")
			visits := node.Link().Serve(etcdtest.Answer{Status: http.StatusForbidden})
			cluster.AddLearner(node)
			voter := cluster.Servers()[0]
			ended(t, voter)
			assert.Zero(t, voter.ExitCode())
			assert.NotZero(t, visits.Count("/raft"))
		})
	}
}

func TestAMemberBehindALearnersURL(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.5.35", "3.7.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(version), etcdtest.WithLinks())
			other := etcdtest.Start(t, 1, etcdtest.WithVersion(version))
			node := cluster.NewServer("node-2")
			for _, s := range []*etcdtest.Server{cluster.Servers()[0], other.Servers()[0]} {
				node.Link().LeadTo(s.ListenPeerURL)
				assert.Equal(t, body(t, s.ListenPeerURL+"/members"), body(t, node.PeerURL+"/members"))
			}
			node.Link().Heal()
			cluster.AddLearner(node)
			require.NoError(t, node.Start(cluster.InitialCluster(node)))
			assert.NoError(t, node.WaitServing(t.Context()))
		})
	}
}

func body(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(data)
}

func TestOneDirectionOfOneServerIsCut(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]etcdtest.Option{
		"3.5.35":     {etcdtest.WithVersion("3.5.35")},
		"3.7.3, TLS": {etcdtest.WithVersion("3.7.3"), etcdtest.WithTLS()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := etcdtest.Start(t, 1, append(opts, etcdtest.WithLinks())...)
			voter, node := cluster.Servers()[0], cluster.NewServer("node-2")
			cluster.AddLearner(node)
			voter.Link().Cut(etcdtest.OnlyFrom(node))
			require.NoError(t, node.Start(cluster.InitialCluster(node)))
			ended(t, node) // it cannot ask the voter for the members
			assert.Equal(t, 1, node.ExitCode())
			assert.Equal(t, http.StatusOK, get(t, cluster.PeerTLS(), voter.PeerURL+"/members"), "ours are not cut")

			voter.Link().Heal()
			require.NoError(t, node.Start(""))
			require.NoError(t, node.WaitServing(t.Context()))
		})
	}
}

func TestOneDirectionOfRaftAlone(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.5.35", "3.7.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cluster, node := joined(t, etcdtest.WithVersion(version))
			voter := cluster.Servers()[0]
			require.Eventually(t, func() bool { return reads(t, node) }, late, soon)

			// Either of the two may carry the entries, so one direction alone leaves
			// the learner able to read and both do not.
			voter.Link().Cut(etcdtest.OnlyFrom(node), etcdtest.OnlyRaft())
			assert.Eventually(t, func() bool { return reads(t, node) }, late, soon)
			node.Link().Cut(etcdtest.OnlyFrom(voter), etcdtest.OnlyRaft())
			assert.Equal(t, http.StatusOK, get(t, nil, node.PeerURL+"/members"))
			assert.False(t, reads(t, node))
		})
	}
}

func TestOnlyFromIsRefusedWhereNobodyCanTell(t *testing.T) {
	cluster := etcdtest.Start(t, 1, etcdtest.WithLinks())
	link, s := cluster.Servers()[0].Link(), cluster.Servers()[0]
	assert.Contains(t, fatal(func(tb testing.TB) { etcdtest.NewLink(tb, link.URL()).Cut(etcdtest.OnlyFrom(s)) }), "embedded")
	assert.Contains(t, fatal(func(tb testing.TB) { etcdtest.NewLink(tb, "https://127.0.0.1:1").Freeze(etcdtest.OnlyRaft()) }), "TLS hides")
}

// fatal is what f fails its test with.
func fatal(f func(testing.TB)) (said string) {
	t := newT()
	defer t.end()
	defer func() { said, _ = recover().(string) }()
	f(t)
	return ""
}

// A call on its way is held on its TCP connection, and let go on the same one.
func TestAHeldCallArrivesOnItsConnection(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1)
	link := etcdtest.NewLink(t, cluster.Leader().ClientURL)
	client := cluster.ClientAt(link.URL())
	_, err := client.Get(t.Context(), "k")
	require.NoError(t, err)
	link.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = client.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:1"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, 1, count(t.Context(), cluster.Client()))
	assert.Equal(t, 1, link.Connections())
	link.Heal()
	_, err = client.Revoke(t.Context(), 0x7001) // a barrier behind the call
	require.ErrorIs(t, err, rpctypes.ErrLeaseNotFound)
	assert.Equal(t, 2, count(t.Context(), client))
	assert.Equal(t, 1, link.Connections())
}
