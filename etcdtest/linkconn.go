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
	raft    bool // carries raft
	damaged bool // bytes of it were dropped
}

// serve carries one connection to its end.
func (l *Link) serve(from *net.TCPConn) {
	c := &linkConn{}
	c.sides[requests] = from
	shrink(from)
	if !l.enter(c) {
		return
	}
	defer l.leave(c)
	to, err := net.DialTimeout("tcp", l.target, dialWithin)
	if err != nil {
		c.reset()
		return
	}
	if !l.connect(c, to.(*net.TCPConn)) {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { l.carry(c, requests) })
	wg.Go(func() { l.carry(c, responses) })
	wg.Wait()
}

// enter makes c one of the link's connections, or resets it.
func (l *Link) enter(c *linkConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.condemns(c) {
		c.reset()
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *Link) connect(c *linkConn, to *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	shrink(to)
	c.sides[responses] = to
	if l.over || l.condemns(c) {
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
	buf := make([]byte, chunkBytes)
	n := 0
	if way == requests {
		n = l.classify(c, buf)
	}
	for {
		if n > 0 && !l.deliver(c, way, dst, buf[:n]) {
			c.reset()
			return
		}
		var err error
		if n, err = src.Read(buf); n > 0 || err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			_ = dst.CloseWrite() // the other way may go on
		} else {
			c.reset()
		}
		return
	}
}

// classify reads the connection's first bytes until they tell whether it
// carries raft, and returns how many it has read.
func (l *Link) classify(c *linkConn, buf []byte) int {
	n := 0
	raft, known := false, false
	for !known {
		m, err := c.sides[requests].Read(buf[n:])
		n += m
		if raft, known = carriesRaft(buf[:n]); err != nil {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.raft = raft
	return n
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
// It reports whether the connection may go on.
func (l *Link) deliver(c *linkConn, way int, dst *net.TCPConn, data []byte) bool {
	for len(data) > 0 {
		n, drop, ok := l.admit(c, way, len(data))
		if !ok {
			return false
		}
		if !drop {
			if _, err := dst.Write(data[:n]); err != nil {
				return false
			}
		}
		data = data[n:]
	}
	return true
}

// admit waits until some of n bytes may pass and says how many, and whether to
// drop them instead.
func (l *Link) admit(c *linkConn, way, n int) (allowed int, drop, ok bool) {
	for {
		l.mu.Lock()
		changed := l.changed
		if l.condemns(c) {
			l.mu.Unlock()
			return 0, false, false
		}
		if l.mode == swallow && way == responses {
			c.damaged = true
			l.mu.Unlock()
			return n, true, true
		}
		wait := l.pace(way, &n)
		if wait == 0 && l.mode != freeze {
			l.mu.Unlock()
			return n, false, true
		}
		frozen := l.mode == freeze
		l.mu.Unlock()
		pause(changed, wait, frozen)
	}
}

// pace is how long the line is busy still; if it is free, n bytes at most, cut
// down to a fiftieth of a second's worth, take it. The caller holds the lock.
func (l *Link) pace(way int, n *int) time.Duration {
	if l.rate <= 0 || l.mode == freeze {
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
