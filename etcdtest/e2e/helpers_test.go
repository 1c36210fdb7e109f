package e2e_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// newClient is the library's client of the cluster's voters.
func newClient(c *etcdtest.Cluster) *cluster.EtcdClient {
	return cluster.NewClient(c.Client(), cluster.ClientConfig{PeerTLS: c.PeerTLS(), ClientTLS: c.ClientTLS()})
}

// startHook starts s as the library says.
func startHook(s *etcdtest.Server) func(context.Context, member.StartSpec) error {
	return func(_ context.Context, spec member.StartSpec) error { return s.Start(spec.InitialCluster) }
}

// config is the least a test needs: a start hook, and events in the test's log.
func config(t *testing.T, s *etcdtest.Server) member.Config {
	return member.Config{Start: startHook(s), Observe: logEvents(t)}
}

func logEvents(t *testing.T) func(member.Event) {
	begin := time.Now()
	return func(e member.Event) {
		t.Logf("%7.3fs %s: %s: %s", time.Since(begin).Seconds(), e.Name, e.Kind, e.Text)
	}
}

// joinLearner joins s by the learner's way, with the config changed as wanted.
func joinLearner(t *testing.T, ctx context.Context, c *etcdtest.Cluster, s *etcdtest.Server, change ...func(*member.Config)) (member.Result, error) {
	t.Helper()
	cfg := config(t, s)
	for _, f := range change {
		f(&cfg)
	}
	j, err := learner.NewJoiner(newClient(c), s.Name, cfg)
	require.NoError(t, err)
	return j.Join(ctx, s.PeerURL)
}

// within bounds a test's call generously.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// recorder keeps a join's events.
type recorder struct {
	mu     sync.Mutex
	events []member.Event
}

func (r *recorder) observe(e member.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) kinds() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []string
	for _, e := range r.events {
		kinds = append(kinds, string(e.Kind))
	}
	return strings.Join(kinds, ", ")
}

// checkWrites stops the writers: none of their writes failed, none is lost.
func checkWrites(t *testing.T, w *etcdtest.Writers) etcdtest.WriteReport {
	t.Helper()
	w.Stop()
	report, err := w.Check(within(t, time.Minute))
	require.NoError(t, err)
	t.Logf("writes: %+v", report)
	assert.Zero(t, report.Failed, "writes failed")
	assert.Zero(t, report.Lost, "acknowledged writes are lost")
	assert.NotZero(t, report.Acknowledged)
	return report
}

// memberOf is the entry with the server's peer URL, nil if there is none.
func memberOf(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server) *etcdserverpb.Member {
	t.Helper()
	list, err := c.Client().MemberList(within(t, 20*time.Second))
	require.NoError(t, err)
	for _, m := range list.Members {
		if slices.Contains(m.PeerURLs, s.PeerURL) {
			return m
		}
	}
	return nil
}

func putOne(ctx context.Context, c *etcdtest.Cluster) error {
	_, err := c.Client().Put(ctx, "e2e", time.Now().String())
	return err
}

func takesWrites(t *testing.T, c *etcdtest.Cluster) {
	t.Helper()
	require.NoError(t, putOne(within(t, 20*time.Second), c), "the cluster takes no writes")
}

// notInEveryRun skips what takes long and shows for one more version or size
// what another test shows already; .ci/run plays it.
func notInEveryRun(t *testing.T) {
	t.Helper()
	if os.Getenv(allVersions) != "1" {
		t.Skipf("played only with %s=1 in the environment, as .ci/run has it", allVersions)
	}
}

// inEveryRelease reports whether a release is among those of every run.
func inEveryRelease(version string) bool {
	return slices.ContainsFunc(releases, func(r release) bool { return r.name == version && r.everyRun })
}
