package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

// Carrier names the TCP connection that carried a call, by both its addresses. A
// server reads what comes on one connection in order. Empty: nobody knows.
type Carrier string

// Behind is what a barrier shows: the list of the server that committed it, read
// behind it on the same connection, and which connection that was.
type Behind struct {
	List
	Carrier Carrier
}

// WriteError is the error of a write, with what is known of its way. One that was
// sent, and not answered by the server itself, may still be done: of 32 adds that
// were given up, 17 came after two barriers on other connections, and none of 8 after
// two on its own.
type WriteError struct {
	Sent    bool    // false: it never left this host
	Carrier Carrier // what it was sent on
	Err     error
}

func (e *WriteError) Error() string { return e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// WayOf is what is known of the way of a write that ended with err: one that does not
// tell counts as sent.
func WayOf(err error) (sent bool, on Carrier) {
	var w *WriteError
	if errors.As(err, &w) {
		return w.Sent, w.Carrier
	}
	return true, ""
}

// track finds out which connection carries a call.
type track struct {
	peer     peer.Peer
	attempts atomic.Int32
}

func (t *track) options() []grpc.CallOption {
	return []grpc.CallOption{grpc.Peer(&t.peer), grpc.OnFinish(func(error) { t.attempts.Add(1) })}
}

// carrier is the connection, if it was one: clientv3's interceptor repeats even a
// write where the server's answer is a deadline of its own.
func (t *track) carrier() Carrier {
	if t.peer.Addr == nil || t.peer.LocalAddr == nil || t.attempts.Load() > 1 {
		return ""
	}
	return Carrier(t.peer.LocalAddr.String() + ">" + t.peer.Addr.String())
}

// told is the error of the call with its way. Without a stream there is no peer, and
// nothing was sent.
func (t *track) told(err error) error {
	if err == nil {
		return nil
	}
	return &WriteError{Sent: t.peer.Addr != nil, Carrier: t.carrier(), Err: err}
}

var (
	errNoBarrier = errors.New("the server says that it has revoked a lease that nobody was granted: that shows no commit")
	errTornApart = errors.New("the connection was lost between a barrier and the list behind it")
)

// Barrier implements [Client]. The lease's ID is random and positive; that it does
// not exist is the expected answer, and comes after the entry was applied. Any other
// shows no commit.
func (e *EtcdClient) Barrier(ctx context.Context, via Target) (Behind, error) {
	var b Behind
	err := e.writeAt(ctx, via, func(ctx context.Context, ep string, conn *grpc.ClientConn) error {
		var revoke, list track
		_, err := pb.NewLeaseClient(conn).LeaseRevoke(ctx, &pb.LeaseRevokeRequest{ID: randomLease()}, revoke.options()...)
		switch {
		case err == nil:
			return errNoBarrier
		case !errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseNotFound):
			return err
		}
		if b.List, err = e.listOn(ctx, ep, conn, true, list.options()...); err != nil {
			return err
		}
		if b.Carrier = revoke.carrier(); b.Carrier != list.carrier() {
			return errTornApart
		}
		return nil
	})
	return b, err
}

func randomLease() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return int64(binary.BigEndian.Uint64(b[:]) >> 1)
}
