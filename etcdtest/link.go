package etcdtest

import (
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Link is what listens at a port in the place of a server: a TCP proxy with
// faults to switch on and off, which can also lead elsewhere. It carries the
// connections that others make to the port, so a link before a peer port
// stands between its server and those that dial it: cutting it cuts one
// direction, and what the server itself dials goes on.
//
// A link has two settings, each with controls that replace one another. One is
// its fault: [Link.Cut], [Link.Refuse], [Link.Drop], [Link.Freeze] and
// [Link.SwallowResponses], of which some can be held to raft alone or to those
// that one server dials, see [Which]; [Link.Throttle] combines with them. The
// other is where it leads: its own server, [Link.LeadTo] another one,
// [Link.Serve] a web server, [Link.Speak] something else. Each holds for
// present connections as well as for new ones; what was passed on before it may
// still arrive. [Link.Heal] takes all of it back.
//
// It is our own because no proxy we know tells etcd's raft traffic from other
// requests to the same port, which [OnlyRaft] needs; the rest is small beside
// that.
type Link struct {
	tb     testing.TB
	addr   string
	own    string      // where it leads when healed: "host:port", or "" for nowhere
	cert   *tls.Config // of the web server at a port that speaks TLS
	scheme string
	ports  *ports // reserved for this link alone

	mu      sync.Mutex
	door    door
	target  string
	stand   closer // what target is, where that is ours
	fault   fault
	rate    int          // bytes per second each way, 0 without limit
	free    [2]time.Time // per direction, when the line is next free
	conns   map[*linkConn]struct{}
	changed chan struct{} // closed and replaced at every control
	over    bool
	wg      sync.WaitGroup
}

type closer interface{ Close() error }

// NewLink puts a link before target, a URL or "host:port", and closes it with
// the test. Others reach it by [Link.URL] or [Link.Addr]. With the target "" it
// leads nowhere and resets what connects to it: an address for [Link.Refuse],
// [Link.Serve], [Link.LeadTo] and [Link.Speak].
//
// A link before a client port holds a client's calls on their way: after
// [Link.Freeze] the server gets them when [Link.Heal] lets them go, on the same
// TCP connection, whether the client still waits for them or not.
func NewLink(tb testing.TB, target string) *Link {
	tb.Helper()
	p, err := reservePorts("127.0.0.1")
	if err != nil {
		tb.Fatal(err)
	}
	scheme, host := splitURL(target)
	l := &Link{tb: tb, addr: p.addr(0), own: host, scheme: scheme, ports: p}
	if err := l.open(); err != nil {
		p.release()
		tb.Fatal(err)
	}
	tb.Cleanup(l.close)
	return l
}

// splitURL takes "host:port" for a plain one.
func splitURL(target string) (scheme, host string) {
	if !strings.Contains(target, "://") {
		return "http", target
	}
	u, err := url.Parse(target)
	if err != nil {
		return "http", target // it cannot be dialled, which the connection shows
	}
	return u.Scheme, u.Host
}

// open makes the link listen.
func (l *Link) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns, l.changed, l.target = map[*linkConn]struct{}{}, make(chan struct{}), l.own
	return l.turn(accepting)
}

// Addr is the link's own "host:port".
func (l *Link) Addr() string { return l.addr }

// URL is where others reach the link, with the scheme of what it was put before.
func (l *Link) URL() string { return l.scheme + "://" + l.addr }

// Cut resets every connection and each new one, as a host does whose program
// is gone in the middle. For a port where nothing listens see [Link.Refuse],
// for a network that drops packets [Link.Drop].
func (l *Link) Cut(which ...Which) { l.control(cut, which) }

// CutRaft is [Link.Cut] with [OnlyRaft].
func (l *Link) CutRaft() { l.Cut(OnlyRaft()) }

// Refuse resets every connection and refuses new ones: nothing listens there.
func (l *Link) Refuse() { l.control(refuse, nil) }

// Drop lets every packet disappear, as a firewall does that drops: connections
// stay open and nothing moves on them, and a new one is not even accepted, so
// that whoever dials waits until its own patience ends. After [Link.Heal] the
// bytes held back arrive.
func (l *Link) Drop() { l.control(drop, nil) }

// Freeze holds every byte back, in both directions: connections stay open and
// new ones are accepted, but nothing moves, as with a stopped process. Nothing
// is lost: after [Link.Heal] the bytes arrive, on the same connections and with
// the pauses they were sent with (a second's worth), so that a call that was
// given up is done before its cancellation is known.
func (l *Link) Freeze(which ...Which) { l.control(freeze, which) }

// SwallowResponses lets requests reach the server and drops its answers, so
// that what was asked is done and nobody learns of it. After [Link.Heal] the
// connections that missed something are reset.
func (l *Link) SwallowResponses(which ...Which) { l.control(swallow, which) }

// Throttle lets this many bytes pass a second in each direction, shared by all
// connections; 0 lifts the limit.
func (l *Link) Throttle(bytesPerSecond int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rate = bytesPerSecond
	l.free = [2]time.Time{}
	l.announce()
}

// Heal ends every fault, the throttle too, and leads to the link's own server
// again.
func (l *Link) Heal() {
	l.tb.Helper()
	l.Throttle(0)
	l.lead(l.own, nil)
	l.control(pass, nil)
}

// Connections is how many connections the link carries now.
func (l *Link) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

func (l *Link) control(m mode, which []Which) {
	l.tb.Helper()
	f := fault{mode: m}
	for _, w := range which {
		w(&f)
	}
	if why := f.impossible(l); why != "" {
		l.tb.Fatalf("etcdtest: %s", why)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
	for c := range l.conns {
		c.meant = f.means(c)
		if l.condemns(c) {
			c.reset()
		}
	}
	if err := l.turn(m.door()); err != nil {
		l.tb.Errorf("etcdtest: link at %s: %v", l.addr, err)
	}
	l.announce()
}

// announce wakes all that wait for a change. The caller holds the lock.
func (l *Link) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// close ends the link and all its connections.
func (l *Link) close() {
	l.control(refuse, nil)
	l.lead("", nil)
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.wg.Wait()
	if l.ports != nil {
		l.ports.release()
	}
}

// accept carries what connects at lis until that is closed.
func (l *Link) accept(lis net.Listener) {
	for {
		conn, err := lis.Accept()
		if err != nil {
			return // closed
		}
		l.wg.Go(func() { l.serve(conn.(*net.TCPConn)) })
	}
}
