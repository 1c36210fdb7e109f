package etcdtest_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// echo is a server of lines, behind a link.
func echo(t *testing.T) *etcdtest.Link {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { lis.Close() })
	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return etcdtest.NewLink(t, lis.Addr().String())
}

type lineConn struct {
	t *testing.T
	net.Conn
	in    *bufio.Reader
	heard string // of the line that is not complete
}

func dial(t *testing.T, l *etcdtest.Link) *lineConn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &lineConn{t: t, Conn: conn, in: bufio.NewReader(conn)}
}

// dialAndRead is the error of a new connection that nothing is sent on; a reset
// may come before the dial has returned.
func dialAndRead(l *etcdtest.Link) error {
	conn, err := net.Dial("tcp", l.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	return err
}

// say sends a line and returns the error of reading it back within d.
func (c *lineConn) say(line string, d time.Duration) error {
	c.t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		return err
	}
	return c.hear(line, d)
}

func (c *lineConn) hear(line string, d time.Duration) error {
	c.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(d)); err != nil {
		return err // a reset closed it
	}
	part, err := c.in.ReadString('\n')
	c.heard += part
	if err != nil {
		return err
	}
	assert.Equal(c.t, line+"\n", c.heard)
	c.heard = ""
	return nil
}

const (
	soon = 50 * time.Millisecond // long enough for a byte to cross a link that lets it
	late = 10 * time.Second
)

func TestALinkCarriesBothWays(t *testing.T) {
	l := echo(t)
	a, b := dial(t, l), dial(t, l)
	assert.NoError(t, a.say("x", late))
	assert.NoError(t, b.say("GET", late), "the beginning of a request is no request yet")
	assert.Equal(t, 2, l.Connections())
	long := strings.Repeat("0123456789", 100_000)
	assert.NoError(t, a.say(long, late))
	require.NoError(t, a.Conn.(*net.TCPConn).CloseWrite())
	_, err := a.in.ReadByte()
	assert.ErrorIs(t, err, io.EOF, "an orderly end passes")
}

func TestACutLinkResets(t *testing.T) {
	l := echo(t)
	c := dial(t, l)
	require.NoError(t, c.say("x", late))
	l.Cut()
	assert.Error(t, c.say("y", late))
	assert.ErrorIs(t, dialAndRead(l), syscall.ECONNRESET)
	l.Heal()
	assert.NoError(t, dial(t, l).say("x", late))
}

// A line that is full when it is cut comes to its end all the same.
func TestAFullLinkThatIsCutEnds(t *testing.T) {
	for name, end := range map[string]func(*etcdtest.Link){
		"cut": func(l *etcdtest.Link) { l.Cut() }, "cut, then healed": func(l *etcdtest.Link) { l.Cut(); l.Heal() }, "left as it is": func(*etcdtest.Link) {},
	} {
		t.Run(name, func(t *testing.T) {
			l := echo(t)
			c, err := net.Dial("tcp", l.Addr())
			require.NoError(t, err)
			defer c.Close()
			l.Throttle(64 << 10)
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, err = c.Write(make([]byte, 64<<20))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded, "it is full")
			end(l)
		})
	}
}

func TestAFrozenLinkHoldsAndLosesNothing(t *testing.T) {
	l := echo(t)
	old := dial(t, l)
	require.NoError(t, old.say("x", late))
	l.Freeze()
	fresh := dial(t, l)
	assert.Error(t, old.say("held", soon))
	assert.Error(t, fresh.say("held", soon))
	l.Heal()
	assert.NoError(t, old.hear("held", late))
	assert.NoError(t, fresh.hear("held", late))
}

func TestAThrottledLinkIsSlow(t *testing.T) {
	l := echo(t)
	c := dial(t, l)
	l.Throttle(64 << 10)
	began := time.Now()
	require.NoError(t, c.say(strings.Repeat("x", 32<<10), late))
	assert.Greater(t, time.Since(began), 300*time.Millisecond, "half a second's worth")

	l.Throttle(1)
	assert.Error(t, c.say("y", soon))
	l.Heal()
	assert.NoError(t, c.hear("y", late), "what waits for a slow line does not wait on")
}

func TestSwallowedAnswersWereRequestsDone(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	l := etcdtest.NewLink(t, strings.TrimPrefix(server.URL, "http://"))
	url := "http://" + l.Addr()
	client := &http.Client{Transport: &http.Transport{}}
	ask := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		require.NoError(t, err)
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	require.NoError(t, ask(late))
	l.SwallowResponses()
	require.ErrorIs(t, ask(500*time.Millisecond), context.DeadlineExceeded)
	assert.EqualValues(t, 2, asked.Load())
	l.Heal()
	assert.NoError(t, ask(late))
}

func TestALostAnswerWasAWriteDone(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1)
	l := etcdtest.NewLink(t, strings.TrimPrefix(cluster.Endpoints()[0], "http://"))
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{l.Addr()}, Logger: zap.NewNop()})
	require.NoError(t, err)
	defer cli.Close()
	_, err = cli.Put(t.Context(), "before", "v")
	require.NoError(t, err)

	l.SwallowResponses()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = cli.Put(ctx, "lost", "v")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	resp, err := cluster.Client().Get(t.Context(), "lost")
	require.NoError(t, err)
	assert.Len(t, resp.Kvs, 1)

	l.Heal()
	_, err = cli.Get(t.Context(), "after")
	assert.NoError(t, err)
}

func TestALinkToNothingIsReset(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, lis.Close())
	assert.ErrorIs(t, dialAndRead(etcdtest.NewLink(t, lis.Addr().String())), syscall.ECONNRESET)
}

// joined is a cluster of one and a learner that serves, each behind its link.
func joined(t *testing.T, opts ...etcdtest.Option) (*etcdtest.Cluster, *etcdtest.Server) {
	t.Helper()
	cluster := etcdtest.Start(t, 1, append(opts, etcdtest.WithLinks())...)
	s := cluster.NewServer("joiner")
	cluster.AddLearner(s)
	require.NoError(t, s.Start(cluster.InitialCluster(s)))
	require.NoError(t, s.WaitServing(t.Context()))
	return cluster, s
}

// reads says whether a linearizable read through the server's peer port works.
func reads(t *testing.T, s *etcdtest.Server) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.PeerURL+"/downgrade/enabled", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func TestALearnerCutOffFromRaftStillAnswersButReadsNothing(t *testing.T) {
	t.Parallel()
	cluster, s := joined(t)
	voter := cluster.Servers()[0]
	require.Eventually(t, func() bool { return reads(t, s) }, late, soon)

	s.Link().CutRaft()
	voter.Link().CutRaft()
	assert.Equal(t, http.StatusOK, get(t, nil, s.PeerURL+"/version"))
	assert.Equal(t, http.StatusOK, get(t, nil, s.PeerURL+"/members"))
	assert.False(t, reads(t, s))
	_, err := cluster.Client().Put(t.Context(), "k", "v")
	assert.NoError(t, err, "the voter does not need it")

	s.Link().Heal()
	voter.Link().Heal()
	assert.Eventually(t, func() bool { return reads(t, s) }, late, soon)
}

func TestACutPeerLinkTakesAVoterOut(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.WithLinks(), etcdtest.WithVersion(process))
	leader := cluster.Leader()
	for _, s := range cluster.Servers() {
		s.Link().Cut()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := cluster.ClientFor(leader).Put(ctx, "k", "v")
	require.Error(t, err)
	for _, s := range cluster.Servers() {
		s.Link().Heal()
	}
	cluster.Leader()
	assert.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := cluster.Client().Put(ctx, "k", "v")
		return err == nil
	}, 30*time.Second, soon)
}

func TestAThrottledLearnerIsLate(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.WithLinks())
	cluster.PutMiB(4)
	s := cluster.NewServer("joiner")
	cluster.AddLearner(s)
	// Entries reach the learner over either of two ways: the leader dials it, or
	// it dials the leader.
	s.Link().Throttle(64 << 10)
	cluster.Servers()[0].Link().Throttle(64 << 10)
	require.NoError(t, s.Start(cluster.InitialCluster(s)))
	assert.Never(t, func() bool { return reads(t, s) }, 3*time.Second, 100*time.Millisecond)
	s.Link().Heal()
	cluster.Servers()[0].Link().Heal()
	assert.Eventually(t, func() bool { return reads(t, s) }, 30*time.Second, soon)
}
