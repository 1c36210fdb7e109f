package manifest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// hosts are the configs of one Spec in every form.
func hosts(t *testing.T, spec Spec) map[string]member.Config {
	t.Helper()
	dir := t.TempDir()
	return map[string]member.Config{
		"static pod":  spec.StaticPod(filepath.Join(dir, "etcd.yaml")),
		"systemd":     spec.Systemd(filepath.Join(dir, "etcd.service"), (&systemctl{}).run),
		"config file": spec.ConfigFile(filepath.Join(dir, "etcd.conf.yaml"), func(context.Context, bool) error { return nil }, nil),
		"process":     spec.Process(filepath.Join(dir, "etcd.yml"), &Process{Program: "/bin/true"}),
	}
}

var joiner = cluster.Member{Name: "cp-2", PeerURLs: []string{"http://10.0.0.12:2380"}}

func TestHostKnowsWhatTheSpecKnows(t *testing.T) {
	spec := hookSpec(t)
	for name, config := range hosts(t, spec) {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, DataDir{Dir: spec.DataDir}, config.DataDir)
			assert.Equal(t, version.MustParse("3.7.3"), config.ServerVersion)
			assert.Equal(t, "http://127.0.0.1:2381", config.MetricsURL)
			require.NoError(t, config.MayAdd(t.Context(), joiner))
			require.NoError(t, config.Start(t.Context(), startOf(twoMembers)))
			if config.Stop != nil {
				require.NoError(t, config.Stop(t.Context()))
			}
		})
	}
}

func TestHostMetricsURL(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"http://127.0.0.1:2381": func(*Spec) {},
		"http://[::1]:2381":     func(s *Spec) { s.AdvertisePeerURLs = []string{"https://[fd00::7]:2380"} },
		"http://127.0.0.1:9000": func(s *Spec) { s.MetricsURLs = []string{"http://0.0.0.0:9000"} },
		"https://10.0.0.1:9000": func(s *Spec) { s.MetricsURLs = []string{"https://10.0.0.1:9000", "http://127.0.0.1:1"} },
		"":                      func(s *Spec) { s.Without = []string{"listen-metrics-urls"} },
	} {
		s := hookSpec(t)
		change(&s)
		assert.Equal(t, want, s.metricsURL())
	}
	assert.Empty(t, Spec{Bare: true}.metricsURL())
}

// What is wrong with a Spec is found before the member is added, whatever it is.
func TestHostChecksBeforeTheAdd(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"a setting of another version": func(s *Spec) { s.Settings = map[string]string{"enable-v2": "true"} },
		"TLS without a certificate":    func(s *Spec) { s.ListenPeerURLs = []string{"https://10.0.0.12:2380"} },
		"another name":                 func(s *Spec) { s.Name = "cp-9" },
		"other peer URLs":              func(s *Spec) { s.AdvertisePeerURLs = []string{"http://10.0.0.9:2380"} },
		"an unknown version":           func(s *Spec) { s.Version = version.MustParse("4.0.0") },
	} {
		spec := hookSpec(t)
		change(&spec)
		for form, config := range hosts(t, spec) {
			var faults Faults
			require.ErrorAs(t, config.MayAdd(t.Context(), joiner), &faults, "%s, %s", name, form)
		}
	}
	spec := hookSpec(t)
	spec.Pod.Image = ""
	require.ErrorContains(t, hosts(t, spec)["static pod"].MayAdd(t.Context(), joiner), "Pod.Image")
	require.NoError(t, hosts(t, spec)["process"].MayAdd(t.Context(), joiner), "an image is nothing to it")
	spec.Unit.User = "two words"
	require.ErrorContains(t, hosts(t, spec)["systemd"].MayAdd(t.Context(), joiner), "Unit.User")

	for name, config := range map[string]member.Config{
		"no directory":      hookSpec(t).StaticPod(filepath.Join(t.TempDir(), "none", "etcd.yaml")),
		"no program":        hookSpec(t).Process(filepath.Join(t.TempDir(), "e"), &Process{Program: "/no/etcd"}),
		"no log directory":  hookSpec(t).Process(filepath.Join(t.TempDir(), "e"), &Process{Program: "/bin/true", Log: "/no/dir/log"}),
		"no unit directory": hookSpec(t).Systemd("/no/dir/etcd.service", nil),
	} {
		require.Error(t, config.MayAdd(t.Context(), joiner), name)
	}
	dir := t.TempDir()
	link(t, touch(t, filepath.Join(dir, "other")), filepath.Join(dir, "etcd.yaml"))
	require.ErrorIs(t, hookSpec(t).StaticPod(filepath.Join(dir, "etcd.yaml")).MayAdd(t.Context(), joiner), ErrLink)
}
