package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// stopWithin is how long a server may take to end when asked politely.
const stopWithin = 30 * time.Second

// A Server is one etcd server of a test, a voter or one that may join. It keeps
// its URLs and its data directory over any number of starts. Methods may be
// called from any goroutine; those that return no error fail the test.
type Server struct {
	Name      string
	PeerURL   string // where others reach it; leads to the link if there is one
	ClientURL string
	// ListenPeerURL is where etcd itself listens for peers: behind the link if
	// there is one, else PeerURL.
	ListenPeerURL string
	MetricsURL    string // always plain HTTP: /metrics, /health and, from 3.4.29 and 3.5.11 on, /livez and /readyz
	Dir           string // the data directory; etcd makes it

	c     *Cluster
	ports *ports
	link  *Link
	log   tail

	mu      sync.Mutex
	set     serverSettings
	bin     string // of a process
	last    start
	run     run       // the present or last one, nil before the first start
	started time.Time // when it last was
	over    bool      // the test is: nothing may start any more
}

// A run is one life of a server, from its start to its end.
type run interface {
	stop() // asks for a clean end and does not wait
	kill() // ends it as abruptly as can be and does not wait
	signal(syscall.Signal) error
	ended() <-chan struct{}
	result() (exitCode int, err error) // once it ended
}

// start is what a run was started with.
type start struct {
	initial string
	state   string   // "new" or "existing"
	args    []string // further flags, for this start alone
}

func (c *Cluster) newServer(name string, set serverSettings) (*Server, error) {
	bin, err := set.binary(c.tb.Context())
	if err != nil {
		return nil, err
	}
	p, err := reservePorts(set.host)
	if err != nil {
		return nil, err
	}
	s := &Server{Name: name, c: c, ports: p, set: set, bin: bin}
	s.PeerURL = set.peerScheme + "://" + p.addr(0)
	s.ClientURL = set.clientScheme + "://" + p.addr(1)
	s.MetricsURL = "http://" + p.addr(2)
	s.ListenPeerURL = s.PeerURL
	c.mu.Lock()
	s.Dir = filepath.Join(c.dir, fmt.Sprintf("server-%d", len(c.servers)+1))
	c.servers = append(c.servers, s)
	c.mu.Unlock()
	if set.clientScheme == "https" || set.peerScheme == "https" {
		if _, err := c.needCerts(); err != nil {
			return nil, err
		}
	}
	if !c.set.links {
		return s, nil
	}
	s.ListenPeerURL = set.peerScheme + "://" + p.addr(3)
	s.link = &Link{tb: c.tb, addr: p.addr(0), own: p.addr(3), scheme: set.peerScheme}
	if set.peerScheme == "https" {
		s.link.cert = c.certs().peer.server()
	}
	return s, s.link.open()
}

// PeerURLs are what to add to the member list: PeerURL, unless [WithPeerURLs]
// says otherwise.
func (s *Server) PeerURLs() []string { return published(s.settings().peerURLs, s.PeerURL) }

// ClientURLs are what the server publishes in the member list: ClientURL,
// unless [WithClientURLs] says otherwise.
func (s *Server) ClientURLs() []string { return published(s.settings().clientURLs, s.ClientURL) }

func published(choose func(string) []string, own string) []string {
	if choose == nil {
		return []string{own}
	}
	return choose(own)
}

func (s *Server) settings() serverSettings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set
}

// Start starts the server as a member of a running cluster, with initialCluster
// as etcd's --initial-cluster and the state "existing". With "" it starts with
// what the last start had, which is how to restart one that was stopped.
//
// It returns as soon as the server is under way: a server that then gives up
// shows it by [Server.Exited], [Server.ExitCode] and [Server.Err]. While the
// server runs Start does nothing, so a start hook may call it at will.
func (s *Server) Start(initialCluster string) error {
	return s.StartArgs(initialCluster)
}

// StartArgs is [Server.Start] with further flags for this one start, right or
// wrong ones. An embedded server has no flags, so there they are an error.
func (s *Server) StartArgs(initialCluster string, args ...string) error {
	return s.start(start{initial: initialCluster, state: "existing", args: args})
}

func (s *Server) start(how start) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return fmt.Errorf("etcdtest: start %s: its test is over", s.Name)
	case running(s.run):
		return nil
	}
	if how.initial == "" {
		how.initial, how.state = s.last.initial, s.last.state
	}
	if how.initial == "" {
		return fmt.Errorf("etcdtest: %s was never started, so there is nothing to start it with again", s.Name)
	}
	r, err := s.launch(how)
	if err != nil {
		return fmt.Errorf("etcdtest: start %s: %w", s.Name, err)
	}
	s.run, s.last, s.started = r, how, time.Now()
	return nil
}

func (s *Server) launch(how start) (run, error) {
	if !s.set.embedded() {
		return startProcess(s.bin, append(s.flags(how), how.args...), s.set.env, &s.log)
	}
	if len(how.args) > 0 {
		return nil, errors.New("an embedded server takes no flags")
	}
	cfg, err := s.config(how)
	if err != nil {
		return nil, err
	}
	return startEmbedded(cfg), nil
}

// Stop ends the server as SIGTERM does, or closes an embedded one, and returns
// when it is gone; a leader hands over first, and etcd gives its clients' open
// streams seven seconds. A paused process is resumed for
// it. If half a minute does not do, it is killed and the test fails. A server
// that does not run is left alone.
func (s *Server) Stop() {
	s.c.tb.Helper()
	r := s.present()
	if !running(r) {
		return
	}
	r.stop()
	select {
	case <-r.ended():
	case <-time.After(stopWithin):
		r.kill()
		<-r.ended()
		s.c.tb.Errorf("etcdtest: %s did not stop within %v", s.Name, stopWithin)
	}
}

// Kill ends the server by SIGKILL and returns when it is gone. The closest
// thing for an embedded server, and what is done there, is to close the clients'
// connections and stop raft without handing over leadership, then to close it. A server that does not run is
// left alone.
func (s *Server) Kill() {
	if r := s.present(); running(r) {
		r.kill()
		<-r.ended()
	}
}

// Pause stops the process by SIGSTOP: its ports still accept connections and
// answer nothing. It fails the test if the server is embedded or does not run.
func (s *Server) Pause() {
	s.c.tb.Helper()
	s.signal(syscall.SIGSTOP)
}

// Resume continues a paused process. It fails the test where [Server.Pause] would.
func (s *Server) Resume() {
	s.c.tb.Helper()
	s.signal(syscall.SIGCONT)
}

func (s *Server) signal(sig syscall.Signal) {
	s.c.tb.Helper()
	r := s.present()
	if !running(r) {
		s.c.tb.Fatalf("etcdtest: %v: %s does not run", sig, s.Name)
	}
	if err := r.signal(sig); err != nil {
		s.c.tb.Fatalf("etcdtest: %v to %s: %v", sig, s.Name, err)
	}
}

// Wipe removes the data directory of a server that does not run, as a lost
// disk would; of a running one it fails the test.
func (s *Server) Wipe() {
	s.c.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if running(s.run) {
		s.c.tb.Fatalf("etcdtest: wipe %s: it runs", s.Name)
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		s.c.tb.Fatalf("etcdtest: wipe %s: %v", s.Name, err)
	}
}

// CopyData gives a server that does not run the data directory of another, as
// a cloned machine or a restored backup would. For a whole copy the other must
// not run either; of a running one it is what a crash might leave.
func (s *Server) CopyData(from *Server) {
	s.c.tb.Helper()
	s.Wipe()
	if err := os.CopyFS(s.Dir, os.DirFS(from.Dir)); err != nil {
		s.c.tb.Fatalf("etcdtest: copy the data of %s: %v", from.Name, err)
	}
	if err := os.Chmod(s.Dir, 0o700); err != nil {
		s.c.tb.Fatalf("etcdtest: copy the data of %s: %v", from.Name, err)
	}
}

// UseVersion makes the next start one of another release, as an upgrade would,
// or embedded with "". Flags, variables and configuration given before are
// dropped, since another release may not know them. It fails the test as [Binary] does.
func (s *Server) UseVersion(version string) {
	s.c.tb.Helper()
	bin, err := serverSettings{version: version}.binary(s.c.tb.Context())
	if err != nil {
		s.c.tb.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.version, s.bin = version, bin
	s.set.args, s.set.changes, s.set.env = nil, nil, nil
}

// Running says whether the server was started and has not ended.
func (s *Server) Running() bool { return running(s.present()) }

// Exited is closed while the server does not run. Each start has a channel of
// its own.
func (s *Server) Exited() <-chan struct{} {
	if r := s.present(); r != nil {
		return r.ended()
	}
	return closed
}

// ExitCode is how the last run ended: the process's exit code, or 128 and the
// signal that ended it, as shells count. An embedded server has 0 where a
// process would have been stopped well, else 1. It is -1 for a server that runs
// or was never started.
func (s *Server) ExitCode() int {
	code, _ := s.ending()
	return code
}

// Err is the error the last run ended with: an exit code but 0, or what an
// embedded server's start reported. It is nil for a server that runs, was never
// started, or ended well.
func (s *Server) Err() error {
	_, err := s.ending()
	return err
}

func (s *Server) ending() (int, error) {
	r := s.present()
	if r == nil || running(r) {
		return -1, nil
	}
	return r.result()
}

// Log is the end of what the server has logged over all its starts, 256 KiB at
// most: JSON lines, or plain ones by 3.3 and 3.4.
func (s *Server) Log() string { return s.log.String() }

// LastLines is the end of the log, n lines at most.
func (s *Server) LastLines(n int) string { return s.log.lastLines(n) }

// LogLines are the lines of [Server.Log] that contain text, in order.
func (s *Server) LogLines(text string) []string { return s.log.linesWith(text) }

// WaitLog waits until the log has a line that contains text, one from before
// included, and returns the first.
func (s *Server) WaitLog(ctx context.Context, text string) (string, error) {
	for {
		more := s.log.more()
		if lines := s.log.linesWith(text); len(lines) > 0 {
			return lines[0], nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return "", fmt.Errorf("etcdtest: %s has not logged %q: %w", s.Name, text, context.Cause(ctx))
		}
	}
}

// Link is the link before the server's peer port. It fails the test if the
// cluster is without [WithLinks].
func (s *Server) Link() *Link {
	s.c.tb.Helper()
	if s.link == nil {
		s.c.tb.Fatal("etcdtest: the cluster was started without WithLinks")
	}
	return s.link
}

// WaitServing waits until the server's client port answers. It returns an error
// if ctx ends before, or if the server does.
func (s *Server) WaitServing(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.Exited():
			cancel(s.absence())
		case <-ctx.Done():
		}
	}()
	cli, err := s.dial()
	if err != nil {
		return err
	}
	defer cli.Close()
	err = poll(ctx, func(ctx context.Context) error {
		_, err := cli.Status(ctx, s.ClientURL)
		return err
	})
	if err != nil {
		return fmt.Errorf("etcdtest: %s does not serve: %w", s.Name, err)
	}
	return nil
}

// absence says why a server that does not run does not.
func (s *Server) absence() error {
	if err := s.Err(); err != nil {
		return fmt.Errorf("it has ended: %w", err)
	}
	return errors.New("it does not run")
}

// dial makes a client of this server that tries again fast: gRPC waits a
// second after the first refused connection, longer than most starts take.
func (s *Server) dial() (*clientv3.Client, error) {
	return s.c.dialURLs([]string{s.ClientURL}, grpc.WithConnectParams(grpc.ConnectParams{
		Backoff: backoff.Config{BaseDelay: pollEvery, Multiplier: 1, MaxDelay: pollEvery},
	}))
}

// embedded says whether the server's next start is one in this process.
func (s *Server) embedded() bool { return s.settings().embedded() }

// pid is the process that runs now, 0 if there is none.
func (s *Server) pid() int {
	if p, ok := s.present().(*process); ok && running(p) {
		return p.cmd.Process.Pid
	}
	return 0
}

func (s *Server) present() run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

func (s *Server) describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set.embedded() {
		return "embedded"
	}
	return "etcd " + s.set.version
}

// close ends the server for good and frees its ports.
func (s *Server) close() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.Kill()
	if s.link != nil {
		s.link.close()
	}
	s.ports.release()
}

var closed = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

func running(r run) bool {
	if r == nil {
		return false
	}
	select {
	case <-r.ended():
		return false
	default:
		return true
	}
}
