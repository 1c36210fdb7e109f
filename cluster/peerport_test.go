package cluster_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// port is an HTTP port of a server: what it answers by path, and what was asked.
type port struct {
	answers map[string]http.HandlerFunc // else 404
	peer    string                      // the release of a server whose peer port it is, as member 9 of cluster c1
	id      string                      // that its metrics tell
	server  *httptest.Server
	mu      sync.Mutex
	asked   []string
}

func (p *port) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.URL.RequestURI())
	p.mu.Unlock()
	if answer := p.answers[r.URL.Path]; answer != nil {
		answer(w, r)
		return
	}
	switch {
	case p.peer != "" && p.whose(w, r):
		return
	case p.id != "" && r.URL.Path == "/metrics":
		fmt.Fprintf(w, "# TYPE etcd_server_id gauge\netcd_server_id{server_id=%q} 1\n", p.id)
		return
	}
	http.NotFound(w, r)
}

// whose answers the question whose port it is.
func (p *port) whose(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("X-Etcd-Cluster-ID", "c1")
	w.Header().Set("X-Server-Version", p.peer)
	switch {
	case r.URL.Path == "/members":
		_, _ = io.WriteString(w, `[{"id":1},{"id":9}]`)
	case strings.HasPrefix(r.URL.Path, "/raft/stream/message/") && r.Header.Get("X-Etcd-Cluster-ID") != "c1":
		http.Error(w, "cluster ID mismatch", http.StatusPreconditionFailed)
	case r.URL.Path == "/raft/stream/message/9" && r.Header.Get("X-Raft-To") == "9":
		http.Error(w, "error sender not found", http.StatusNotFound)
	case strings.HasPrefix(r.URL.Path, "/raft/stream/message/"):
		http.Error(w, "to field mismatch", http.StatusPreconditionFailed)
	default:
		w.Header().Del("X-Etcd-Cluster-ID")
		w.Header().Del("X-Server-Version")
		return false
	}
	return true
}

// questions are the paths of the question.
var questions = []string{"/raft/stream/message/9", "/members"}

func (p *port) got() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

func listen(t *testing.T, answers map[string]http.HandlerFunc) (*port, string) {
	t.Helper()
	p := &port{answers: answers}
	p.server = httptest.NewServer(p)
	t.Cleanup(p.server.Close)
	return p, p.server.URL
}

// says answers with a status, a clusterID ID and a body.
func says(status int, clusterID, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if clusterID != "" {
			w.Header().Set("X-Etcd-Cluster-ID", clusterID)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	readPath   = "/downgrade/enabled"
	healthPath = "/health"
	healthy    = `{"health":"true","reason":""}`
)

func TestReadThroughThePeerPort(t *testing.T) {
	redirect := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }
	for name, tc := range map[string]struct {
		answer  http.HandlerFunc
		want    cluster.ReadAnswer
		unready string // what an Unready says
		err     string // what any other error says
	}{
		"it reads":                       {says(200, "c1", "false"), cluster.ReadAnswer{ClusterID: 0xc1, Way: "peer"}, "", ""},
		"a downgrade is under way":       {says(200, "c1", "true\n"), cluster.ReadAnswer{ClusterID: 0xc1, Way: "peer", Downgrading: true}, "", ""},
		"of another cluster: we compare": {says(200, "8e9e05c52164694d", "false"), cluster.ReadAnswer{ClusterID: 0x8e9e05c52164694d, Way: "peer"}, "", ""},
		"it has no leader":               {says(500, "c1", "failed linearized read: etcdserver: no leader"), cluster.ReadAnswer{}, "etcdserver: no leader", ""},
		"it timed out":                   {says(504, "c1", "timeout"), cluster.ReadAnswer{}, "504 timeout", ""},
		"no clusterID ID":                {says(200, "", "false"), cluster.ReadAnswer{}, "", `""`},
		"a clusterID ID nobody can read": {says(200, "cluster", "false"), cluster.ReadAnswer{}, "", "cluster"},
		"a redirect is not followed":     {redirect, cluster.ReadAnswer{}, "302", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, url := listen(t, map[string]http.HandlerFunc{readPath: tc.answer, "/elsewhere": says(200, "c1", "false")})
			_, client := listen(t, map[string]http.HandlerFunc{healthPath: says(200, "", healthy)})
			e := clientOf(t, cluster.ClientConfig{}, deadURL(t))
			p.peer = "3.6.16"
			got, err := e.Read(within(t, time.Second), cluster.Target{ClusterID: 0xc1, Member: cluster.Member{ID: 9, PeerURLs: []string{url}, ClientURLs: []string{client}}})
			if err == nil {
				assert.Equal(t, url, got.URL)
				assert.NotEmpty(t, got.Conn)
			}
			got.URL, got.Conn = "", ""
			switch {
			case tc.unready != "":
				require.ErrorContains(t, err, tc.unready)
				assert.True(t, isUnready(err))
			case tc.err != "":
				require.ErrorContains(t, err, tc.err)
				assert.False(t, isUnready(err))
			default:
				require.NoError(t, err)
				assert.Equal(t, tc.want, got)
			}
			assert.Equal(t, append(slices.Clone(questions), readPath), p.got(), "one request of one who has told its ID, and no other way where this one exists")
		})
	}
}

// Where the peer port has no such read, as on 3.4, or may not be asked, the
// linearizable /health is the next best.
func TestReadByHealth(t *testing.T) {
	none := map[string]http.HandlerFunc{}
	health := func(status int, body string) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{healthPath: says(status, "", body)}
	}
	reads := map[string]http.HandlerFunc{readPath: says(200, "c1", "false")}
	for name, tc := range map[string]struct {
		peer, client, metrics map[string]http.HandlerFunc // nil: there is none
		config                cluster.ClientConfig
		way                   string // empty: an error
		unready               bool
		release, id           string // of the peer port, and on the others, where they are not a 3.4 server's of member 9
		wrong                 bool   // it is somebody else's
	}{
		"3.5 has the path: it is no peer port": {peer: none, client: health(200, healthy), release: "3.5.0", wrong: true},
		"nor with a release nobody knows":      {peer: none, client: health(200, healthy), release: "elephant", wrong: true},
		"another member's client port":         {peer: none, client: health(200, healthy), id: "7", wrong: true},
		"another member's metrics port":        {peer: none, client: none, metrics: health(200, healthy), id: "7", wrong: true},
		"a client port that tells no ID":       {peer: none, client: health(200, healthy), id: "elephant", wrong: true},
		"3.4: by the client port":              {peer: none, client: health(200, healthy), way: "client"},
		"3.4: by the metrics port, if known":   {peer: none, client: none, metrics: health(200, healthy), way: "metrics"},
		"the peer port may not be asked":       {peer: reads, client: health(200, healthy), config: cluster.ClientConfig{SkipPeer: true}, way: "client"},
		"both may, and the peer port reads":    {peer: reads, client: none, metrics: none, way: "peer"},
		"3.4 says it is not":                   {peer: none, client: health(503, `{"health":"false"}`), unready: true},
		"it says so with a 200":                {peer: none, client: health(200, `{"health":"false","reason":"RAFT NO LEADER"}`), unready: true},
		"it says something else":               {peer: none, client: health(200, "ok"), unready: true},
		"it says it in another type":           {peer: none, client: health(200, `{"health":true}`), unready: true},
		"it says nothing":                      {peer: none, client: health(200, ""), unready: true},
		"no /health either":                    {peer: none, client: none},
		"no other port is known":               {peer: none},
		"nothing at all":                       {},
	} {
		t.Run(name, func(t *testing.T) {
			through := cluster.Target{ClusterID: 0xc1, Member: cluster.Member{ID: 9}}
			var asked []*port
			for answers, set := range map[*map[string]http.HandlerFunc]func(url string){
				&tc.peer:    func(url string) { through.PeerURLs = []string{url} },
				&tc.client:  func(url string) { through.ClientURLs = []string{url} },
				&tc.metrics: func(url string) { through.MetricsURL = url },
			} {
				if *answers == nil {
					continue
				}
				p, url := listen(t, *answers)
				switch {
				case answers == &tc.peer && tc.peer[readPath] == nil:
					p.peer = cmp.Or(tc.release, "3.4.13")
				case answers == &tc.peer:
					p.peer = "3.6.16"
				default:
					p.id = cmp.Or(tc.id, "9")
				}
				asked = append(asked, p)
				set(url)
			}
			answer, err := clientOf(t, tc.config, deadURL(t)).Read(within(t, time.Second), through)
			for _, p := range asked {
				for _, uri := range p.got() {
					assert.Contains(t, append(slices.Clone(questions), readPath, "/metrics", "/health?exclude=NOSPACE"), uri)
					assert.False(t, tc.config.SkipPeer && (uri == readPath || slices.Contains(questions, uri)), "it may not be asked")
				}
			}
			if tc.way != "" {
				require.NoError(t, err)
				assert.Equal(t, tc.way, answer.Way)
				return
			}
			require.Error(t, err)
			assert.Equal(t, tc.unready, isUnready(err), "%v", err)
			assert.Equal(t, tc.wrong, errors.Is(err, cluster.ErrWrongServer), "%v", err)
		})
	}
}

func isUnready(err error) bool {
	var unready *cluster.Unready
	return errors.As(err, &unready)
}

// A read may be pending as long as its caller wishes, a dead port fails at once,
// and neither says that the process answered.
func TestReadsThatAreNotAnswered(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	reads, slow := listen(t, map[string]http.HandlerFunc{readPath: func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}})
	reads.peer = "3.6.16"
	for name, tc := range map[string]struct {
		url     string
		pending bool
	}{
		"dead":            {deadURL(t), false},
		"accepts, silent": {hungURL(t), true},
		"reads for long":  {slow, true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := time.Now()
			_, err := clientOf(t, cluster.ClientConfig{}, deadURL(t)).Read(within(t, 200*time.Millisecond), cluster.Target{Member: cluster.Member{ID: 9, PeerURLs: []string{tc.url}}})
			require.Error(t, err)
			assert.False(t, isUnready(err))
			if tc.pending {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.GreaterOrEqual(t, time.Since(asked), 190*time.Millisecond)
			}
			assert.Less(t, time.Since(asked), 8*time.Second)
		})
	}
	t.Run("one of two URLs is dead, one silent", func(t *testing.T) {
		p, url := listen(t, map[string]http.HandlerFunc{readPath: says(200, "c1", "false")})
		p.peer = "3.6.16"
		_, err := clientOf(t, cluster.ClientConfig{}, deadURL(t)).Read(within(t, time.Second), cluster.Target{Member: cluster.Member{ID: 9, PeerURLs: []string{deadURL(t), hungURL(t), url}}})
		require.NoError(t, err)
	})
}

func TestReadByTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	s := httptest.NewUnstartedServer(&port{peer: "3.6.16", id: "9", answers: map[string]http.HandlerFunc{readPath: says(200, "c1", "false"), healthPath: says(200, "", healthy)}})
	s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.issue(t)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool()}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs each refusal
	s.StartTLS()
	t.Cleanup(s.Close)
	good := &tls.Config{RootCAs: ca.pool(), Certificates: []tls.Certificate{ca.issue(t)}}
	for name, tc := range map[string]struct {
		config cluster.ClientConfig
		way    string
	}{
		"peer":                   {cluster.ClientConfig{PeerTLS: good}, "peer"},
		"client":                 {cluster.ClientConfig{SkipPeer: true, ClientTLS: good}, "client"},
		"peer, by the other one": {cluster.ClientConfig{ClientTLS: good}, ""},
		"another CA":             {cluster.ClientConfig{PeerTLS: &tls.Config{RootCAs: other.pool(), Certificates: good.Certificates}}, ""},
		"without a certificate":  {cluster.ClientConfig{PeerTLS: &tls.Config{RootCAs: ca.pool()}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := clientOf(t, tc.config, deadURL(t)).Read(within(t, 2*time.Second),
				cluster.Target{Member: cluster.Member{ID: 9, PeerURLs: []string{s.URL}, ClientURLs: []string{s.URL}}})
			if tc.way == "" {
				require.Error(t, err)
				assert.False(t, isUnready(err))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.way, answer.Way)
		})
	}
}

func TestPeerMembers(t *testing.T) {
	const list = `[{"id":10276657743932975437,"peerURLs":["http://10.0.0.1:2380"],"name":"m1","clientURLs":["http://10.0.0.1:2379"]},
		{"id":2,"peerURLs":["http://10.0.0.9:2380"],"name":"","isLearner":true}]`
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		err    string
	}{
		"a list":          {says(200, "c1", list), ""},
		"no JSON":         {says(200, "c1", "<html>"), "invalid character"},
		"no clusterID ID": {says(200, "", list), "invalid syntax"},
		"an error":        {says(500, "c1", "boom"), "boom"},
		"no such path":    {nil, "does not know this path"},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := listen(t, map[string]http.HandlerFunc{"/members": tc.answer})
			l, err := clientOf(t, cluster.ClientConfig{}, deadURL(t)).PeerMembers(within(t, time.Second), cluster.Target{Member: cluster.Member{ID: 9, PeerURLs: []string{url}}})
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, cluster.List{ClusterID: 0xc1, By: 9, Members: []cluster.Member{
				{ID: 0x8e9e05c52164694d, Name: "m1", PeerURLs: []string{"http://10.0.0.1:2380"}, ClientURLs: []string{"http://10.0.0.1:2379"}},
				{ID: 2, PeerURLs: []string{"http://10.0.0.9:2380"}, Learner: true}}}, l)
		})
	}
}
