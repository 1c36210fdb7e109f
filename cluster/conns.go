package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
)

// conns keeps one gRPC connection per endpoint. A connection that has failed is
// thrown away: gRPC would wait up to two minutes before it tries again, and fail
// every call at once until then.
type conns struct {
	dial   func(endpoint string) (*grpc.ClientConn, error)
	mu     sync.Mutex
	open   map[string]*link
	closed bool
}

type link struct {
	ready   chan struct{} // closed when conn and err are set
	conn    *grpc.ClientConn
	err     error
	version string // of the server, once it told
	users   int    // calls under way
	dropped bool   // no new call takes it; its last user closes it
}

// get returns the connection to an endpoint, dialling it once for all who wait:
// a caller's client with a blocking dial option would block here.
func (c *conns) get(ctx context.Context, ep string) (*link, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, reason.ErrClosed
	}
	l, ok := c.open[ep]
	if !ok {
		l = &link{ready: make(chan struct{})}
		if c.open == nil {
			c.open = map[string]*link{}
		}
		c.open[ep] = l
		go c.connect(ep, l)
	}
	l.users++
	c.mu.Unlock()
	select {
	case <-ctx.Done():
		c.release(l)
		return nil, ctx.Err()
	case <-l.ready:
		if l.err != nil {
			c.release(l)
		}
		return l, l.err
	}
}

// release ends one use of a connection. A dropped one is closed by its last user:
// what a closed connection cancels, clientv3's interceptor repeats a hundred times,
// so that all others would learn of a refused dial after two seconds and a half.
func (c *conns) release(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.users--; l.dropped && l.users == 0 {
		_ = l.conn.Close()
	}
}

func (c *conns) connect(ep string, l *link) {
	l.conn, l.err = c.dial(ep)
	close(l.ready)
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.err != nil && c.open[ep] == l {
		delete(c.open, ep)
	}
	if c.closed && l.err == nil {
		_ = l.conn.Close()
	}
}

// drop forgets a connection that cannot be had. One that is still connecting
// stays, whatever ended the call: others may wait for it, and to close it would
// fail them too.
func (c *conns) drop(ctx context.Context, ep string, l *link) {
	conn := l.conn
	if conn.GetState() == connectivity.Connecting {
		// gRPC fails the calls first and changes the state after: without this
		// moment the next call would get this one's error once more.
		moment, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		conn.WaitForStateChange(moment, connectivity.Connecting)
		cancel()
	}
	if state := conn.GetState(); state != connectivity.TransientFailure && state != connectivity.Shutdown {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[ep] == l {
		delete(c.open, ep)
		l.dropped = true
	}
}

func (c *conns) versionOf(ep string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.open[ep]; ok {
		return l.version
	}
	return ""
}

func (c *conns) setVersion(ep, v string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.open[ep]; ok {
		l.version = v
	}
}

func (c *conns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for ep, l := range c.open {
		select {
		case <-l.ready:
			if l.err == nil {
				_ = l.conn.Close()
			}
		default: // connect closes it
		}
		delete(c.open, ep)
	}
}

// call makes one call to one endpoint and normalises its error.
func (e *EtcdClient) call(ctx context.Context, ep string, do func(context.Context, *grpc.ClientConn) error) error {
	l, err := e.conns.get(ctx, ep)
	if err == nil {
		defer e.conns.release(l)
		if err = do(ctx, l.conn); err != nil {
			e.conns.drop(ctx, ep, l)
		}
	}
	return classify.Normalise(ctx, err)
}

// write sends one write, once, to the first of the target's endpoints that a
// connection is up to. Where there is none all are tried together: dead ones cost one
// EndpointTimeout, not the whole deadline (P-E5), and a write that was sent is never
// sent elsewhere.
func (e *EtcdClient) write(ctx context.Context, via Target, do func(context.Context, *grpc.ClientConn) error) error {
	return e.writeAt(ctx, via, func(ctx context.Context, _ string, conn *grpc.ClientConn) error { return do(ctx, conn) })
}

// writeAt is write that tells where it was sent.
func (e *EtcdClient) writeAt(ctx context.Context, via Target, do func(context.Context, string, *grpc.ClientConn) error) error {
	ep, _, err := e.up(ctx, via)
	if err != nil {
		return err
	}
	return e.call(clientv3.WithRequireLeader(ctx), ep, func(ctx context.Context, conn *grpc.ClientConn) error { return do(ctx, ep, conn) })
}

// up is an endpoint of the target that there is a connection to, and whether there
// was one before.
func (e *EtcdClient) up(ctx context.Context, via Target) (ep string, before bool, err error) {
	eps := e.endpoints(via)
	if len(eps) == 0 {
		return "", false, reason.Of(reason.ErrUnreachable, "no client URL is known of %s", via.Member)
	}
	for _, ep := range eps {
		if e.conns.isUp(ep) {
			return ep, true, nil
		}
	}
	ep, err = first(ctx, eps, func(ctx context.Context, ep string) (string, error) { return ep, e.connected(ctx, ep) })
	return ep, false, err
}

// isUp reports whether a call to this endpoint could be sent at once.
func (c *conns) isUp(ep string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.open[ep]
	if !ok {
		return false
	}
	select {
	case <-l.ready:
		return l.err == nil && l.conn.GetState() == connectivity.Ready
	default:
		return false
	}
}

// connected waits until there is a connection, or there is none to be had.
func (e *EtcdClient) connected(ctx context.Context, ep string) error {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.EndpointTimeout)
	defer cancel()
	return e.call(ctx, ep, func(ctx context.Context, conn *grpc.ClientConn) error {
		conn.Connect()
		for {
			state := conn.GetState()
			switch state {
			case connectivity.Ready:
				return nil
			case connectivity.TransientFailure, connectivity.Shutdown:
				// Any call now fails at once, with the reason.
				_, err := pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
				return err
			}
			if !conn.WaitForStateChange(ctx, state) {
				return ctx.Err()
			}
		}
	})
}

// first asks everybody at once and returns the first success, or all the errors,
// each with whom it came from.
func first[E, T any](ctx context.Context, all []E, ask func(context.Context, E) (T, error)) (T, error) {
	var zero T
	named := func(ctx context.Context, e E) (T, error) {
		v, err := ask(ctx, e)
		if err != nil {
			err = fmt.Errorf("%v: %w", e, err)
		}
		return v, err
	}
	switch len(all) {
	case 0:
		return zero, reason.Of(reason.ErrUnreachable, "no URL to ask is known")
	case 1:
		return named(ctx, all[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		v   T
		err error
	}
	results := make(chan result, len(all))
	for _, e := range all {
		go func() {
			v, err := named(ctx, e)
			results <- result{v, err}
		}()
	}
	var errs []error
	for range all {
		r := <-results
		if r.err == nil {
			return r.v, nil
		}
		errs = append(errs, r.err)
	}
	return zero, classify.Each(errs...)
}
