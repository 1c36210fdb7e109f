package etcdtest

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// A door is how a link meets those who dial it.
type door struct {
	state   doorState
	lis     net.Listener
	fillers []net.Conn
}

type doorState int

const (
	shut      doorState = iota // nothing listens: refused
	accepting                  // accepted
	full                       // listens and takes nobody: whoever dials hears nothing
)

func (m mode) door() doorState {
	switch m {
	case refuse:
		return shut
	case drop:
		return full
	default:
		return accepting
	}
}

// turn makes the door what it is to be. The port is reserved, so it is free
// whenever it is opened again. The caller holds the lock.
func (l *Link) turn(to doorState) error {
	if l.over || l.door.state == to {
		return nil
	}
	l.door.close()
	if to == shut {
		return nil
	}
	lis, err := net.Listen("tcp", l.addr)
	if err != nil {
		return err
	}
	l.door = door{state: to, lis: lis}
	if to == full {
		return l.door.fill()
	}
	l.wg.Go(func() { l.accept(lis) })
	return nil
}

func (d *door) close() {
	if d.lis != nil {
		_ = d.lis.Close()
	}
	for _, conn := range d.fillers {
		_ = conn.Close()
	}
	*d = door{}
}

// fill takes every place in the kernel's queue of those that wait to be
// accepted, after which it answers no further SYN.
func (d *door) fill() error {
	if err := shorten(d.lis.(*net.TCPListener)); err != nil {
		return err
	}
	for range fillersAtMost {
		conn, _ := net.DialTimeout("tcp", d.lis.Addr().String(), fillWithin)
		if conn == nil { // unanswered
			return nil
		}
		d.fillers = append(d.fillers, conn)
	}
	return errors.New("the kernel accepts more connections than it was told to keep waiting, so they cannot be dropped here")
}

const (
	fillersAtMost = 64
	fillWithin    = 100 * time.Millisecond
)

// shorten makes the queue as short as it can be: listen, called again.
func shorten(lis *net.TCPListener) error {
	raw, err := lis.SyscallConn()
	if err != nil {
		return err
	}
	var listenErr error
	err = raw.Control(func(fd uintptr) { listenErr = syscall.Listen(int(fd), 0) })
	return errors.Join(err, listenErr)
}
