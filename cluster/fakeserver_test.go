package cluster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// What the servers of these tests are.
const (
	clusterID = cluster.ID(0xc1)
	firstURL  = "http://10.0.0.1:2380"
	ourURL    = "http://10.0.0.9:2380"
	ourName   = "new"
)

// server is as much of an etcd server's gRPC port as the adapter talks to. Its
// fields may be set before it is asked.
type server struct {
	pb.UnimplementedClusterServer
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedKVServer
	pb.UnimplementedLeaseServer
	pb.UnimplementedAuthServer

	id      uint64
	version string
	members []*pb.Member
	fail    func(call string) error // what a call returns in place of its answer
	hang    func(call string) bool  // whether it hangs until its caller gives up

	mu    sync.Mutex
	calls []request
	grpc  *grpc.Server
	url   string
}

// request is one call that a server got.
type request struct {
	call          string
	message       any
	requireLeader bool
}

// serve starts a server on the loopback interface.
func serve(t *testing.T, s *server, opts ...grpc.ServerOption) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return serveOn(t, l, s, opts...)
}

func serveOn(t *testing.T, l net.Listener, s *server, opts ...grpc.ServerOption) *server {
	t.Helper()
	if s.id == 0 {
		s.id = 1
	}
	if s.version == "" {
		s.version = "3.6.16"
	}
	if s.members == nil {
		s.members = []*pb.Member{{ID: s.id, Name: "m1", PeerURLs: []string{firstURL}, ClientURLs: []string{"http://" + l.Addr().String()}}}
	}
	s.url, s.grpc = "http://"+l.Addr().String(), grpc.NewServer(opts...)
	pb.RegisterClusterServer(s.grpc, s)
	pb.RegisterMaintenanceServer(s.grpc, s)
	pb.RegisterKVServer(s.grpc, s)
	pb.RegisterLeaseServer(s.grpc, s)
	pb.RegisterAuthServer(s.grpc, s)
	go func() { _ = s.grpc.Serve(l) }()
	t.Cleanup(s.grpc.Stop)
	return s
}

// deadURL is a URL that nobody listens on.
func deadURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return "http://" + l.Addr().String()
}

// hungURL is a URL that accepts connections and never says a word, as a stopped
// process does.
func hungURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

// clientOf is the adapter over a client with these endpoints.
func clientOf(t *testing.T, config cluster.ClientConfig, endpoints ...string) *cluster.EtcdClient {
	t.Helper()
	e := cluster.NewClient(etcd(t, clientv3.Config{Endpoints: endpoints}), config)
	t.Cleanup(e.Close)
	return e
}

func etcd(t *testing.T, config clientv3.Config) *clientv3.Client {
	t.Helper()
	t.Setenv("ETCD_CLIENT_DEBUG", "fatal") // its warnings are what is tested here
	c, err := clientv3.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *server) target() cluster.Target {
	return cluster.Target{Member: cluster.Member{ID: cluster.ID(s.id), ClientURLs: []string{s.url}}}
}

func (s *server) got(calls ...string) (got []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.calls {
		if len(calls) == 0 || contains(calls, r.call) {
			got = append(got, r.call)
		}
	}
	return got
}

func contains(in []string, s string) bool {
	for _, x := range in {
		if x == s {
			return true
		}
	}
	return false
}

func (s *server) last(t *testing.T) request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotEmpty(t, s.calls)
	return s.calls[len(s.calls)-1]
}

// newest is what the last of these calls was asked.
func (s *server) newest(t *testing.T, call string) any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.calls) - 1; i >= 0; i-- {
		if s.calls[i].call == call {
			return s.calls[i].message
		}
	}
	t.Fatalf("no %s", call)
	return nil
}

// take notes a call and goes wrong where it is told to.
func (s *server) take(ctx context.Context, call string, message any) error {
	md, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	s.calls = append(s.calls, request{call, message, contains(md[rpctypes.MetadataRequireLeaderKey], rpctypes.MetadataHasLeader)})
	fail, hang := s.fail, s.hang
	s.mu.Unlock()
	if hang != nil && hang(call) {
		<-ctx.Done()
		return ctx.Err()
	}
	if fail != nil {
		return fail(call)
	}
	return nil
}

func (s *server) header() *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: uint64(clusterID), MemberId: s.id}
}

func (s *server) MemberList(ctx context.Context, r *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	call := "list"
	if !r.Linearizable {
		call = "list-at"
	}
	return &pb.MemberListResponse{Header: s.header(), Members: s.members}, s.take(ctx, call, r)
}

func (s *server) MemberAdd(ctx context.Context, r *pb.MemberAddRequest) (*pb.MemberAddResponse, error) {
	m := &pb.Member{ID: 9, PeerURLs: r.PeerURLs, IsLearner: r.IsLearner}
	return &pb.MemberAddResponse{Header: s.header(), Member: m}, s.take(ctx, "add", r)
}

func (s *server) MemberPromote(ctx context.Context, r *pb.MemberPromoteRequest) (*pb.MemberPromoteResponse, error) {
	return &pb.MemberPromoteResponse{Header: s.header()}, s.take(ctx, "promote", r)
}

func (s *server) MemberRemove(ctx context.Context, r *pb.MemberRemoveRequest) (*pb.MemberRemoveResponse, error) {
	return &pb.MemberRemoveResponse{Header: s.header()}, s.take(ctx, "remove", r)
}

func (s *server) MemberUpdate(ctx context.Context, r *pb.MemberUpdateRequest) (*pb.MemberUpdateResponse, error) {
	return &pb.MemberUpdateResponse{Header: s.header()}, s.take(ctx, "update", r)
}

func (s *server) MoveLeader(ctx context.Context, r *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	return &pb.MoveLeaderResponse{Header: s.header()}, s.take(ctx, "move-leader", r)
}

func (s *server) Status(ctx context.Context, r *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: s.header(), Version: s.version, Leader: 1, RaftTerm: 2, RaftIndex: 30, RaftAppliedIndex: 29, DbSize: 20480,
		IsLearner: true, Errors: []string{"memberID:1 alarm:NOSPACE "}, DowngradeInfo: &pb.DowngradeInfo{Enabled: true}}, s.take(ctx, "status", r)
}

func (s *server) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: s.header()}, s.take(ctx, "range", r)
}

func (s *server) LeaseRevoke(ctx context.Context, r *pb.LeaseRevokeRequest) (*pb.LeaseRevokeResponse, error) {
	return &pb.LeaseRevokeResponse{Header: s.header()}, s.take(ctx, "revoke", r)
}

func (s *server) UserList(ctx context.Context, r *pb.AuthUserListRequest) (*pb.AuthUserListResponse, error) {
	return &pb.AuthUserListResponse{Header: s.header()}, s.take(ctx, "user-list", r)
}

// authority makes certificates for 127.0.0.1.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return authority{key, cert}
}

func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func (a authority) issue(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "etcd"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// serveTLS starts a server that shows a certificate of a, and wants one of
// clients where that is not nil.
func serveTLS(t *testing.T, s *server, a authority, clients *authority) *server {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{a.issue(t)}}
	if clients != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, clients.pool()
	}
	serve(t, s, grpc.Creds(credentials.NewTLS(config)))
	s.url = "https" + s.url[len("http"):]
	return s
}
