package etcdtest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// A Link is a TCP proxy before one port, with faults to switch on and off. It
// carries the connections that others make to the port, so a link before a
// peer port stands between its server and those that dial it. Each control
// replaces the one before and holds for present connections as well as new
// ones; what was passed on before it may still arrive. Only [Link.Throttle]
// combines with the others.
//
// It is our own because no proxy we know tells etcd's raft traffic from other
// requests to the same port, which [Link.CutRaft] needs; the rest is small
// beside that.
type Link struct {
	tb     testing.TB
	target string
	tls    bool
	lis    net.Listener

	mu      sync.Mutex
	mode    mode
	rate    int          // bytes per second each way, 0 without limit
	free    [2]time.Time // per direction, when the line is next free
	conns   map[*linkConn]struct{}
	changed chan struct{} // closed and replaced at every control
	over    bool
	wg      sync.WaitGroup
}

type mode int

const (
	pass mode = iota
	cut
	cutRaft
	freeze
	swallow
)

// NewLink puts a link before target, a "host:port", and closes it with the
// test. Others reach it by [Link.Addr]. It cannot see whether it carries TLS,
// with which [Link.CutRaft] cuts nothing.
func NewLink(tb testing.TB, target string) *Link {
	tb.Helper()
	l, err := listenLink(tb, "127.0.0.1:0", target, false)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(l.close)
	return l
}

func listenLink(tb testing.TB, addr, target string, tls bool) (*Link, error) {
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &Link{
		tb: tb, target: target, tls: tls, lis: lis,
		conns: map[*linkConn]struct{}{}, changed: make(chan struct{}),
	}
	l.wg.Go(l.accept)
	return l, nil
}

// Addr is the link's own "host:port".
func (l *Link) Addr() string { return l.lis.Addr().String() }

// Cut resets every connection and each new one, as a host does whose program
// is gone. For a network that drops packets see [Link.Freeze].
func (l *Link) Cut() { l.control(cut) }

// CutRaft resets the connections that carry raft, those whose first request is
// for a path under /raft, and lets all others pass: the server is cut off from
// those that send it entries, while its peer port still answers /version,
// /members and /downgrade/enabled. Both sides of a pair dial, and either may
// carry the entries one way, so cutting a server off takes its own link and
// those of the others. It fails the test with TLS, where no path can be seen.
func (l *Link) CutRaft() {
	l.tb.Helper()
	if l.tls {
		l.tb.Fatal("etcdtest: CutRaft reads the path of requests, which TLS hides")
	}
	l.control(cutRaft)
}

// Freeze holds every byte back, in both directions: connections stay open and
// new ones are accepted, but nothing moves, as in a network that drops packets.
// Nothing is lost: after [Link.Heal] the bytes arrive.
func (l *Link) Freeze() { l.control(freeze) }

// SwallowResponses lets requests reach the server and drops its answers, so
// that what was asked is done and nobody learns of it. After [Link.Heal] the
// connections that missed something are reset.
func (l *Link) SwallowResponses() { l.control(swallow) }

// Throttle lets this many bytes pass a second in each direction, shared by all
// connections; 0 lifts the limit.
func (l *Link) Throttle(bytesPerSecond int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rate = bytesPerSecond
	l.free = [2]time.Time{}
	l.announce()
}

// Heal ends every fault, the throttle too.
func (l *Link) Heal() {
	l.Throttle(0)
	l.control(pass)
}

// Connections is how many connections the link carries now.
func (l *Link) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

func (l *Link) control(m mode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode = m
	for c := range l.conns {
		if l.condemns(c) {
			c.reset()
		}
	}
	l.announce()
}

// condemns says whether c must not go on in the present mode. The caller holds
// the lock.
func (l *Link) condemns(c *linkConn) bool {
	switch l.mode {
	case cut:
		return true
	case cutRaft:
		return c.raft || c.damaged
	case swallow:
		return false
	default:
		return c.damaged
	}
}

// announce wakes all that wait for a change. The caller holds the lock.
func (l *Link) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Link) accept() {
	for {
		conn, err := l.lis.Accept()
		if err != nil {
			return // closed
		}
		l.wg.Go(func() { l.serve(conn.(*net.TCPConn)) })
	}
}

// close ends the link and all its connections.
func (l *Link) close() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.lis.Close()
	l.control(cut)
	l.wg.Wait()
}
