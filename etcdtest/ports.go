package etcdtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports come in blocks from below the range in which the kernel picks ports
// for outgoing connections (32768 and up on Linux): a server's port is often
// closed for a while, and nobody's dial may take it meanwhile.
//
// A block is ours for as long as we listen on its first port, the guard, which
// nothing else uses. The kernel decides between two tests, be they of one
// process, of two, or of two users, and frees the block when its owner dies;
// a lock file would do neither across users and containers. The other ports of
// the block are then tried once, in case a program outside of this scheme has
// one of them.
const (
	firstPort   = 12000
	portBlock   = 8
	portBlocks  = 1000
	usablePorts = portBlock - 1
)

// ports is a block of free loopback ports held for one server.
type ports struct {
	guard net.Listener
	host  string
	first int
}

func reservePorts(host string) (*ports, error) {
	start := rand.IntN(portBlocks)
	var last error
	for i := range portBlocks {
		p, err := tryPorts(host, firstPort+(start+i)%portBlocks*portBlock)
		if err == nil {
			return p, nil
		}
		last = err
	}
	return nil, fmt.Errorf("etcdtest: no free block of ports at %s: %w", host, last)
}

func tryPorts(host string, base int) (*ports, error) {
	p := &ports{host: host, first: base + 1}
	guard, err := net.Listen("tcp", p.addr(-1))
	if err != nil {
		return nil, err
	}
	for i := range usablePorts {
		l, err := net.Listen("tcp", p.addr(i))
		if err != nil {
			guard.Close()
			return nil, err
		}
		l.Close()
	}
	p.guard = guard
	return p, nil
}

// addr is the i-th address of the block.
func (p *ports) addr(i int) string { return net.JoinHostPort(p.host, strconv.Itoa(p.first+i)) }

// release gives the block back. Nothing may listen on it any more.
func (p *ports) release() { p.guard.Close() }
