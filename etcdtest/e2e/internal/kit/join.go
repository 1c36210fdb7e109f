package kit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// NewClient is the library's client of the cluster's voters.
func NewClient(c *etcdtest.Cluster) *cluster.EtcdClient {
	return cluster.NewClient(c.Client(), cluster.ClientConfig{PeerTLS: c.PeerTLS(), ClientTLS: c.ClientTLS()})
}

// StartHook starts s as the library says.
func StartHook(s *etcdtest.Server) func(context.Context, member.StartSpec) error {
	return func(_ context.Context, spec member.StartSpec) error { return s.Start(spec.InitialCluster) }
}

// Config is the least a test needs: a start hook, and events in the test's log.
func Config(t *testing.T, s *etcdtest.Server) member.Config {
	return member.Config{Start: StartHook(s), Observe: LogEvents(t)}
}

// LogEvents keeps the events and shows them at the end of the test, so that what a
// failed one says first is why it failed.
func LogEvents(t *testing.T) func(member.Event) {
	begin := time.Now()
	var mu sync.Mutex
	var lines []string
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		t.Log("events:\n" + strings.Join(lines, "\n"))
	})
	return func(e member.Event) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, fmt.Sprintf("%7.3fs %s: %s: %s", time.Since(begin).Seconds(), e.Name, e.Kind, e.Text))
	}
}

// JoinLearner joins s by the learner's way, with the config changed as wanted.
func JoinLearner(t *testing.T, ctx context.Context, c *etcdtest.Cluster, s *etcdtest.Server, change ...func(*member.Config)) (member.Result, error) {
	t.Helper()
	cfg := Config(t, s)
	for _, f := range change {
		f(&cfg)
	}
	j, err := learner.NewJoiner(NewClient(c), s.Name, cfg)
	require.NoError(t, err)
	return j.Join(ctx, s.PeerURL)
}

// Within bounds a test's call generously.
func Within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Recorder keeps a join's events.
type Recorder struct {
	mu     sync.Mutex
	Events []member.Event
}

func (r *Recorder) Observe(e member.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Events = append(r.Events, e)
}

func (r *Recorder) Kinds() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []string
	for _, e := range r.Events {
		kinds = append(kinds, string(e.Kind))
	}
	return strings.Join(kinds, ", ")
}

// CheckWrites stops the writers: none of their writes failed, none is lost.
func CheckWrites(t *testing.T, w *etcdtest.Writers) etcdtest.WriteReport {
	t.Helper()
	w.Stop()
	report, err := w.Check(Within(t, time.Minute))
	require.NoError(t, err)
	t.Logf("writes: %+v", report)
	assert.Zero(t, report.Failed, "writes failed")
	assert.Zero(t, report.Lost, "acknowledged writes are lost")
	assert.NotZero(t, report.Acknowledged)
	return report
}

// MemberOf is the entry with the server's peer URL, nil if there is none.
func MemberOf(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server) *etcdserverpb.Member {
	t.Helper()
	list, err := c.Client().MemberList(Within(t, 20*time.Second))
	require.NoError(t, err)
	for _, m := range list.Members {
		if slices.Contains(m.PeerURLs, s.PeerURL) {
			return m
		}
	}
	return nil
}

func PutOne(ctx context.Context, c *etcdtest.Cluster) error {
	_, err := c.Client().Put(ctx, "e2e", time.Now().String())
	return err
}

func TakesWrites(t *testing.T, c *etcdtest.Cluster) {
	t.Helper()
	require.NoError(t, PutOne(Within(t, 20*time.Second), c), "the cluster takes no writes")
}

// Way makes the joiner of one of the two ways into a cluster.
type Way func(cluster.Client, string, member.Config) (member.Joiner, error)

func TheLearnersWay(c cluster.Client, name string, cfg member.Config) (member.Joiner, error) {
	return learner.NewJoiner(c, name, cfg)
}

func TheOldWay(c cluster.Client, name string, cfg member.Config) (member.Joiner, error) {
	return member.NewVotingJoiner(c, name, cfg)
}

// JoinBy joins s one way or the other, through any client.
func JoinBy(t *testing.T, ctx context.Context, by Way, client cluster.Client, s *etcdtest.Server, change ...func(*member.Config)) (member.Result, error) {
	t.Helper()
	cfg := Config(t, s)
	for _, f := range change {
		f(&cfg)
	}
	j, err := by(client, s.Name, cfg)
	require.NoError(t, err)
	return j.Join(ctx, s.PeerURL)
}

func JoinVoter(t *testing.T, ctx context.Context, c *etcdtest.Cluster, s *etcdtest.Server, change ...func(*member.Config)) (member.Result, error) {
	t.Helper()
	return JoinBy(t, ctx, TheOldWay, NewClient(c), s, change...)
}

// Entries is the member list in words, as this client has it.
func Entries(t *testing.T, cli *clientv3.Client, opts ...clientv3.OpOption) []string {
	t.Helper()
	list, err := cli.MemberList(Within(t, 20*time.Second), opts...)
	require.NoError(t, err)
	var out []string
	for _, m := range list.Members {
		out = append(out, cluster.Member{ID: cluster.ID(m.ID), Name: m.Name, PeerURLs: m.PeerURLs, Learner: m.IsLearner}.String())
	}
	slices.Sort(out)
	return out
}

// Refused checks that a join ended for this reason, long before the two minutes
// it had, and that nothing was written or started for it.
func Refused(t *testing.T, list func() []string, why error, join func(context.Context) error) *member.JoinError {
	t.Helper()
	before, begin := list(), time.Now()
	err := join(Within(t, 2*time.Minute))
	assert.Less(t, time.Since(begin), 30*time.Second, "no wait heals it, so there was nothing to wait for")
	e := Unwritten(t, err, why)
	assert.Equal(t, before, list(), "the member list was changed")
	return e
}

// Unwritten checks that a join ended for this reason and says that it wrote nothing.
func Unwritten(t *testing.T, err, why error) *member.JoinError {
	t.Helper()
	require.ErrorIs(t, err, why)
	var e *member.JoinError
	require.ErrorAs(t, err, &e)
	t.Log(e)
	assert.False(t, e.Changed, "it says that the cluster may have been changed")
	assert.Contains(t, e.Error(), "the cluster was not changed")
	return e
}

// StartsNothing fails the test if a server is to be started.
func StartsNothing(t *testing.T) func(*member.Config) {
	return func(c *member.Config) {
		c.Start = func(context.Context, member.StartSpec) error {
			t.Error("the start hook was called")
			return nil
		}
	}
}
