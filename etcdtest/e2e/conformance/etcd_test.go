package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// realWorld is a cluster of etcd processes. It ends with tb.
type realWorld struct {
	*cluster.EtcdClient
	c        *etcdtest.Cluster
	version  version.Version
	machines []*realMachine
	writers  map[string]*clientv3.Client // by client URL
}

func newRealWorld(tb testing.TB, r kit.Release, s shape) *realWorld {
	opts := []etcdtest.Option{etcdtest.WithVersion(r.Name)}
	if !r.Version().Can(version.LinearizableMemberList) {
		// Without it 3.4 writes its log when 8 KiB have come together, so that a kill
		// loses some.
		opts = append(opts, etcdtest.WithFsync())
	}
	if s.learners > 0 {
		opts = append(opts, etcdtest.WithArgs(fmt.Sprintf("--max-learners=%d", s.learners)))
	}
	if s.links {
		opts = append(opts, etcdtest.WithLinks())
	}
	c := etcdtest.Start(tb, s.voters, opts...)
	w := &realWorld{EtcdClient: kit.NewClient(c), c: c, version: r.Version(), writers: map[string]*clientv3.Client{}}
	for _, v := range c.Servers() {
		w.machines = append(w.machines, &realMachine{s: v})
	}
	return w
}

func (w *realWorld) says() version.Version { return w.version }

func (w *realWorld) voters() []machine {
	var founders []machine
	for i := range w.c.Servers() {
		founders = append(founders, w.machines[i])
	}
	return founders
}

func (w *realWorld) machine() machine {
	m := &realMachine{s: w.c.NewServer(fmt.Sprintf("machine-%d", len(w.machines)+1))}
	w.machines = append(w.machines, m)
	return m
}

func (w *realWorld) put(leader cluster.Target, n int) error {
	url := leader.ClientURLs[0]
	cli := w.writers[url]
	for _, m := range w.machines {
		if cli == nil && m.s.ClientURL == url {
			cli = w.c.ClientFor(m.s)
			w.writers[url] = cli
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range n {
		if _, err := cli.Put(ctx, "conformance", "of the fake"); err != nil {
			return err
		}
	}
	return nil
}

func (w *realWorld) snapshots() { w.c.PutIndex(snapshotIndex) }

// cut works where there is one voter: the others' links are cut too, and with
// them what joiners have among each other.
func (w *realWorld) cut(machine) {
	for _, m := range w.machines {
		m.s.Link().CutRaft()
	}
}

// shut lets through what is no raft, so that the caller still asks it.
func (w *realWorld) shut(m machine) { m.(*realMachine).s.Link().CutRaft() }

func (w *realWorld) mend(machine) {
	for _, m := range w.machines {
		m.s.Link().Heal()
	}
}

// end ends all servers, so that they take no time from those that come after.
func (w *realWorld) end() {
	w.Close()
	var wg sync.WaitGroup
	for _, m := range w.machines {
		wg.Go(m.s.Kill)
	}
	wg.Wait()
}

// realMachine is where one etcd process runs.
type realMachine struct {
	s *etcdtest.Server
}

// panickedAtStatus reports whether a real server's log shows that it was asked for its
// Status just as it was removed, and panicked over that (etcd PR #22205): chance.
func panickedAtStatus(m machine) bool {
	real, ok := m.(*realMachine)
	return ok && strings.Contains(real.s.Log(), "IsLocalMemberLearner") && strings.Contains(real.s.Log(), "maintenanceServer).Status")
}

func (m *realMachine) name() string { return m.s.Name }

func (m *realMachine) peerURL() string { return m.s.PeerURL }

func (m *realMachine) clientURL() string { return m.s.ClientURL }

func (m *realMachine) metricsURL() string { return m.s.MetricsURL }

func (m *realMachine) start(spec member.StartSpec) error { return m.s.Start(spec.InitialCluster) }

func (m *realMachine) restart() error { return m.s.Start("") }

func (m *realMachine) kill() { m.s.Kill() }

func (m *realMachine) resume() { m.s.Resume() }

func (m *realMachine) exit() (int, bool) { return m.s.ExitCode(), !m.s.Running() }

// pause waits until the signal has reached all threads: until nothing answers.
func (m *realMachine) pause() {
	m.s.Pause()
	cli := http.Client{Timeout: 300 * time.Millisecond}
	for answers := true; answers; {
		resp, err := cli.Get(m.s.MetricsURL + "/version")
		if answers = err == nil; answers {
			resp.Body.Close()
		}
	}
}
