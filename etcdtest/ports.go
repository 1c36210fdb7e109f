package etcdtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
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
	first int
}

func reservePorts() (*ports, error) {
	start := rand.IntN(portBlocks)
	for i := range portBlocks {
		if p := tryPorts(firstPort + (start+i)%portBlocks*portBlock); p != nil {
			return p, nil
		}
	}
	return nil, errors.New("etcdtest: no free block of loopback ports")
}

func tryPorts(base int) *ports {
	guard, err := net.Listen("tcp", loopback(base))
	if err != nil {
		return nil
	}
	for i := range usablePorts {
		l, err := net.Listen("tcp", loopback(base+1+i))
		if err != nil {
			guard.Close()
			return nil
		}
		l.Close()
	}
	return &ports{guard: guard, first: base + 1}
}

// addr is the i-th address of the block.
func (p *ports) addr(i int) string { return loopback(p.first + i) }

// release gives the block back. Nothing may listen on it any more.
func (p *ports) release() { p.guard.Close() }

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
