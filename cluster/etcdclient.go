package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/pace"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// ClientConfig is what a *clientv3.Client cannot tell of itself.
type ClientConfig struct {
	// PeerTLS is used towards peer ports; it needs a certificate where they
	// demand one (in kubeadm's layout /etc/kubernetes/pki/etcd/peer.crt). Certificates
	// that are rotated during a long join are taken up where it asks for them anew, by
	// GetClientCertificate. Nil: peer URLs are http, or trusted by the system's CAs.
	PeerTLS *tls.Config
	// ClientTLS is used towards /health on client URLs and towards https metrics
	// URLs. gRPC uses the caller's client. Nil: as for PeerTLS.
	ClientTLS *tls.Config
	// ClusterID is that of the cluster that is meant: endpoints of another one are
	// refused. Zero: whichever the endpoints are of, if they are of one.
	ClusterID ID
	// Dialer opens the connections to peer, metrics and /health ports, for hosts that
	// reach members by a tunnel. gRPC is the caller's client's: what that was made with
	// counts there. Nil: TCP as it is.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)
	// Transport carries the requests to those ports in place of our own; PeerTLS,
	// ClientTLS and Dialer are then its matter. It must go to exactly the server that is
	// named: no proxy, no redirect. Nil: our own.
	Transport http.RoundTripper
	// SkipPeer says that this host may not ask peer ports. Reads through a
	// learner then go to MetricsURL or its client URL.
	SkipPeer bool
	// Endpoints says which client URLs to dial for a member. Nil: those that it
	// advertises.
	Endpoints func(Member) []string
	// Alive is asked about a member that cannot be dialled: Alive means that a
	// linearizable read through it was answered just now, Dead that its process
	// is known not to run. Nil: such a member is unknown.
	Alive func(context.Context, Member) (Liveness, error)
	// EndpointTimeout bounds one read of one endpoint, and one try to connect before
	// a write. Zero: 2 s.
	EndpointTimeout time.Duration
}

// EtcdClient is the [Client] over a *clientv3.Client. It dials each server by
// itself, with the credentials of the caller's client, which is never changed:
// neither its endpoints nor its balancer take part.
type EtcdClient struct {
	c     *clientv3.Client
	cfg   ClientConfig
	conns conns
	peer  *http.Client
	plain *http.Client

	peerLines, plainLines lines

	release func() bool // takes our Close off the caller's client

	mu   sync.Mutex
	good string // the endpoint that answered the last list
}

var _ Client = (*EtcdClient)(nil)

// NewClient makes a [Client] of c. It holds connections until Close, or until c
// is closed. A nil c gives a nil client, which the joiners' constructors refuse.
func NewClient(c *clientv3.Client, cfg ClientConfig) *EtcdClient {
	if c == nil {
		return nil
	}
	cfg.EndpointTimeout = cmp.Or(cfg.EndpointTimeout, endpointTimeout)
	if cfg.Endpoints == nil {
		cfg.Endpoints = func(m Member) []string { return m.ClientURLs }
	}
	e := &EtcdClient{c: c, cfg: cfg, peer: newHTTP(cfg, cfg.PeerTLS), plain: newHTTP(cfg, cfg.ClientTLS)}
	e.peerLines.make = func() *http.Client { return newHTTP(cfg, cfg.PeerTLS) }
	e.plainLines.make = func() *http.Client { return newHTTP(cfg, cfg.ClientTLS) }
	e.conns.dial = func(ep string) (*grpc.ClientConn, error) {
		if len(c.Endpoints()) == 0 { // Dial would panic
			return nil, reason.Of(reason.ErrUnreachable, "the caller's client has no endpoints")
		}
		return c.Dial(ep)
	}
	e.release = context.AfterFunc(c.Ctx(), e.Close)
	return e
}

// Reach tells how the members are reached.
func (e *EtcdClient) Reach() Reach {
	return Reach{EndpointTimeout: e.cfg.EndpointTimeout, ClusterID: e.cfg.ClusterID, Alive: e.cfg.Alive}
}

// Close ends all connections and leaves nothing of us in the caller's client, which
// stays open.
func (e *EtcdClient) Close() {
	if e == nil {
		return
	}
	e.release()
	e.conns.close()
	e.peer.CloseIdleConnections()
	e.plain.CloseIdleConnections()
	e.peerLines.close()
	e.plainLines.close()
}

// endpoints are where the targets are dialled, each once, in order.
func (e *EtcdClient) endpoints(targets ...Target) []string {
	var eps []string
	seen := map[string]bool{}
	for _, t := range targets {
		urls := e.cfg.Endpoints(t.Member)
		if t.Own() {
			urls = t.ClientURLs
		}
		if t.Own() && len(urls) == 0 {
			urls = e.c.Endpoints()
		}
		for _, u := range urls {
			if !seen[u] {
				seen[u] = true
				eps = append(eps, u)
			}
		}
	}
	return eps
}

// List implements [Client]. The endpoint that answered last is asked alone for
// half of the time, so that a quiet cluster is asked once per pass; else all are
// Asked at once, so that dead and hung ones cost one timeout together.
func (e *EtcdClient) List(ctx context.Context, from ...Target) (List, error) {
	eps := e.endpoints(from...)
	if good := e.lastGood(eps); good != "" && len(eps) > 1 {
		half, cancel := context.WithTimeout(ctx, pace.Half(ctx))
		l, err := e.listFrom(half, good, true)
		cancel()
		if err == nil {
			return l, nil
		}
	}
	return first(ctx, eps, func(ctx context.Context, ep string) (List, error) {
		l, err := e.listFrom(ctx, ep, true)
		if err == nil {
			e.mu.Lock()
			e.good = ep
			e.mu.Unlock()
		}
		return l, err
	})
}

func (e *EtcdClient) lastGood(eps []string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.Contains(eps, e.good) {
		return e.good
	}
	return ""
}

// ListAt implements [Client].
func (e *EtcdClient) ListAt(ctx context.Context, at Target) (List, error) {
	return first(ctx, e.endpoints(at), func(ctx context.Context, ep string) (List, error) {
		return e.listFrom(ctx, ep, false)
	})
}

// listFrom asks one endpoint.
func (e *EtcdClient) listFrom(ctx context.Context, ep string, linearizable bool) (List, error) {
	var l List
	err := e.call(ctx, ep, func(ctx context.Context, conn *grpc.ClientConn) error {
		var err error
		l, err = e.listOn(ctx, ep, conn, linearizable)
		return err
	})
	return l, err
}

// listOn asks on one connection. Before 3.5 the server ignores "linearizable", so a
// linearizable read of a key on the same connection stands in for it, a fence: the
// server has then applied all that was committed before (E§1.1).
func (e *EtcdClient) listOn(ctx context.Context, ep string, conn *grpc.ClientConn, linearizable bool, opts ...grpc.CallOption) (List, error) {
	if linearizable {
		ctx = clientv3.WithRequireLeader(ctx)
	}
	if linearizable && e.needsFence(ctx, ep, conn) {
		if _, err := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte("\x00"), KeysOnly: true}); err != nil {
			return List{}, err
		}
	}
	resp, err := pb.NewClusterClient(conn).MemberList(ctx, &pb.MemberListRequest{Linearizable: linearizable}, opts...)
	if err != nil {
		return List{}, err
	}
	return List{ClusterID: ID(resp.Header.ClusterId), By: ID(resp.Header.MemberId), Members: fromProto(resp.Members)}, nil
}

// needsFence reports whether the server may be too old for a linearizable list. One
// that does not tell its version, be it for a moment, may be: the fence costs a read,
// a stale list that passes for a true one costs a member.
func (e *EtcdClient) needsFence(ctx context.Context, ep string, conn *grpc.ClientConn) bool {
	v := e.conns.versionOf(ep)
	if v == "" {
		resp, err := pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
		if err != nil {
			return true
		}
		v = resp.Version
		e.conns.setVersion(ep, v)
	}
	parsed, err := version.Parse(v)
	return err != nil || !parsed.Can(version.LinearizableMemberList)
}

func fromProto(in []*pb.Member) []Member {
	out := make([]Member, len(in))
	for i, m := range in {
		out[i] = Member{ID: ID(m.ID), Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.IsLearner}
	}
	return out
}

// Status implements [Client].
func (e *EtcdClient) Status(ctx context.Context, at Target) (Status, error) {
	st, err := first(ctx, e.endpoints(at), func(ctx context.Context, ep string) (Status, error) {
		st, err := e.statusFrom(ctx, ep)
		if err == nil && !at.Own() && st.ID != at.ID {
			return st, &wrongAnswer{st}
		}
		return st, err
	})
	var wrong *wrongAnswer
	if errors.As(err, &wrong) {
		return wrong.Status, nil
	}
	return st, err
}

// wrongAnswer carries another member's answer past the endpoints still asked.
type wrongAnswer struct{ Status }

func (w *wrongAnswer) Error() string { return "member " + w.ID.String() + " answered" }

func (e *EtcdClient) statusFrom(ctx context.Context, ep string) (Status, error) {
	var st Status
	err := e.call(ctx, ep, func(ctx context.Context, conn *grpc.ClientConn) error {
		resp, err := pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
		if err != nil {
			return err
		}
		e.conns.setVersion(ep, resp.Version)
		st = Status{
			ID: ID(resp.Header.MemberId), ClusterID: ID(resp.Header.ClusterId), Version: resp.Version,
			Leader: ID(resp.Leader), Term: resp.RaftTerm, Index: resp.RaftIndex, Applied: resp.RaftAppliedIndex,
			DBSize: resp.DbSize, Learner: resp.IsLearner, Errors: resp.Errors,
			Downgrading: resp.DowngradeInfo != nil && resp.DowngradeInfo.Enabled,
		}
		return nil
	})
	return st, err
}

// Add implements [Client].
func (e *EtcdClient) Add(ctx context.Context, via Target, peerURLs []string, learner bool) (Member, error) {
	var m Member
	var t track
	err := e.write(ctx, via, func(ctx context.Context, conn *grpc.ClientConn) error {
		resp, err := pb.NewClusterClient(conn).MemberAdd(ctx, &pb.MemberAddRequest{PeerURLs: peerURLs, IsLearner: learner}, t.options()...)
		if err == nil {
			m = fromProto([]*pb.Member{resp.Member})[0]
		}
		return err
	})
	return m, t.told(err)
}

// Promote implements [Client]. What the vote hangs on was proven a moment ago, and a
// dial could take longer than that holds: it is sent on a connection that is up, or
// not at all.
func (e *EtcdClient) Promote(ctx context.Context, via Target, id ID) error {
	if _, before, err := e.up(ctx, via); err != nil {
		return err
	} else if !before {
		return reason.Of(reason.ErrUnreachable, "there was no connection to %s, and the vote was not asked for", via)
	}
	return e.write(ctx, via, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewClusterClient(conn).MemberPromote(ctx, &pb.MemberPromoteRequest{ID: uint64(id)})
		return err
	})
}

// Remove implements [Client].
func (e *EtcdClient) Remove(ctx context.Context, via Target, id ID) error {
	return e.write(ctx, via, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewClusterClient(conn).MemberRemove(ctx, &pb.MemberRemoveRequest{ID: uint64(id)})
		return err
	})
}

// Update implements [Client].
func (e *EtcdClient) Update(ctx context.Context, via Target, id ID, peerURLs []string) error {
	return e.write(ctx, via, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewClusterClient(conn).MemberUpdate(ctx, &pb.MemberUpdateRequest{ID: uint64(id), PeerURLs: peerURLs})
		return err
	})
}

// MoveLeader implements [Client].
func (e *EtcdClient) MoveLeader(ctx context.Context, leader Target, to ID) error {
	return e.write(ctx, leader, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewMaintenanceClient(conn).MoveLeader(ctx, &pb.MoveLeaderRequest{TargetID: uint64(to)})
		return err
	})
}

// MayChange implements [Client]. Listing the users needs the root role as every
// membership change does (etcd's IsAdminPermitted), and is free with auth off.
func (e *EtcdClient) MayChange(ctx context.Context, via Target) error {
	return e.write(ctx, via, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewAuthClient(conn).UserList(ctx, &pb.AuthUserListRequest{})
		return err
	})
}
