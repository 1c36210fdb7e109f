package etcdtest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// startWithin is how long a fresh cluster may take until it takes writes.
const startWithin = time.Minute

// A Cluster is a running etcd cluster that ends with its test. Its methods may
// be called from any goroutine. Those that return no error fail the test.
type Cluster struct {
	tb     testing.TB
	set    settings
	dir    string
	token  string
	voters []*Server

	mu      sync.Mutex
	issued  *certs    // nil as long as no server needs any
	servers []*Server // voters and joiners
	client  *clientv3.Client
	clients []*clientv3.Client
}

// Start starts a fresh cluster of n voters and returns when all of them serve
// and a write has succeeded. It fails the test if that takes over a minute, the
// building of a binary not counted.
func Start(tb testing.TB, n int, opts ...Option) *Cluster {
	tb.Helper()
	c := newCluster(tb, opts)
	for i := range n {
		set, err := c.set.server.with(c.set.voters[i+1])
		if err != nil {
			tb.Fatal(err)
		}
		s, err := c.newServer(fmt.Sprintf("voter-%d", i+1), set)
		if err != nil {
			tb.Fatal(err)
		}
		c.voters = append(c.voters, s)
	}
	initial := initialCluster(c.voters)
	for _, s := range c.voters {
		if err := s.start(start{initial: initial, state: "new"}); err != nil {
			tb.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(tb.Context(), startWithin)
	defer cancel()
	if err := c.waitForWrites(ctx); err != nil {
		tb.Fatalf("etcdtest: the cluster of %d does not serve: %v", n, err)
	}
	return c
}

func newCluster(tb testing.TB, opts []Option) *Cluster {
	tb.Helper()
	// Two clusters that had the same ports one after the other would have the
	// same cluster ID and member IDs too, but for the token.
	c := &Cluster{tb: tb, dir: tb.TempDir(), token: rand.Text(), set: settings{server: defaults()}}
	for _, o := range opts {
		o.applyCluster(&c.set)
	}
	if err := c.set.server.check(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.close) // runs before the directory is removed
	return c
}

// NewServer makes a server that can join the cluster: it has its ports and an
// empty data directory, does not run, and is not in the member list. It is like
// the voters where opts do not say otherwise. Names may be given twice.
func (c *Cluster) NewServer(name string, opts ...ServerOption) *Server {
	c.tb.Helper()
	set, err := c.set.server.with(opts)
	if err != nil {
		c.tb.Fatal(err)
	}
	s, err := c.newServer(name, set)
	if err != nil {
		c.tb.Fatal(err)
	}
	return s
}

// Servers are the voters [Start] started, in order, whatever has become of
// them. Joiners are not among them.
func (c *Cluster) Servers() []*Server { return append([]*Server{}, c.voters...) }

// Endpoints are the client URLs of [Cluster.Servers].
func (c *Cluster) Endpoints() []string { return clientURLs(c.voters) }

// Client is a client of all voters, the same at each call. It logs nothing and
// is closed with the cluster.
func (c *Cluster) Client() *clientv3.Client {
	c.tb.Helper()
	c.mu.Lock()
	cli := c.client
	c.mu.Unlock()
	if cli != nil {
		return cli
	}
	cli = c.ClientFor(c.voters...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		c.client = cli
	}
	return c.client
}

// ClientFor is a client of just these servers, a new one at each call. It logs
// nothing and is closed with the cluster; the caller may close it before.
func (c *Cluster) ClientFor(servers ...*Server) *clientv3.Client {
	c.tb.Helper()
	return c.ClientAt(clientURLs(servers)...)
}

// ClientAt is a client of these URLs, such as those of a [Link] before a client
// port, a new one at each call. It logs nothing and is closed with the cluster;
// the caller may close it before.
func (c *Cluster) ClientAt(urls ...string) *clientv3.Client {
	c.tb.Helper()
	cli, err := c.dialURLs(urls)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients = append(c.clients, cli)
	return cli
}

// dialURLs makes a client without waiting for a connection; the caller closes it.
func (c *Cluster) dialURLs(urls []string, opts ...grpc.DialOption) (*clientv3.Client, error) {
	var conf *tls.Config
	if slices.ContainsFunc(urls, func(u string) bool { return strings.HasPrefix(u, "https://") }) {
		conf = c.ClientTLS()
	}
	cli, err := clientv3.New(clientv3.Config{
		Endpoints:   urls,
		TLS:         conf,
		Logger:      zap.NewNop(),
		DialOptions: opts,
	})
	if err != nil {
		return nil, fmt.Errorf("etcdtest: client: %w", err)
	}
	return cli, nil
}

func (c *Cluster) waitForWrites(ctx context.Context) error {
	for _, s := range c.voters {
		if err := s.WaitServing(ctx); err != nil {
			return err
		}
	}
	return poll(ctx, func(ctx context.Context) error {
		_, err := c.Client().Put(ctx, "etcdtest/started", c.token)
		return err
	})
}

// close ends everything and returns when no process of ours is left. If the
// test failed it shows the servers' logs first, before our own end of them
// fills the lines.
func (c *Cluster) close() {
	c.mu.Lock()
	servers, clients := c.servers, c.clients
	c.mu.Unlock()
	if c.tb.Failed() {
		c.showLogs(servers)
	}
	for _, cli := range clients {
		cli.Close() // before the servers: an embedded one waits for the streams of its clients
	}
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(s.close)
	}
	wg.Wait()
}

func clientURLs(servers []*Server) []string {
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = s.ClientURL
	}
	return urls
}

func initialCluster(servers []*Server) string {
	entries := make([]string, len(servers))
	for i, s := range servers {
		entries[i] = entry(s.Name, s.PeerURLs())
	}
	return strings.Join(entries, ",")
}

// entry is a member's part of an initial cluster, which has it once for each URL.
func entry(name string, urls []string) string {
	parts := make([]string, len(urls))
	for i, u := range urls {
		parts[i] = name + "=" + u
	}
	return strings.Join(parts, ",")
}
