package cluster_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
)

// web serves as a stranger at a peer URL.
func web(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// An etcd stops at the cluster ID, before the request has any effect; one reply is
// enough, for each is a warning in its log.
func TestAskMeetsAnEtcdWithoutEffect(t *testing.T) {
	var got []*http.Request
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r)
		w.Header().Set("X-Server-Version", "3.6.16")
		w.Header().Set("X-Etcd-Cluster-ID", "c1")
		http.Error(w, "cluster ID mismatch", http.StatusPreconditionFailed)
	})
	replies, err := clientOf(t, cluster.ClientConfig{}, deadURL(t)).Ask(t.Context(), url)
	require.NoError(t, err)
	assert.Equal(t, []cluster.Reply{{Status: 412, Version: "3.6.16", ClusterID: "c1"}}, replies)
	require.Len(t, got, 1)
	assert.Equal(t, "0", got[0].Header.Get("X-Etcd-Cluster-ID"))
	assert.Equal(t, "3.5.0", got[0].Header.Get("X-Server-Version"), "without it a server takes us for 2.0")
	assert.Empty(t, got[0].Header.Get("X-PeerURLs"), "it would be dialled")
}

// Where the stream is answered by anybody but an etcd, the message is tried as well:
// servers tell GET from POST. No redirect is followed, and no body waited for.
func TestAskTriesBothRequests(t *testing.T) {
	elsewhere := web(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	for name, tc := range map[string]struct {
		get, post http.HandlerFunc
		want      []cluster.Reply
	}{
		"a message is forbidden": {with(200), with(403), []cluster.Reply{{Status: 200}, {Status: 403}}},
		"a redirect": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere, http.StatusMovedPermanently)
			},
			with(404), []cluster.Reply{{Status: 301}, {Status: 404}},
		},
		"a body that never ends": {
			func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush() //nolint:forcetypeassert // it is one
				<-r.Context().Done()
			},
			with(200), []cluster.Reply{{Status: 200}, {Status: 200}},
		},
		"a web server that says its name": {
			func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Server", "nginx") },
			with(200), []cluster.Reply{{Status: 200, Server: "nginx"}, {Status: 200}},
		},
		"the second is not answered": {
			with(404), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			[]cluster.Reply{{Status: 404}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := web(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					assert.Equal(t, "/raft/stream/message/1", r.URL.Path)
					tc.get(w, r)
					return
				}
				assert.Equal(t, "/raft", r.URL.Path)
				tc.post(w, r)
			})
			replies, err := clientOf(t, cluster.ClientConfig{}, deadURL(t)).Ask(t.Context(), url)
			require.NoError(t, err)
			assert.Equal(t, tc.want, replies)
		})
	}
}

func with(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// Who speaks no HTTP is nobody; that an own certificate is asked for can be told from
// all other ways to fail a handshake.
func TestAskOfNobody(t *testing.T) {
	asks := func(min uint16) string {
		s := httptest.NewUnstartedServer(with(200))
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: min, MaxVersion: min}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL
	}
	untrusted := httptest.NewTLSServer(with(200))
	t.Cleanup(untrusted.Close)
	plain := web(t, with(200))
	for name, tc := range map[string]struct {
		url              string
		certificate, tls bool
	}{
		"refused":                       {deadURL(t), false, false},
		"silent":                        {hungURL(t), false, false},
		"no HTTP":                       {banner(t), false, false},
		"no TLS":                        {"https" + plain[len("http"):], false, false},
		"a certificate is not trusted":  {untrusted.URL, false, true},
		"a certificate is asked of us":  {asks(tls.VersionTLS13), true, true},
		"the same by the older version": {asks(tls.VersionTLS12), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			config := cluster.ClientConfig{}
			patience := time.Minute
			switch {
			case tc.certificate:
				config.PeerTLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // its own certificate is not the question
			case name == "silent":
				patience = 50 * time.Millisecond
			}
			replies, err := clientOf(t, config, deadURL(t)).Ask(within(t, patience), tc.url)
			require.Error(t, err)
			assert.Empty(t, replies)
			assert.Equal(t, tc.certificate, classify.CertificateAsked(err), "%v", err)
			assert.Equal(t, tc.tls, classify.TLSRefused(err), "%v", err)
		})
	}
}

// banner is a URL that leads to something that speaks first, and no HTTP.
func banner(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("SSH-2.0-OpenSSH_9.6\r\n"))
			_ = conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// A host that may not ask peer ports cannot tell, which is not the same as nobody.
func TestAskWhereThePeerPortMayNotBeAsked(t *testing.T) {
	_, err := clientOf(t, cluster.ClientConfig{SkipPeer: true}, deadURL(t)).Ask(t.Context(), deadURL(t))
	assert.ErrorIs(t, err, cluster.ErrNotOffered)
}
