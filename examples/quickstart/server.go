package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/server/v3/embed"
)

// A server is one run of an embedded etcd. A nil server has never run.
type server struct {
	etcd    atomic.Pointer[embed.Etcd] // nil until it listens, and after it ended
	serving chan struct{}              // closed when it takes requests
	quit    chan struct{}
	once    sync.Once
	done    chan struct{}
	err     error // set before done is closed
}

// launch returns at once: a joiner first asks the others for the member list,
// ten seconds for each that hangs.
func launch(cfg *embed.Config) *server {
	s := &server{serving: make(chan struct{}), quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.err = s.run(cfg)
	}()
	return s
}

func (s *server) run(cfg *embed.Config) error {
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	s.etcd.Store(etcd)
	err = s.await(etcd)
	s.etcd.Store(nil)
	// Close alone would hand over leadership and wait for a client port that is
	// silent still. Here nobody is left who minds.
	etcd.Server.HardStop()
	etcd.Close()
	return err
}

// await returns when the server ends or is to end.
func (s *server) await(etcd *embed.Etcd) error {
	ready := etcd.Server.ReadyNotify()
	for {
		select {
		case <-ready:
			close(s.serving)
			ready = nil
		case <-s.quit:
			return nil
		case <-etcd.Server.StopNotify(): // its member was removed
			return nil
		case err := <-etcd.Err():
			return err
		}
	}
}

// ready waits until the server takes requests.
func (s *server) ready(ctx context.Context) error {
	select {
	case <-s.serving:
		return nil
	case <-s.done:
		return errors.Join(errors.New("it ended"), s.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listening is the server while it runs, else nil.
func (s *server) listening() *embed.Etcd {
	if s == nil {
		return nil
	}
	return s.etcd.Load()
}

func (s *server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// stop ends the server and returns when it is gone.
func (s *server) stop() {
	if s != nil {
		s.once.Do(func() { close(s.quit) })
		<-s.done
	}
}
