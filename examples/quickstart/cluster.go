package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/member"
)

// shownErrors is how many of the errors that servers logged are shown.
const shownErrors = 10

// A cluster is some etcd servers inside this process.
type servers struct {
	dir     string // has a data directory for each, and the log
	log     *zap.Logger
	logFile *os.File
	nodes   []*node // those that joined or tried to, in order
}

// startCluster starts a cluster of one member and waits until it serves.
func startCluster(ctx context.Context, dir string, stderr io.Writer) (*servers, error) {
	file, err := os.Create(filepath.Join(dir, "errors.log"))
	if err != nil {
		return nil, err
	}
	c := &servers{dir: dir, log: quietLog(file, stderr), logFile: file}
	n, err := c.newNode(ctx)
	if err != nil {
		return nil, err
	}
	n.server = launch(n.config(n.name+"="+n.peerURL, embed.ClusterStateFlagNew))
	if err := n.server.ready(ctx); err != nil {
		c.close()
		return nil, fmt.Errorf("start %s: %w\n%s", n.name, err, c.errors())
	}
	return c, nil
}

// quietLog keeps the errors of etcd, which is talkative, in a file. What etcd
// calls fatal it ends the process after; that goes to stderr, for the file is
// left behind then and nobody would look there.
func quietLog(file *os.File, stderr io.Writer) *zap.Logger {
	enc := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	return zap.New(zapcore.NewTee(
		zapcore.NewCore(enc, zapcore.Lock(file), zapcore.ErrorLevel),
		zapcore.NewCore(enc, zapcore.Lock(zapcore.AddSync(stderr)), zapcore.FatalLevel),
	))
}

// errors are the last that the servers have logged.
func (c *servers) errors() string {
	log, err := os.ReadFile(c.logFile.Name())
	if err != nil {
		return ""
	}
	lines := bytes.SplitAfter(log, []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-1-shownErrors):], nil))
}

// dial makes a client that logs nothing.
func (c *servers) dial(clientURL string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{clientURL}, Logger: zap.NewNop()})
}

// close ends all servers at once.
func (c *servers) close() {
	var wg sync.WaitGroup
	for _, n := range c.nodes {
		wg.Go(func() { _ = n.Stop(context.Background()) })
	}
	wg.Wait()
	c.logFile.Close()
}

// A node is the place of one server: its name, its URLs, its directory. Its
// methods Start, Stop and Exited are the hooks of a join.
type node struct {
	name, peerURL, clientURL string
	cluster                  *servers

	mu     sync.Mutex
	server *server    // nil before the first start
	id     cluster.ID // that it was started as
}

// newNode makes the next node. It does not run, and the cluster does not know it.
func (c *servers) newNode(ctx context.Context) (*node, error) {
	ports, err := freePorts(ctx, 2)
	if err != nil {
		return nil, err
	}
	n := &node{
		name:      fmt.Sprintf("member-%d", len(c.nodes)+1),
		peerURL:   fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
		clientURL: fmt.Sprintf("http://127.0.0.1:%d", ports[1]),
		cluster:   c,
	}
	c.nodes = append(c.nodes, n)
	return n, nil
}

// Start starts the server as the member that the library has added. A call for
// the member that runs does nothing; another member gets a directory of its own,
// for no member can run on the data of another.
func (n *node) Start(_ context.Context, spec member.StartSpec) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil && !n.server.ended() && n.id == spec.MemberID {
		return nil
	}
	n.server.stop()
	n.id = spec.MemberID
	n.server = launch(n.config(spec.InitialCluster, embed.ClusterStateFlagExisting))
	return nil
}

// Stop ends the server and returns when it is gone.
func (n *node) Stop(context.Context) error {
	n.running().stop()
	return nil
}

// Exited says how the server ended, nil while it runs.
func (n *node) Exited(context.Context) *cluster.ExitError {
	s := n.running()
	switch {
	case s == nil || !s.ended():
		return nil
	case s.err != nil:
		return &cluster.ExitError{Code: 1, Output: s.err.Error()}
	}
	return &cluster.ExitError{}
}

func (n *node) running() *server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// config says to the embedded server what flags say to an etcd process.
func (n *node) config(initialCluster, state string) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = n.name, n.dataDir()
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = urls(n.peerURL), urls(n.peerURL)
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = urls(n.clientURL), urls(n.clientURL)
	cfg.InitialCluster, cfg.ClusterState = initialCluster, state
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(n.cluster.log)
	cfg.QuotaBackendBytes = 8 << 30
	// Only the loss of this machine could lose what is not synced, and all data
	// goes with the program anyway. A real member syncs.
	cfg.UnsafeNoFsync = true
	return cfg
}

// dataDir is one for each member that the node has ever been.
func (n *node) dataDir() string { return filepath.Join(n.cluster.dir, n.name+"-"+n.id.String()) }

func urls(raw string) []url.URL {
	u, err := url.Parse(raw)
	if err != nil {
		panic(err) // we made it ourselves
	}
	return []url.URL{*u}
}

// index is what the server has applied, 0 before it runs.
func (n *node) index() uint64 {
	if etcd := n.running().listening(); etcd != nil {
		return etcd.Server.AppliedIndex()
	}
	return 0
}

// dbBytes is how much of the database is on the node's disk: while a snapshot
// arrives it is in a file of its own beside an empty one.
func (n *node) dbBytes() int64 {
	n.mu.Lock()
	files, _ := filepath.Glob(filepath.Join(n.dataDir(), "member", "snap", "*"))
	n.mu.Unlock()
	var most int64
	for _, f := range files {
		if info, err := os.Stat(f); err == nil { // else it was renamed meanwhile
			most = max(most, info.Size())
		}
	}
	return most
}

// freePorts finds n free ports below the range in which the kernel picks ports
// for outgoing connections, for a port is closed between the search and the
// server's start, and nobody's dial may take it meanwhile.
func freePorts(ctx context.Context, n int) ([]int, error) {
	var ports []int
	var listen net.ListenConfig
	for tries := 0; len(ports) < n; tries++ {
		if tries == 1000 {
			return nil, errors.New("no free port on 127.0.0.1")
		}
		port := 20000 + rand.IntN(10000)
		l, err := listen.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer l.Close() // only after all are found: each is found once
		ports = append(ports, port)
	}
	return ports, nil
}
