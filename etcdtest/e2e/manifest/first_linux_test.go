package manifest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
	theversion "github.com/etcdjoin/etcdjoin/version"
)

// A founding member and two joins, all from one Spec template, in each form; then
// the power goes, and all come back from their files; then the founder's disk is
// lost, and nothing is founded a second time.
func TestAClusterFromOneSpec(t *testing.T) {
	for _, v := range []string{"3.4.13", "3.5.35", "3.6.16", "3.7.3"} {
		for _, form := range []string{"static pod", "systemd", "config file", "process"} {
			t.Run(v+" "+form, func(t *testing.T) {
				t.Parallel()
				if v != "3.5.35" && v != "3.7.3" {
					kit.NotInEveryRun(t)
				}
				aClusterFromOneSpec(t, v, form)
			})
		}
	}
}

func aClusterFromOneSpec(t *testing.T, v, form string) {
	ports := etcdtest.Start(t, 1) // only for the ports and directories of servers
	template := manifest.Spec{
		Version:  theversion.MustParse(v),
		Settings: map[string]string{"quota-backend-bytes": quota},
		Pod:      manifest.Pod{Image: "registry.k8s.io/etcd:" + v},
		Unit:     manifest.Unit{Program: etcdtest.Binary(t, v)},
	}
	var machines []*machine
	for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
		machines = append(machines, newMachine(t, ports.NewServer(name), template, form))
	}
	founder := machines[0]
	founding := manifest.Founding{Name: founder.Name, PeerURLs: []string{founder.PeerURL}}
	_, foretold, err := founder.spec.Found(t.Context(), founding)
	require.NoError(t, err)

	require.NoError(t, founder.spec.FoundOn(kit.Within(t, time.Minute), founding, founder.config))
	founder.saysExisting()
	file := founder.modified()
	require.NoError(t, founder.spec.FoundOn(kit.Within(t, time.Minute), founding, founder.config), "the installer runs again")
	assert.Equal(t, file, founder.modified())

	cli := newClient(t, founder.ClientURL)
	for _, m := range machines[1:] {
		j, err := learner.NewJoiner(cluster.NewClient(cli, cluster.ClientConfig{}), m.Name, m.config(m.spec))
		require.NoError(t, err)
		result, err := j.Join(kit.Within(t, time.Minute), m.PeerURL)
		require.NoError(t, err)
		assert.False(t, result.Promoted.IsZero())
		m.saysExisting()
	}
	list, err := cli.MemberList(kit.Within(t, 20*time.Second))
	require.NoError(t, err)
	assert.Equal(t, foretold.ClusterID, cluster.ID(list.Header.ClusterId), "etcd makes its IDs as foretold")
	require.Len(t, list.Members, 3)
	putOnce(t, cli, "before", "the power cut")

	for _, m := range machines {
		m.powerCut()
	}
	for _, m := range machines {
		require.NoError(t, m.boot(t.Context()))
	}
	putOnce(t, cli, "after", "the power cut")
	got, err := cli.Get(kit.Within(t, 20*time.Second), "before")
	require.NoError(t, err)
	require.Len(t, got.Kvs, 1)
	for _, m := range machines {
		require.Eventually(t, func() bool { return getOK(m.MetricsURL+"/health") == nil }, time.Minute, 20*time.Millisecond, m.Name)
	}
	require.NoError(t, founder.spec.FoundOn(kit.Within(t, time.Minute), founding, founder.config), "the installer runs again")

	founder.powerCut()
	require.NoError(t, os.RemoveAll(founder.Dir))
	require.NoError(t, founder.boot(t.Context()))
	require.Eventually(t, func() bool { return founder.p.Exited(t.Context()) != nil }, time.Minute, 10*time.Millisecond,
		"with an empty disk, the file that was left behind starts nothing")
	assert.Equal(t, 1, founder.p.Exited(t.Context()).Code)
	require.ErrorIs(t, founder.spec.FoundOn(kit.Within(t, time.Minute), founding, founder.config), member.ErrDataLost)
	putOnce(t, newClient(t, machines[1].ClientURL, machines[2].ClientURL), "still", "one cluster")
}

func newClient(t *testing.T, endpoints ...string) *clientv3.Client {
	t.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { cli.Close() })
	return cli
}

// putOnce writes as soon as somebody takes it.
func putOnce(t *testing.T, cli *clientv3.Client, key, value string) {
	t.Helper()
	var err error
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = cli.Put(ctx, key, value)
		return err == nil
	}, time.Minute, 20*time.Millisecond, "%v", err)
}

// A machine has one etcd, started in one form. Its process stands in for whoever
// starts etcd from the file there: the kubelet, systemd, a supervisor.
type machine struct {
	*etcdtest.Server
	t          *testing.T
	form       string
	file, unit string
	spec       manifest.Spec
	p          *manifest.Process
}

func newMachine(t *testing.T, s *etcdtest.Server, template manifest.Spec, form string) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{
		Server: s, t: t, form: form, spec: template,
		file: filepath.Join(dir, "etcd"), unit: filepath.Join(dir, "etcd.service"),
		p: &manifest.Process{Program: template.Unit.Program, Log: filepath.Join(dir, "log"), EndWithParent: true},
	}
	m.spec.DataDir = s.Dir
	m.spec.AdvertiseClientURLs = []string{s.ClientURL}
	m.spec.MetricsURLs = []string{s.MetricsURL}
	m.spec.Unit.EnvironmentFile = m.file
	if form == "systemd" {
		m.p.Program = "/bin/sh"
	}
	t.Cleanup(func() {
		if text, err := os.ReadFile(m.p.Log); t.Failed() && err == nil {
			t.Logf("%s:\n%s", m.Name, text[max(0, len(text)-8000):])
		}
		m.powerCut()
	})
	return m
}

// config is the one call for a host.
func (m *machine) config(s manifest.Spec) member.Config {
	switch m.form {
	case "static pod":
		c := s.StaticPod(m.file)
		hook := c.Start
		c.Start = func(ctx context.Context, start member.StartSpec) error {
			if err := hook(ctx, start); err != nil {
				return err
			}
			return m.boot(ctx) // the kubelet has seen the file
		}
		c.Exited = m.p.Exited
		return c
	case "systemd":
		c := s.Systemd(m.unit, m.systemctl)
		c.Exited = m.p.Exited
		return c
	case "config file":
		c := s.ConfigFile(m.file, m.run, m.p.Stop)
		c.Exited = m.p.Exited
		return c
	}
	return s.Process(m.file, m.p)
}

func (m *machine) run(ctx context.Context, restart bool) error {
	if restart {
		if err := m.p.Stop(ctx); err != nil {
			return err
		}
	}
	return m.boot(ctx)
}

func (m *machine) systemctl(ctx context.Context, name string, args ...string) error {
	switch {
	case name != "systemctl":
		return fmt.Errorf("it ran %s", name)
	case args[0] == "start" || args[0] == "restart":
		return m.run(ctx, args[0] == "restart")
	}
	return nil
}

// boot has etcd run from what is on the disk.
func (m *machine) boot(ctx context.Context) error {
	switch m.form {
	case "static pod":
		_, c, err := readPod(m.file)
		if err != nil {
			return err
		}
		return m.p.Start(ctx, c.Command[1:]...)
	case "systemd":
		r, err := manifest.ReadUnit(os.DirFS("/"), m.unit)
		if err != nil {
			return err
		}
		// What is rendered means the same to a shell and to systemd.
		return m.p.Start(ctx, "-euc", `set -a; . "$1"; exec "$2"`, "sh", r.Spec.Unit.EnvironmentFile, r.Spec.Unit.Program)
	}
	return m.p.Start(ctx, "--config-file="+m.file)
}

// powerCut leaves etcd no time.
func (m *machine) powerCut() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	assert.NoError(m.t, m.p.Stop(now))
}

func (m *machine) modified() time.Time {
	m.t.Helper()
	info, err := os.Stat(m.file)
	require.NoError(m.t, err)
	return info.ModTime()
}

func (m *machine) saysExisting() {
	m.t.Helper()
	data, err := os.ReadFile(m.file)
	require.NoError(m.t, err)
	form := map[string]manifest.Form{"static pod": manifest.StaticPod, "systemd": manifest.Environment}[m.form]
	if form == "" {
		form = manifest.ConfigFile
	}
	reading, err := manifest.Read(form, m.file, data)
	require.NoError(m.t, err)
	assert.Equal(m.t, "existing", reading.Spec.InitialClusterState)
}
