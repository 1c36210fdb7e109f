package manifest_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/version"
)

// TestCasesStartARealServer migrates every golden input to each release, reads
// it, and starts a server of that release from what it renders to, in the same
// form. Inputs that tell the same settings start one server.
func TestCasesStartARealServer(t *testing.T) {
	for _, release := range []string{"3.4.13", "3.5.35", "3.6.16", "3.7.3"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			kit.Needs(t, release)
			bin := etcdtest.Binary(t, release)
			ports := etcdtest.Start(t, 1) // hands them out
			started := map[string]bool{}
			for _, in := range inputs(t) {
				spec, ok := settingsFor(in, version.MustParse(release))
				if said := fmt.Sprint(in.form, spec.Settings); ok && !started[said] {
					started[said] = true
					t.Run(in.name, func(t *testing.T) { serves(t, bin, ports.NewServer("a"), in.form, spec) })
				}
			}
			assert.Greater(t, len(started), 10)
		})
	}
}

// settingsFor is what an input tells a release, apart from all that is a host's:
// directories, addresses, certificates.
func settingsFor(in input, v version.Version) (manifest.Spec, bool) {
	out, _, err := manifest.Migrate(in.form, "", in.data, manifest.Migration{To: v, KeepImage: true})
	if err != nil {
		return manifest.Spec{}, false
	}
	reading, err := manifest.Read(in.form, "", out)
	if err != nil || len(reading.Spec.Unknown) > 0 {
		return manifest.Spec{}, false
	}
	spec := manifest.Spec{Version: v, Settings: reading.Spec.Settings, Bare: true}
	for _, hosts := range []string{"log-outputs", "peer-cert-allowed-hostname", "peer-cert-allowed-cn", "cipher-suites", "enable-distributed-tracing"} {
		delete(spec.Settings, hosts)
	}
	if v.Minor() == 4 { // a server of 3.4 that a new Go has built panics at its own path for pprof
		delete(spec.Settings, "debug")
		delete(spec.Settings, "enable-pprof")
	}
	_, err = spec.Resolved()
	return spec, err == nil
}

// serves starts a server that founds a cluster of its own: the rendered file
// says that it joins one, which is another test's.
func serves(t *testing.T, bin string, server *etcdtest.Server, form manifest.Form, spec manifest.Spec) {
	dir := t.TempDir()
	spec.Name, spec.DataDir = "a", filepath.Join(dir, "data")
	spec.AdvertisePeerURLs, spec.ListenPeerURLs = []string{server.PeerURL}, []string{server.PeerURL}
	spec.AdvertiseClientURLs, spec.ListenClientURLs = []string{server.ClientURL}, []string{server.ClientURL}
	spec.InitialCluster = "a=" + server.PeerURL
	p, err := startProcess(t, commandOf(t, bin, dir, form, spec))
	require.NoError(t, err)
	t.Cleanup(p.kill)
	require.Eventually(t, func() bool { return !p.running() || healthy(server.ClientURL) }, time.Minute, 20*time.Millisecond)
	assert.True(t, p.running(), "%v\n%s", spec.Settings, p.output())
}

func healthy(url string) bool {
	resp, err := http.Get(url + "/health")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func commandOf(t *testing.T, bin, dir string, form manifest.Form, spec manifest.Spec) *exec.Cmd {
	t.Helper()
	asNew := func(text string) string { return strings.Replace(text, "existing", "new", 1) }
	switch form {
	case manifest.ConfigFile:
		data, err := spec.Render(form)
		require.NoError(t, err)
		path := filepath.Join(dir, "etcd.yaml")
		require.NoError(t, os.WriteFile(path, []byte(asNew(string(data))), 0o600))
		return exec.Command(bin, "--config-file="+path)
	case manifest.Environment:
		data, err := spec.Render(form)
		require.NoError(t, err)
		cmd := exec.Command(bin)
		cmd.Env = asSystemd(t, []byte(asNew(string(data))))
		return cmd
	}
	args, err := spec.Args()
	require.NoError(t, err)
	return exec.Command(bin, strings.Split(asNew(strings.Join(args, "\x00")), "\x00")...)
}
