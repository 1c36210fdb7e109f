package conformance_test

import (
	"context"
	"fmt"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// fakeWorld is clustertest's cluster.
type fakeWorld struct {
	*clustertest.Cluster
	version  version.Version
	founders []machine
	machines int
}

func newFakeWorld(r kit.Release, s shape) *fakeWorld {
	var urls []string
	for i := range s.voters {
		urls = append(urls, peerURL(i+1))
	}
	w := &fakeWorld{Cluster: clustertest.New(urls...), version: r.Version(), machines: s.voters}
	w.SetVersion(0, r.Version().String())
	if s.learners > 0 {
		w.SetLearnerLimit(s.learners)
	}
	for i, e := range w.Members() {
		spec := member.StartSpec{Name: e.Name, MemberID: e.ID, PeerURLs: e.PeerURLs}
		w.founders = append(w.founders, &fakeMachine{w: w, number: i + 1, spec: spec, Host: w.Host(e.PeerURLs...)})
	}
	return w
}

func peerURL(number int) string { return fmt.Sprintf("http://10.0.0.%d:2380", number) }

func (w *fakeWorld) says() version.Version { return w.version }

func (w *fakeWorld) voters() []machine { return w.founders }

func (w *fakeWorld) machine() machine {
	w.machines++
	name := fmt.Sprintf("m%d", w.machines)
	return &fakeMachine{w: w, number: w.machines, spec: member.StartSpec{Name: name}, Host: w.Host(peerURL(w.machines))}
}

func (w *fakeWorld) put(_ cluster.Target, n int) error {
	w.Put(n)
	return nil
}

func (w *fakeWorld) snapshots() {
	w.Put(snapshotIndex)
	w.SnapshotJoin(true)
}

func (w *fakeWorld) cut(m machine) { w.CutPeer(m.(*fakeMachine).spec.MemberID) }

func (w *fakeWorld) shut(m machine) { w.OneWay(m.(*fakeMachine).spec.MemberID, true) }

func (w *fakeWorld) mend(m machine) {
	w.HealPeer(m.(*fakeMachine).spec.MemberID)
	w.OneWay(m.(*fakeMachine).spec.MemberID, false)
}

// fakeMachine is one host of it.
type fakeMachine struct {
	*clustertest.Host
	w      *fakeWorld
	number int
	spec   member.StartSpec // of the last start
}

func (m *fakeMachine) name() string { return m.spec.Name }

func (m *fakeMachine) peerURL() string { return peerURL(m.number) }

func (m *fakeMachine) clientURL() string { return fmt.Sprintf("http://10.0.0.%d:2379", m.number) }

func (m *fakeMachine) metricsURL() string { return fmt.Sprintf("http://10.0.0.%d:2381", m.number) }

func (m *fakeMachine) start(spec member.StartSpec) error {
	m.spec = spec
	return m.Start(context.Background(), spec)
}

func (m *fakeMachine) restart() error { return m.Start(context.Background(), m.spec) }

func (m *fakeMachine) kill() { m.w.Kill(m.spec.MemberID) }

func (m *fakeMachine) pause() { m.w.Pause(m.spec.MemberID) }

func (m *fakeMachine) resume() { m.w.Resume(m.spec.MemberID) }

func (m *fakeMachine) exit() (int, bool) {
	if e := m.Exited(context.Background()); e != nil {
		return e.Code, true
	}
	return 0, false
}
