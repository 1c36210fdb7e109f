package cluster_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
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
	http.NotFound(w, r)
}

func (p *port) got() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

func listen(t *testing.T, answers map[string]http.HandlerFunc) (*port, string) {
	t.Helper()
	p := &port{answers: answers}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return p, s.URL
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
			got, err := e.Read(within(t, time.Second), cluster.Target{Member: cluster.Member{ID: 9, PeerURLs: []string{url}, ClientURLs: []string{client}}})
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
			assert.Equal(t, []string{readPath}, p.got(), "one request, and no other way where this one exists")
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
	}{
		"3.4: by the client port":            {peer: none, client: health(200, healthy), way: "client"},
		"3.4: by the metrics port, if known": {peer: none, client: none, metrics: health(200, healthy), way: "metrics"},
		"the peer port may not be asked":     {peer: reads, client: health(200, healthy), config: cluster.ClientConfig{SkipPeer: true}, way: "client"},
		"both may, and the peer port reads":  {peer: reads, client: none, metrics: none, way: "peer"},
		"3.4 says it is not":                 {peer: none, client: health(503, `{"health":"false"}`), unready: true},
		"it says so with a 200":              {peer: none, client: health(200, `{"health":"false","reason":"RAFT NO LEADER"}`), unready: true},
		"it says something else":             {peer: none, client: health(200, "ok"), unready: true},
		"it says it in another type":         {peer: none, client: health(200, `{"health":true}`), unready: true},
		"it says nothing":                    {peer: none, client: health(200, ""), unready: true},
		"no /health either":                  {peer: none, client: none},
		"no other port is known":             {peer: none},
		"nothing at all":                     {},
	} {
		t.Run(name, func(t *testing.T) {
			through := cluster.Target{Member: cluster.Member{ID: 9}}
			var asked []*port
			for answers, set := range map[*map[string]http.HandlerFunc]func(url string){
				&tc.peer:    func(url string) { through.PeerURLs = []string{url} },
				&tc.client:  func(url string) { through.ClientURLs = []string{url} },
				&tc.metrics: func(url string) { through.MetricsURL = url },
			} {
				if *answers != nil {
					p, url := listen(t, *answers)
					asked = append(asked, p)
					set(url)
				}
			}
			answer, err := clientOf(t, tc.config, deadURL(t)).Read(within(t, time.Second), through)
			for _, p := range asked {
				for _, uri := range p.got() {
					assert.Contains(t, []string{readPath, "/health?exclude=NOSPACE"}, uri)
					assert.False(t, tc.config.SkipPeer && uri == readPath, "it may not be asked")
				}
			}
			if tc.way != "" {
				require.NoError(t, err)
				assert.Equal(t, tc.way, answer.Way)
				return
			}
			require.Error(t, err)
			assert.Equal(t, tc.unready, isUnready(err), "%v", err)
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
	_, slow := listen(t, map[string]http.HandlerFunc{readPath: func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}})
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
		_, url := listen(t, map[string]http.HandlerFunc{readPath: says(200, "c1", "false")})
		_, err := clientOf(t, cluster.ClientConfig{}, deadURL(t)).Read(within(t, time.Second), cluster.Target{Member: cluster.Member{ID: 9, PeerURLs: []string{deadURL(t), hungURL(t), url}}})
		require.NoError(t, err)
	})
}

func TestReadByTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	s := httptest.NewUnstartedServer(&port{answers: map[string]http.HandlerFunc{readPath: says(200, "c1", "false"), healthPath: says(200, "", healthy)}})
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
