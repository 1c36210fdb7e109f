package etcdtest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	requests  = 0 // from whoever dialled to the server
	responses = 1
)

const (
	// linkBuffer bounds what lies in kernel buffers on the way through: with
	// the usual megabytes a sender would think a slow line fast.
	linkBuffer = 64 << 10
	chunkBytes = 16 << 10
	dialWithin = 5 * time.Second
)

// linkConn is one connection through a link, a socket on either side.
type linkConn struct {
	sides [2]*net.TCPConn // by the direction whose bytes are read from it

	// guarded by the link's lock
	meant   bool // comes from where the present fault is held to
	known   bool // it is known whether it …
	raft    bool // … carries raft
	damaged bool // bytes of it were dropped
}

// serve carries one connection to its end.
func (l *Link) serve(from *net.TCPConn) {
	c := &linkConn{}
	c.sides[requests] = from
	shrink(from)
	target, ok := l.enter(c)
	if !ok {
		return
	}
	defer l.leave(c)
	to, err := net.DialTimeout("tcp", target, dialWithin)
	if err != nil {
		c.reset()
		return
	}
	if !l.connect(c, target, to.(*net.TCPConn)) {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { l.carry(c, requests) })
	wg.Go(func() { l.carry(c, responses) })
	wg.Wait()
}

// enter makes c one of the link's connections and says where it goes, or
// resets it.
func (l *Link) enter(c *linkConn) (target string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.meant = l.fault.means(c)
	if l.over || l.target == "" || l.condemns(c) {
		c.reset()
		return "", false
	}
	l.conns[c] = struct{}{}
	return l.target, true
}

func (l *Link) connect(c *linkConn, target string, to *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	shrink(to)
	c.sides[responses] = to
	if l.over || l.target != target || l.condemns(c) {
		c.reset()
		return false
	}
	return true
}

func (l *Link) leave(c *linkConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	for _, conn := range c.sides {
		if conn != nil {
			_ = conn.Close() // orderly: the last bytes may still be on their way
		}
	}
}

// carry moves bytes one way until either side ends or the link forbids it.
func (l *Link) carry(c *linkConn, way int) {
	src, dst := c.sides[way], c.sides[1-way]
	q := newQueue()
	var wg sync.WaitGroup
	wg.Go(func() { q.fill(src) })
	defer wg.Wait()
	err := l.pump(c, way, dst, q)
	if errors.Is(err, io.EOF) {
		_ = dst.CloseWrite() // the other way may go on
		return
	}
	c.reset()
	q.drain()
}

// pump passes on what q is filled with and returns why it stopped, io.EOF at
// an orderly end.
func (l *Link) pump(c *linkConn, way int, dst *net.TCPConn, q *queue) error {
	var head []byte
	var p pauses
	for {
		next, err := q.take()
		if err != nil {
			return err
		}
		if way == requests {
			head = l.classify(c, head, next.data)
		}
		time.Sleep(p.before(next.at))
		held, ok := l.deliver(c, way, dst, next.data)
		q.passed(len(next.data)) // refused or not, it needs no room any more
		if !ok {
			return errCondemned
		}
		if held {
			p.thaw(time.Now())
		}
	}
}

var errCondemned = errors.New("the link ended the connection")

// classify looks at the connection's first bytes until they tell whether it
// carries raft. It returns those so far, nil once it is known.
func (l *Link) classify(c *linkConn, head, more []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.known {
		return nil
	}
	head = append(head, more...)
	if c.raft, c.known = carriesRaft(head); c.known {
		return nil
	}
	return head
}

// carriesRaft judges the first bytes of a connection, if they suffice. Etcd's
// transports for raft have connections of their own, so the first request
// stands for all.
func carriesRaft(head []byte) (raft, known bool) {
	known = true
	for _, start := range []string{"GET /raft", "POST /raft"} {
		if bytes.HasPrefix(head, []byte(start)) {
			return true, true
		}
		if bytes.HasPrefix([]byte(start), head) {
			known = false
		}
	}
	return false, known
}

// deliver passes data on at the link's pace, or drops it if the link swallows.
// It reports whether it was held meanwhile, and whether the connection may go on.
func (l *Link) deliver(c *linkConn, way int, dst *net.TCPConn, data []byte) (held, ok bool) {
	for len(data) > 0 {
		a := l.admit(c, way, len(data))
		held = held || a.held
		if !a.ok {
			return held, false
		}
		if !a.drop {
			if _, err := dst.Write(data[:a.n]); err != nil {
				return held, false
			}
		}
		data = data[a.n:]
	}
	return held, true
}

// An admission is what may be done with the first n bytes.
type admission struct {
	n        int
	drop, ok bool
	held     bool // they stood still before
}

// admit waits until some of n bytes may pass.
func (l *Link) admit(c *linkConn, way, n int) admission {
	held := false
	for {
		l.mu.Lock()
		changed := l.changed
		if l.condemns(c) {
			l.mu.Unlock()
			return admission{held: held}
		}
		if l.strikes(c) == swallow && way == responses {
			c.damaged = true
			l.mu.Unlock()
			return admission{n: n, drop: true, ok: true, held: held}
		}
		frozen := l.holds(c)
		wait := time.Duration(0)
		if !frozen {
			wait = l.pace(way, &n)
		}
		l.mu.Unlock()
		if wait == 0 && !frozen {
			return admission{n: n, ok: true, held: held}
		}
		held = held || frozen
		pause(changed, wait, frozen)
	}
}

// pace is how long the line is busy still; if it is free, n bytes at most, cut
// down to a fiftieth of a second's worth, take it. The caller holds the lock.
func (l *Link) pace(way int, n *int) time.Duration {
	if l.rate <= 0 {
		return 0
	}
	now := time.Now()
	if wait := l.free[way].Sub(now); wait > 0 {
		return wait
	}
	*n = min(*n, max(1, l.rate/50))
	l.free[way] = now.Add(time.Duration(*n) * time.Second / time.Duration(l.rate))
	return 0
}

// pause waits for a change of the link, and no longer than d unless frozen.
func pause(changed <-chan struct{}, d time.Duration, frozen bool) {
	if frozen {
		<-changed
		return
	}
	select {
	case <-changed:
	case <-time.After(d):
	}
}

// reset ends both sides with a reset, as a vanished peer would, and not with
// the orderly end that says all was sent.
func (c *linkConn) reset() {
	for _, conn := range c.sides {
		if conn != nil {
			_ = conn.SetLinger(0)
			_ = conn.Close()
		}
	}
}

func shrink(conn *net.TCPConn) {
	_ = conn.SetReadBuffer(linkBuffer)
	_ = conn.SetWriteBuffer(linkBuffer)
}
