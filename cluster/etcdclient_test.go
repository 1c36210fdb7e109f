package cluster_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// own is the zero target: the caller's own endpoints.
var own cluster.Target

func TestList(t *testing.T) {
	s := serve(t, &server{id: 0x1f, members: []*pb.Member{
		{ID: 0x1f, Name: "m1", PeerURLs: []string{firstURL}, ClientURLs: []string{"http://10.0.0.1:2379"}},
		{ID: 2, PeerURLs: []string{ourURL, "http://b9:2380"}, IsLearner: true}}})
	e := clientOf(t, cluster.ClientConfig{}, s.url)
	want := cluster.List{ClusterID: clusterID, By: 0x1f, Members: []cluster.Member{
		{ID: 0x1f, Name: "m1", PeerURLs: []string{firstURL}, ClientURLs: []string{"http://10.0.0.1:2379"}},
		{ID: 2, PeerURLs: []string{ourURL, "http://b9:2380"}, Learner: true}}}

	l, err := e.List(within(t, time.Second), own)
	require.NoError(t, err)
	assert.Equal(t, want, l)
	assert.True(t, s.last(t).requireLeader, "without a leader it fails at once, and does not hang")
	assert.True(t, s.last(t).message.(*pb.MemberListRequest).Linearizable)

	l, err = e.ListAt(within(t, time.Second), s.target())
	require.NoError(t, err)
	assert.Equal(t, want, l)
	assert.False(t, s.last(t).requireLeader, "it must answer without a leader")
	assert.False(t, s.last(t).message.(*pb.MemberListRequest).Linearizable)
}

// Before 3.5 no list is linearizable: a linearizable read comes first, through
// the same server.
func TestListBefore35HasABarrier(t *testing.T) {
	for version, want := range map[string][]string{
		"3.3.27": {"status", "range", "list"},
		"3.4.45": {"status", "range", "list"},
		"3.5.0":  {"status", "list"},
		"3.6.16": {"status", "list"},
	} {
		t.Run(version, func(t *testing.T) {
			s := serve(t, &server{version: version})
			e := clientOf(t, cluster.ClientConfig{}, s.url)
			_, err := e.List(within(t, time.Second), own)
			require.NoError(t, err)
			assert.Equal(t, want, s.got())
			_, err = e.List(within(t, time.Second), own)
			require.NoError(t, err)
			assert.Equal(t, append(want, want[1:]...), s.got(), "the version is asked once")
			_, err = e.ListAt(within(t, time.Second), own)
			require.NoError(t, err)
			assert.Equal(t, "list-at", s.last(t).call, "a server's own list needs no barrier")
			assert.NotContains(t, s.got()[len(want)*2-1:], "range")
		})
	}
	t.Run("the read is linearizable, and its failure the list's", func(t *testing.T) {
		s := serve(t, &server{version: "3.4.45", fail: func(call string) error {
			return map[string]error{"range": rpctypes.ErrGRPCTimeout}[call]
		}})
		_, err := clientOf(t, cluster.ClientConfig{}, s.url).List(within(t, time.Second), own)
		require.ErrorIs(t, err, rpctypes.ErrTimeout)
		assert.False(t, s.last(t).message.(*pb.RangeRequest).Serializable)
		assert.Empty(t, s.got("list"))
	})
	t.Run("who may not ask for the version gets the list", func(t *testing.T) {
		s := serve(t, &server{fail: func(call string) error {
			return map[string]error{"status": rpctypes.ErrGRPCPermissionDenied}[call]
		}})
		_, err := clientOf(t, cluster.ClientConfig{}, s.url).List(within(t, time.Second), own)
		require.NoError(t, err)
	})
}

// Dead and hung endpoints cost one timeout together, and nothing where one
// answers.
func TestDeadAndHungEndpoints(t *testing.T) {
	const timeout = 400 * time.Millisecond
	bad := []string{deadURL(t), hungURL(t), hungURL(t), deadURL(t), hungURL(t)}
	for name, ask := range map[string]func(*cluster.EtcdClient, context.Context, cluster.Target) error{
		"list": func(e *cluster.EtcdClient, ctx context.Context, at cluster.Target) error {
			_, err := e.List(ctx, at)
			return err
		},
		"list-at": func(e *cluster.EtcdClient, ctx context.Context, at cluster.Target) error {
			_, err := e.ListAt(ctx, at)
			return err
		},
		"status": func(e *cluster.EtcdClient, ctx context.Context, at cluster.Target) error {
			_, err := e.Status(ctx, at)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, &server{})
			e := clientOf(t, cluster.ClientConfig{}, append(bad, s.url)...)
			asked := time.Now()
			require.NoError(t, ask(e, within(t, 10*time.Second), own))
			assert.Less(t, time.Since(asked), 8*time.Second, "a dead one makes a live one wait")

			e = clientOf(t, cluster.ClientConfig{}, bad...)
			asked = time.Now()
			err := ask(e, within(t, timeout), own)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Less(t, time.Since(asked), 8*time.Second, "one timeout, not one each")
			for _, url := range bad {
				assert.Contains(t, err.Error(), url, "each is named")
			}
			require.ErrorContains(t, err, "connection refused")
		})
	}
	t.Run("no endpoint at all", func(t *testing.T) {
		e := clientOf(t, cluster.ClientConfig{}, bad[0])
		_, err := e.Status(within(t, timeout), cluster.Target{Member: cluster.Member{ID: 2}})
		require.ErrorIs(t, err, cluster.ErrUnreachable)
	})
}

// A quiet cluster is asked once per pass: by the endpoint that answered last,
// as long as it does.
func TestTheEndpointThatAnsweredIsAskedAgain(t *testing.T) {
	var hung sync.Map
	servers := map[string]*server{}
	var urls []string
	for range 3 {
		s := &server{}
		s.hang = func(string) bool { _, is := hung.Load(s); return is }
		serve(t, s)
		servers[s.url] = s
		urls = append(urls, s.url)
	}
	e := clientOf(t, cluster.ClientConfig{}, urls...)
	list := func() (by *server) {
		before := map[*server]int{}
		for _, s := range servers {
			before[s] = len(s.got("list"))
		}
		_, err := e.List(within(t, time.Second), own)
		require.NoError(t, err)
		for _, s := range servers {
			if len(s.got("list")) > before[s] {
				by = s
			}
		}
		return by
	}
	list()
	time.Sleep(100 * time.Millisecond) // the others' answers arrive
	good := list()
	total := func() (n int) {
		for _, s := range servers {
			n += len(s.got("list"))
		}
		return n
	}
	before := total()
	for range 10 {
		require.Same(t, good, list())
	}
	assert.Equal(t, before+10, total(), "nobody else was asked")

	hung.Store(good, true)
	asked := time.Now()
	_, err := e.List(within(t, time.Second), own)
	require.NoError(t, err)
	assert.Greater(t, time.Since(asked), 400*time.Millisecond, "it has half of the time")

	good.grpc.Stop()
	for range 3 {
		require.NotSame(t, good, list())
	}
	_, err = e.List(within(t, time.Second), cluster.Target{Member: cluster.Member{ID: 2, ClientURLs: []string{urls[0], urls[1], urls[2]}}})
	require.NoError(t, err)
}

func TestStatus(t *testing.T) {
	s := serve(t, &server{id: 0x1f})
	st, err := clientOf(t, cluster.ClientConfig{}, s.url).Status(within(t, time.Second), s.target())
	require.NoError(t, err)
	assert.Equal(t, cluster.Status{ID: 0x1f, ClusterID: clusterID, Version: "3.6.16", Leader: 1, Term: 2, Index: 30, Applied: 29, DBSize: 20480, Learner: true,
		Errors: []string{"memberID:1 alarm:NOSPACE "}, Downgrading: true}, st)
	assert.False(t, s.last(t).requireLeader, "a server without a leader must answer")
}

// Another member's answer is returned as it is: the caller compares.
func TestStatusOfAnotherMember(t *testing.T) {
	one, two := serve(t, &server{id: 1}), serve(t, &server{id: 2})
	for name, tc := range map[string]struct {
		endpoints []string
		want      cluster.ID
	}{
		"its own endpoint":                  {[]string{two.url}, 2},
		"only another's":                    {[]string{one.url}, 1},
		"another's, and a dead one":         {[]string{deadURL(t), one.url}, 1},
		"another's, and its own":            {[]string{one.url, two.url}, 2},
		"its own, and another's":            {[]string{two.url, one.url}, 2},
		"its own, another's and a dead one": {[]string{deadURL(t), one.url, two.url}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			e := clientOf(t, cluster.ClientConfig{}, one.url)
			st, err := e.Status(within(t, time.Second), cluster.Target{Member: cluster.Member{ID: 2, ClientURLs: tc.endpoints}})
			require.NoError(t, err)
			assert.Equal(t, tc.want, st.ID)
		})
	}
}

// writes are all writes of the client, by what the server gets.
var writes = map[string]func(e *cluster.EtcdClient, ctx context.Context, via cluster.Target) error{
	"add": func(e *cluster.EtcdClient, ctx context.Context, via cluster.Target) error {
		_, err := e.Add(ctx, via, []string{"HTTP://10.0.0.9:02380", "http://b9:2380"}, true)
		return err
	},
	"promote": promote,
	"remove": func(e *cluster.EtcdClient, ctx context.Context, via cluster.Target) error {
		return e.Remove(ctx, via, 9)
	},
	"update": func(e *cluster.EtcdClient, ctx context.Context, via cluster.Target) error {
		return e.Update(ctx, via, 9, []string{"http://b9:2380"})
	},
	"move-leader": func(e *cluster.EtcdClient, ctx context.Context, via cluster.Target) error {
		return e.MoveLeader(ctx, via, 9)
	},
	"revoke": func(e *cluster.EtcdClient, ctx context.Context, via cluster.Target) error {
		_, err := e.Barrier(ctx, via)
		return err
	},
	"user-list": func(e *cluster.EtcdClient, ctx context.Context, via cluster.Target) error {
		return e.MayChange(ctx, via)
	},
}

// promote asks for a vote after a look, which leaves a connection: without one no
// vote is asked for.
func promote(e *cluster.EtcdClient, ctx context.Context, via cluster.Target) error {
	err := e.MayChange(ctx, via)
	if err != nil {
		return err
	}
	return e.Promote(ctx, via, 9)
}

func TestWritesSayWhatTheyAreTold(t *testing.T) {
	for call, write := range writes {
		t.Run(call, func(t *testing.T) {
			s := serve(t, &server{fail: func(call string) error {
				return map[string]error{"revoke": rpctypes.ErrGRPCLeaseNotFound}[call]
			}})
			require.NoError(t, write(clientOf(t, cluster.ClientConfig{}, deadURL(t)), within(t, 10*time.Second), s.target()))
			assert.Equal(t, []string{call}, s.got(call))
			assert.True(t, s.last(t).requireLeader)
			switch m := s.newest(t, call).(type) {
			case *pb.MemberAddRequest:
				assert.Equal(t, []string{"HTTP://10.0.0.9:02380", "http://b9:2380"}, m.PeerURLs, "unchanged")
				assert.True(t, m.IsLearner)
			case *pb.MemberPromoteRequest:
				assert.Equal(t, uint64(9), m.ID)
			case *pb.MemberRemoveRequest:
				assert.Equal(t, uint64(9), m.ID)
			case *pb.MemberUpdateRequest:
				assert.Equal(t, uint64(9), m.ID)
				assert.Equal(t, []string{"http://b9:2380"}, m.PeerURLs)
			case *pb.MoveLeaderRequest:
				assert.Equal(t, uint64(9), m.TargetID)
			}
		})
	}
	t.Run("add returns the entry", func(t *testing.T) {
		s := serve(t, &server{})
		m, err := clientOf(t, cluster.ClientConfig{}, s.url).Add(within(t, 10*time.Second), s.target(), []string{ourURL}, false)
		require.NoError(t, err)
		assert.Equal(t, cluster.Member{ID: 9, PeerURLs: []string{ourURL}}, m)
	})
}

// A write goes to one endpoint that a connection can be made to, and once it was
// sent to nobody else, whatever comes of it.
func TestAWriteIsSentOnce(t *testing.T) {
	refusals := map[string]error{
		"unhealthy":            rpctypes.ErrGRPCUnhealthy,
		"timed out":            rpctypes.ErrGRPCTimeout,
		"no leader":            rpctypes.ErrGRPCNoLeader,
		"permission denied":    rpctypes.ErrGRPCPermissionDenied,
		"a learner was asked":  rpctypes.ErrGRPCNotSupportedForLearner,
		"unavailable, somehow": status.Error(codes.Unavailable, "etcdserver: who knows"),
	}
	for call, write := range writes {
		for why, refusal := range refusals {
			t.Run(call+"/"+why, func(t *testing.T) {
				both := twice(t, func() *server {
					return &server{fail: func(got string) error { return map[string]error{call: refusal}[got] }}
				})
				err := write(clientOf(t, cluster.ClientConfig{}, deadURL(t)), within(t, 2*time.Second), both.target())
				require.ErrorIs(t, err, rpctypes.Error(refusal))
				assert.Equal(t, []string{call}, both.got(call))
			})
		}
		t.Run(call+"/no answer", func(t *testing.T) {
			both := twice(t, func() *server { return &server{hang: func(got string) bool { return got == call }} })
			for _, d := range []time.Duration{200 * time.Millisecond, 2 * time.Second, 20 * time.Second} {
				err := write(clientOf(t, cluster.ClientConfig{}, deadURL(t)), within(t, d), both.target())
				require.ErrorIs(t, err, context.DeadlineExceeded)
				if len(both.got(call)) > 0 { // a busy machine may not get so far at first
					break
				}
			}
			assert.Equal(t, []string{call}, both.got(call))
		})
		t.Run(call+"/the server ends", func(t *testing.T) {
			both := twice(t, func() *server {
				s := &server{}
				s.hang = func(got string) bool {
					if got == call {
						go s.grpc.Stop()
					}
					return got == call
				}
				return s
			})
			require.Error(t, write(clientOf(t, cluster.ClientConfig{}, deadURL(t)), within(t, 2*time.Second), both.target()))
			assert.Equal(t, []string{call}, both.got(call))
		})
	}
}

// pair is a server that listens at two URLs, and what it got on either.
type pair [2]*server

func twice(t *testing.T, make func() *server) pair {
	t.Helper()
	return pair{serve(t, make()), serve(t, make())}
}

func (p pair) target() cluster.Target {
	return cluster.Target{Member: cluster.Member{ID: 1, ClientURLs: []string{p[0].url, p[1].url}}}
}

func (p pair) got(call string) []string { return append(p[0].got(call), p[1].got(call)...) }

// What a vote hangs on was proven a moment ago: it does not wait for a dial.
func TestAVoteIsSentOnAConnectionThatIsUp(t *testing.T) {
	s := serve(t, &server{})
	e := clientOf(t, cluster.ClientConfig{}, deadURL(t))
	require.ErrorIs(t, e.Promote(within(t, time.Second), s.target(), 9), cluster.ErrUnreachable)
	assert.Empty(t, s.got("promote"))
	require.NoError(t, e.Promote(within(t, time.Second), s.target(), 9), "it was made for the next time")
	assert.Equal(t, []string{"promote"}, s.got("promote"))
}

func TestAWriteSkipsDeadEndpoints(t *testing.T) {
	config := cluster.ClientConfig{EndpointTimeout: 200 * time.Millisecond}
	for name, bad := range map[string][]string{"dead": {deadURL(t)}, "hung": {hungURL(t)}, "both": {deadURL(t), hungURL(t)}} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, &server{})
			asked := time.Now()
			via := cluster.Target{Member: cluster.Member{ID: 1, ClientURLs: append(bad, s.url)}}
			require.NoError(t, promote(clientOf(t, config, deadURL(t)), within(t, 10*time.Second), via))
			assert.Less(t, time.Since(asked), 8*time.Second, "one EndpointTimeout, not the whole deadline")
			assert.Equal(t, []string{"promote"}, s.got("promote"))

			via.ClientURLs = bad
			err := clientOf(t, config, deadURL(t)).Promote(within(t, 10*time.Second), via, 9)
			require.Error(t, err)
			for _, url := range bad {
				assert.Contains(t, err.Error(), url)
			}
		})
	}
	err := clientOf(t, config, deadURL(t)).Promote(within(t, time.Second), cluster.Target{Member: cluster.Member{ID: 0x1f}}, 9)
	require.ErrorIs(t, err, cluster.ErrUnreachable)
	require.ErrorContains(t, err, "1f")
}

// A barrier revokes a lease that is not there: that answer alone shows a commit. What it
// returns is the list of the same server, and the connection both went on.
func TestBarrier(t *testing.T) {
	for name, tc := range map[string]struct{ answer, want error }{
		"no such lease":           {rpctypes.ErrGRPCLeaseNotFound, nil},
		"somebody had that lease": {nil, errAny},
		"no leader":               {rpctypes.ErrGRPCNoLeader, rpctypes.ErrNoLeader},
		"permission denied":       {rpctypes.ErrGRPCPermissionDenied, rpctypes.ErrPermissionDenied},
		"nobody asks":             {rpctypes.ErrGRPCUserEmpty, rpctypes.ErrUserEmpty},
		"too many requests":       {rpctypes.ErrGRPCRequestTooManyRequests, rpctypes.ErrTooManyRequests},
		"another text":            {status.Error(codes.NotFound, "nothing here"), errAny},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, &server{fail: func(call string) error {
				if call == "revoke" {
					return tc.answer
				}
				return nil
			}})
			e := clientOf(t, cluster.ClientConfig{}, s.url)
			ids := map[int64]bool{}
			carriers := map[cluster.Carrier]bool{}
			for range 20 {
				b, err := e.Barrier(within(t, time.Second), s.target())
				switch {
				case tc.want == nil:
					require.NoError(t, err)
					assert.Equal(t, clusterID, b.ClusterID)
					assert.Equal(t, cluster.ID(s.id), b.By)
					assert.Len(t, b.Members, 1)
					carriers[b.Carrier] = true
					assert.Equal(t, []string{"revoke", "list"}, lastOf(s.got("revoke", "list"), 2), "the list is read behind it")
				case tc.want == errAny:
					require.Error(t, err)
				default:
					require.ErrorIs(t, err, tc.want)
				}
				if tc.want != nil {
					assert.NotContains(t, s.got("list"), "list", "no list without a barrier")
				}
				id := s.newest(t, "revoke").(*pb.LeaseRevokeRequest).ID
				require.Positive(t, id)
				ids[id] = true
			}
			assert.Len(t, ids, 20, "a new one each time")
			if tc.want == nil {
				assert.Len(t, carriers, 1, "one connection carried them all")
				assert.False(t, carriers[""])
			}
		})
	}
}

var errAny = errors.New("any error")

func lastOf(calls []string, n int) []string { return calls[max(0, len(calls)-n):] }

// What is known of an add that was not answered: on which connection it went, or that
// it never left this host. A barrier tells whether it went on the same one.
func TestTheWayOfAnAdd(t *testing.T) {
	answer := make(chan error, 1)
	s := serve(t, &server{fail: func(call string) error {
		switch call {
		case "revoke":
			return rpctypes.ErrGRPCLeaseNotFound
		case "add":
			return <-answer
		}
		return nil
	}})
	e := clientOf(t, cluster.ClientConfig{}, s.url)
	before, err := e.Barrier(within(t, time.Second), s.target())
	require.NoError(t, err)

	_, err = e.Add(within(t, 50*time.Millisecond), s.target(), []string{ourURL}, true)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	sent, on := cluster.WayOf(err)
	assert.True(t, sent)
	assert.Equal(t, before.Carrier, on)
	answer <- nil // it is read all the same

	after, err := e.Barrier(within(t, time.Second), s.target())
	require.NoError(t, err)
	assert.Equal(t, on, after.Carrier)
	elsewhere, err := clientOf(t, cluster.ClientConfig{}, s.url).Barrier(within(t, time.Second), s.target())
	require.NoError(t, err)
	assert.NotEqual(t, on, elsewhere.Carrier, "another connection to the same server")

	answer <- rpctypes.ErrGRPCUnhealthy
	_, err = e.Add(within(t, time.Second), s.target(), []string{ourURL}, true)
	require.ErrorIs(t, err, rpctypes.ErrUnhealthy, "the server's words are found behind it")

	nobody := cluster.Target{Member: cluster.Member{ID: 1, ClientURLs: []string{deadURL(t)}}}
	_, err = e.Add(within(t, time.Second), nobody, []string{ourURL}, true)
	require.Error(t, err)
	sent, _ = cluster.WayOf(err)
	assert.False(t, sent, "there was nobody to send it to")
	hung := cluster.Target{Member: cluster.Member{ID: 1, ClientURLs: []string{hungURL(t)}}}
	_, err = e.Add(within(t, 200*time.Millisecond), hung, []string{ourURL}, true)
	require.Error(t, err)
	sent, _ = cluster.WayOf(err)
	assert.False(t, sent, "no connection came to be")
	sent, on = cluster.WayOf(errors.New("of a host's own client"))
	assert.True(t, sent, "who does not tell may have sent it")
	assert.Empty(t, on)
}

// A 3.4 server knows no linearizable list; whatever keeps it from telling its version,
// its own list does not pass for one.
func TestTheFenceIsNeverDropped(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		status  error
		fenced  bool
	}{
		"3.4":                               {"3.4.45", nil, true},
		"3.4, whose status is busy":         {"3.4.45", rpctypes.ErrGRPCRequestTooManyRequests, true},
		"3.4, whose status is not allowed":  {"3.4.45", rpctypes.ErrGRPCPermissionDenied, true},
		"3.4, whose status has no leader":   {"3.4.45", rpctypes.ErrGRPCNoLeader, true},
		"a version that nobody can read":    {"main", nil, true},
		"3.6":                               {"3.6.16", nil, false},
		"3.6, whose status does not answer": {"3.6.16", rpctypes.ErrGRPCTimeout, true},
		"3.5":                               {"3.5.35", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, &server{version: tc.version, fail: func(call string) error {
				if call == "status" {
					return tc.status
				}
				return nil
			}})
			e := clientOf(t, cluster.ClientConfig{}, s.url)
			for range 2 {
				_, err := e.List(within(t, time.Second), cluster.Target{})
				require.NoError(t, err)
			}
			want := 0
			if tc.fenced {
				want = 2
			}
			assert.Len(t, s.got("range"), want)
		})
	}
	t.Run("a fence that fails is no list", func(t *testing.T) {
		s := serve(t, &server{version: "3.4.45", fail: func(call string) error {
			return map[string]error{"range": rpctypes.ErrGRPCNoLeader}[call]
		}})
		_, err := clientOf(t, cluster.ClientConfig{}, s.url).List(within(t, time.Second), cluster.Target{})
		require.ErrorIs(t, err, rpctypes.ErrNoLeader)
		assert.Empty(t, s.got("list"))
	})
}

func TestMayChange(t *testing.T) {
	for name, tc := range map[string]struct{ answer, want error }{
		"auth is off, or we are root": {nil, nil},
		"we are not root":             {rpctypes.ErrGRPCPermissionDenied, rpctypes.ErrPermissionDenied},
		"we are nobody":               {rpctypes.ErrGRPCUserEmpty, rpctypes.ErrUserEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, &server{fail: func(string) error { return tc.answer }})
			require.ErrorIs(t, clientOf(t, cluster.ClientConfig{}, s.url).MayChange(within(t, time.Second), s.target()), tc.want)
		})
	}
}

// What comes from the wire compares with the client's values, and the context's
// own error is found beside it.
func TestErrorsOfTheAdapter(t *testing.T) {
	for name, tc := range map[string]struct{ wire, want error }{
		"a learner lags":        {rpctypes.ErrGRPCLearnerNotReady, rpctypes.ErrMemberLearnerNotReady},
		"it is no learner":      {rpctypes.ErrGRPCMemberNotLearner, rpctypes.ErrMemberNotLearner},
		"an unusual code":       {status.Error(codes.Unknown, rpctypes.ErrMemberNotEnoughStarted.Error()), rpctypes.ErrMemberNotEnoughStarted},
		"3.5 refuses a learner": {status.Error(codes.Unavailable, "etcdserver: rpc not supported for learner"), rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, &server{fail: func(string) error { return tc.wire }})
			e := clientOf(t, cluster.ClientConfig{}, s.url)
			_, _ = e.Status(within(t, time.Second), s.target())
			require.ErrorIs(t, e.Promote(within(t, time.Second), s.target(), 9), tc.want)
		})
	}
	t.Run("cancelled by the caller", func(t *testing.T) {
		s := serve(t, &server{hang: func(string) bool { return true }})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		_, err := clientOf(t, cluster.ClientConfig{}, s.url).Status(ctx, s.target())
		require.ErrorIs(t, err, context.Canceled)
	})
}

// A server that comes up is reached by the next call: gRPC alone would wait a
// second and more before it tries again.
func TestAServerThatComesBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	e := clientOf(t, cluster.ClientConfig{}, "http://"+l.Addr().String())
	for range 5 {
		_, err = e.List(within(t, time.Second), own)
		require.Error(t, err)
	}
	l, err = net.Listen("tcp", l.Addr().String())
	require.NoError(t, err)
	serveOn(t, l, &server{})
	asked := time.Now()
	_, err = e.List(within(t, 10*time.Second), own)
	require.NoError(t, err)
	assert.Less(t, time.Since(asked), 8*time.Second)
}

// The caller's client is never changed, and neither it nor the adapter keeps
// anything open once one of them is closed.
func TestClosing(t *testing.T) {
	for name, end := range map[string]func(*clientv3.Client, *cluster.EtcdClient){
		"the adapter, then the client": func(c *clientv3.Client, e *cluster.EtcdClient) { e.Close(); e.Close(); _ = c.Close() },
		"the caller's client":          func(c *clientv3.Client, _ *cluster.EtcdClient) { _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s, hung, dead := serve(t, &server{}), hungURL(t), deadURL(t)
			time.Sleep(50 * time.Millisecond)
			before := runtime.NumGoroutine()
			c := etcd(t, clientv3.Config{Endpoints: []string{dead, s.url, hung}})
			e := cluster.NewClient(c, cluster.ClientConfig{})
			for range 3 {
				_, err := e.List(within(t, time.Second), own)
				require.NoError(t, err)
				require.NoError(t, e.Promote(within(t, time.Second), s.target(), 9))
			}
			assert.Equal(t, []string{dead, s.url, hung}, c.Endpoints())
			end(c, e)
			require.Eventually(t, func() bool {
				_, err := e.List(within(t, time.Second), own)
				return err != nil
			}, 5*time.Second, 10*time.Millisecond, "it lists still")
			require.Error(t, e.Promote(within(t, time.Second), s.target(), 9))
			assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 5*time.Second, 20*time.Millisecond,
				"goroutines are left: %d, before %d", runtime.NumGoroutine(), before)
		})
	}
}

// The caller may change its client's endpoints at any time, to none too.
func TestTheCallersEndpointsChange(t *testing.T) {
	one, two := serve(t, &server{id: 1}), serve(t, &server{id: 2})
	c := etcd(t, clientv3.Config{Endpoints: []string{one.url}})
	e := cluster.NewClient(c, cluster.ClientConfig{})
	t.Cleanup(e.Close)
	l, err := e.List(within(t, time.Second), own)
	require.NoError(t, err)
	assert.Equal(t, cluster.ID(1), l.By)
	c.SetEndpoints(two.url)
	l, err = e.List(within(t, time.Second), own)
	require.NoError(t, err)
	assert.Equal(t, cluster.ID(2), l.By)
	c.SetEndpoints()
	_, err = e.List(within(t, time.Second), own)
	require.ErrorIs(t, err, cluster.ErrUnreachable)
	_, err = e.Status(within(t, time.Second), serve(t, &server{id: 3}).target())
	require.ErrorIs(t, err, cluster.ErrUnreachable)
}

// Closing in the middle of calls ends them, and races with nothing.
func TestClosingWhileCallsAreUnderWay(t *testing.T) {
	s := serve(t, &server{hang: func(string) bool { return true }})
	e := clientOf(t, cluster.ClientConfig{}, s.url, hungURL(t), deadURL(t))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := e.List(within(t, 10*time.Second), own)
			assert.Error(t, err)
		})
		wg.Go(func() { assert.Error(t, e.Remove(within(t, 10*time.Second), s.target(), 9)) })
	}
	time.Sleep(100 * time.Millisecond)
	e.Close()
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(8 * time.Second):
		t.Fatal("calls outlive the client")
	}
}

func TestTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	for name, tc := range map[string]struct {
		clients *authority // whose certificates the server wants
		config  *tls.Config
		want    error
	}{
		"the right CA":                 {nil, &tls.Config{RootCAs: ca.pool()}, nil},
		"another CA":                   {nil, &tls.Config{RootCAs: other.pool()}, cluster.ErrTLS},
		"no CA":                        {nil, &tls.Config{}, cluster.ErrTLS},
		"a certificate that is wanted": {&ca, &tls.Config{RootCAs: ca.pool(), Certificates: []tls.Certificate{ca.issue(t)}}, nil},
		"a certificate is missing":     {&ca, &tls.Config{RootCAs: ca.pool()}, cluster.ErrTLS},
		"a certificate of another CA":  {&ca, &tls.Config{RootCAs: ca.pool(), Certificates: []tls.Certificate{other.issue(t)}}, cluster.ErrTLS},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveTLS(t, &server{}, ca, tc.clients)
			s.members[0].ClientURLs = []string{s.url}
			e := cluster.NewClient(etcd(t, clientv3.Config{Endpoints: []string{s.url}, TLS: tc.config}), cluster.ClientConfig{})
			t.Cleanup(e.Close)
			j, err := learner.NewJoiner(e, ourName, member.Config{})
			require.NoError(t, err)
			asked := time.Now()
			p, err := j.Plan(within(t, time.Minute), ourURL)
			if tc.want == nil {
				require.NoError(t, err)
				require.Len(t, p.Snapshot.Members, 1)
				assert.NoError(t, p.Snapshot.Members[0].Err)
				return
			}
			if tc.clients == nil { // else the server may hang up before it has said why
				require.ErrorIs(t, err, tc.want)
			}
			require.Error(t, err)
			_, err = j.Join(within(t, time.Minute), ourURL)
			require.ErrorIs(t, err, tc.want)
			assert.Less(t, time.Since(asked), 30*time.Second, "no wait heals it")
			var join *member.JoinError
			require.ErrorAs(t, err, &join)
			assert.NotEmpty(t, join.Hint)
			assert.False(t, join.Changed)
			assert.Empty(t, s.got("add"))
		})
	}
}

// Many may use one client.
func TestTheAdapterIsSafeForConcurrentUse(t *testing.T) {
	one, two := serve(t, &server{id: 1}), serve(t, &server{id: 2, version: "3.4.45"})
	e := clientOf(t, cluster.ClientConfig{}, one.url, two.url, deadURL(t))
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			var err error
			switch i % 4 {
			case 0:
				_, err = e.List(within(t, 5*time.Second), own)
			case 1:
				_, err = e.Status(within(t, 5*time.Second), two.target())
			case 2:
				err = e.Remove(within(t, 5*time.Second), one.target(), 9)
			case 3:
				_, err = e.ListAt(within(t, 5*time.Second), two.target())
			}
			assert.NoError(t, err)
		})
	}
	wg.Wait()
}
