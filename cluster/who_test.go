package cluster_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// peer answers as a peer port of cluster c1 does, the same to each question.
func peer(status int, text, version, clusterID string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Server-Version", version)
		w.Header().Set("X-Etcd-Cluster-ID", clusterID)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func TestWho(t *testing.T) {
	const question = "/raft/stream/message/9"
	its := peer(404, "error sender not found\n", "3.6.16", "c1")
	listed := says(200, "c1", `[{"id":1},{"id":9}]`)
	for name, tc := range map[string]struct {
		answer, list http.HandlerFunc // nil: 404 of a web server
		want         cluster.Identity
		is           error
	}{
		"the member":                                 {its, listed, cluster.TheMember, nil},
		"one that does not know the member":          {its, says(200, "c1", `[{"id":1}]`), cluster.IdentityUnknown, nil},
		"one whose list cannot be read":              {its, says(200, "c1", `<html>`), cluster.IdentityUnknown, nil},
		"one that has no list":                       {its, nil, cluster.IdentityUnknown, nil},
		"the same answer without a version":          {peer(404, "error sender not found", "", "c1"), listed, cluster.IdentityUnknown, nil},
		"the same answer without a cluster":          {peer(404, "error sender not found", "3.6.16", ""), listed, cluster.IdentityUnknown, nil},
		"the same words with 200":                    {peer(200, "error sender not found", "3.6.16", "c1"), listed, cluster.IdentityUnknown, nil},
		"the same words of a web server":             {peer(404, "error sender not found", "", ""), listed, cluster.NoEtcd, cluster.ErrWrongServer},
		"the same words of another cluster":          {peer(404, "error sender not found", "3.6.16", "bad"), listed, cluster.AnotherCluster, cluster.ErrWrongCluster},
		"another member":                             {peer(412, "to field mismatch", "3.6.16", "c1"), listed, cluster.AnotherMember, cluster.ErrWrongServer},
		"another cluster":                            {peer(412, "cluster ID mismatch", "3.6.16", "bad"), listed, cluster.AnotherCluster, cluster.ErrWrongCluster},
		"a cluster nobody can read":                  {peer(412, "cluster ID mismatch", "3.6.16", "elephant"), listed, cluster.AnotherCluster, cluster.ErrWrongCluster},
		"we asked wrongly":                           {peer(412, "incompatible version", "3.6.16", "c1"), listed, cluster.IdentityUnknown, nil},
		"one that knows that the member was removed": {peer(410, "removed member", "3.6.16", "c1"), listed, cluster.WasRemoved, nil},
		"gone, of a web server":                      {peer(410, "gone", "", ""), listed, cluster.NoEtcd, cluster.ErrWrongServer},
		"a web server":                               {nil, nil, cluster.NoEtcd, cluster.ErrWrongServer},
		"a web server that says 200 to everything":   {says(200, "", "it works"), says(200, "", "it works"), cluster.NoEtcd, cluster.ErrWrongServer},
		"a web server that says 403":                 {says(403, "", ""), nil, cluster.NoEtcd, cluster.ErrWrongServer},
		"a web server that fails":                    {says(500, "", ""), nil, cluster.NoEtcd, cluster.ErrWrongServer},
		"a redirect, to the member itself": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/members", http.StatusMovedPermanently)
		}, listed, cluster.NoEtcd, cluster.ErrWrongServer},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]http.HandlerFunc{}
			for path, h := range map[string]http.HandlerFunc{question: tc.answer, "/members": tc.list} {
				if h != nil {
					answers[path] = h
				}
			}
			_, url := listen(t, answers)
			who, err := clientOf(t, cluster.ClientConfig{}, deadURL(t)).Who(within(t, 10*time.Second), url, 0xc1, 9)
			require.NoError(t, err)
			assert.Equal(t, tc.want, who.Identity)
			assert.Equal(t, url, who.URL)
			if tc.want == cluster.TheMember {
				assert.NoError(t, who.Err(0xc1, 9))
				assert.NotEmpty(t, who.Conn)
				return
			}
			require.Error(t, who.Err(0xc1, 9))
			if tc.is != nil {
				assert.ErrorIs(t, who.Err(0xc1, 9), tc.is)
			}
		})
	}
}

// The question is the member's own: with another's ID it would take its stream over,
// and with X-PeerURLs it would be dialled.
func TestWhoAsksWithoutEffect(t *testing.T) {
	var mu sync.Mutex
	var got []*http.Request
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r)
		peer(412, "to field mismatch", "3.6.16", "c1")(w, r)
	})
	_, err := clientOf(t, cluster.ClientConfig{}, deadURL(t)).Who(within(t, 10*time.Second), url, 0xc1, 0x1f)
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.Equal(t, "/raft/stream/message/1f", got[0].URL.Path)
	for name, want := range map[string]string{"X-Raft-To": "1f", "X-Server-From": "1f", "X-Etcd-Cluster-ID": "c1", "X-PeerURLs": ""} {
		assert.Equal(t, want, got[0].Header.Get(name), name)
	}
}

// An answer names its connection: what came on another is another's, until it has told.
func TestWhoAndReadShareAConnectionAsLongAsItLives(t *testing.T) {
	p, url := listen(t, map[string]http.HandlerFunc{readPath: says(200, "c1", "false")})
	p.peer = "3.6.16"
	e := clientOf(t, cluster.ClientConfig{}, deadURL(t))
	ask := func() (who cluster.Answer, read cluster.ReadAnswer) {
		who, err := e.Who(within(t, 10*time.Second), url, 0xc1, 9)
		require.NoError(t, err)
		read, err = e.Read(within(t, 10*time.Second), cluster.Target{ClusterID: 0xc1, Member: cluster.Member{ID: 9, PeerURLs: []string{url}}})
		require.NoError(t, err)
		return who, read
	}
	one, read := ask()
	assert.Equal(t, one.Conn, read.Conn)
	two, read := ask()
	assert.Equal(t, one.Conn, two.Conn)
	assert.Equal(t, one.Conn, read.Conn)
	p.server.CloseClientConnections()
	three, read := ask()
	assert.NotEqual(t, one.Conn, three.Conn)
	assert.Equal(t, three.Conn, read.Conn)
}

// A read asks whose a connection is once, and not in each poll: each question is a
// warning in the log of the server.
func TestAReadAsksOnceForEachConnection(t *testing.T) {
	p, url := listen(t, map[string]http.HandlerFunc{readPath: says(500, "c1", "etcdserver: leader changed")})
	p.peer = "3.6.16"
	e := clientOf(t, cluster.ClientConfig{}, deadURL(t))
	read := func() {
		_, err := e.Read(within(t, 10*time.Second), cluster.Target{ClusterID: 0xc1, Member: cluster.Member{ID: 9, PeerURLs: []string{url}}})
		assert.True(t, isUnready(err), "%v", err)
	}
	for range 5 {
		read()
	}
	assert.Equal(t, append([]string{"/raft/stream/message/9", "/members"}, readPath, readPath, readPath, readPath, readPath), p.got())
	p.server.CloseClientConnections()
	read()
	assert.Equal(t, []string{readPath, "/raft/stream/message/9", "/members", readPath}, p.got()[7:], "what came on a connection that nobody was asked on does not count")
}
