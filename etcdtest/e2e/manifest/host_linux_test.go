package manifest_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
	theversion "github.com/etcdjoin/etcdjoin/version"
)

// quota is a setting that every form must bring to the server: what a config
// file says by a wrong name is lost without a word.
const (
	quota       = "1073741824"
	quotaMetric = "etcd_server_quota_backend_bytes 1.073741824e+09\n"
)

// A host is a machine on which etcd is started from files, in one form. The
// embedded Server is its ports and directories; it is never started.
type host struct {
	*etcdtest.Server
	t       *testing.T
	cluster *etcdtest.Cluster
	release kit.Release
	form    form
	spec    manifest.Spec
	file    string                                        // the pod, the config, the unit
	hook    func(context.Context, member.StartSpec) error // of the form
	start   member.StartSpec                              // the last one
	notify  *net.UnixConn                                 // what systemd hears
	process *process                                      // the last one
}

func newHost(t *testing.T, c *etcdtest.Cluster, r kit.Release, f form) *host {
	t.Helper()
	dir := t.TempDir()
	h := &host{
		Server:  c.NewServer("joiner"),
		t:       t,
		cluster: c,
		release: r,
		form:    f,
		file:    filepath.Join(dir, "etcd.service"),
		notify:  newNotify(t),
	}
	h.spec = manifest.Spec{
		Version:             theversion.MustParse(r.Name),
		DataDir:             h.Dir,
		AdvertiseClientURLs: []string{h.ClientURL},
		MetricsURLs:         []string{h.MetricsURL},
		Settings:            map[string]string{"quota-backend-bytes": quota},
		Pod:                 manifest.Pod{Image: "registry.k8s.io/etcd:" + r.Name},
		Unit: manifest.Unit{
			Program:         etcdtest.Binary(t, r.Name),
			EnvironmentFile: filepath.Join(dir, "etcd.env"),
		},
	}
	h.spec.ClientTLS, h.spec.PeerTLS = tlsOf(c)
	h.hook = f.hook(h)
	t.Cleanup(h.end)
	return h
}

func tlsOf(c *etcdtest.Cluster) (client, peer manifest.TLS) {
	clientFiles, peerFiles := c.Files()
	files := func(f etcdtest.TLSFiles) manifest.TLS {
		return manifest.TLS{CertFile: f.Cert, KeyFile: f.Key, TrustedCAFile: f.CA}
	}
	return files(clientFiles), files(peerFiles)
}

// join makes the host a member with a vote, by the form's hook.
func (h *host) join() (member.Result, error) {
	h.t.Helper()
	j, err := learner.NewJoiner(kit.NewClient(h.cluster), h.Name, member.Config{
		Start: func(ctx context.Context, start member.StartSpec) error {
			h.start = start
			return h.hook(ctx, start)
		},
		Exited:        func(context.Context) *cluster.ExitError { return h.process.exit() },
		DataDir:       manifest.DataDir{Dir: h.Dir},
		MetricsURL:    h.MetricsURL,
		ServerVersion: h.release.Version(),
		AcceptHazards: []string{"inconsistent-index"}, // of 3.5.0, after a crash
		Observe:       kit.LogEvents(h.t),
	})
	require.NoError(h.t, err)
	return j.Join(kit.Within(h.t, time.Minute), h.PeerURL)
}

// servesAs waits until the host's etcd serves, as this voter and as told.
func (h *host) servesAs(id cluster.ID) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return getOK(h.MetricsURL+"/health") == nil }, 30*time.Second, 20*time.Millisecond, "%s is not healthy", h.MetricsURL)
	cli := h.cluster.ClientFor(h.Server)
	defer cli.Close()
	status, err := cli.Status(kit.Within(h.t, 20*time.Second), h.ClientURL)
	require.NoError(h.t, err)
	assert.Equal(h.t, id, cluster.ID(status.Header.MemberId))
	assert.False(h.t, status.IsLearner)
	assert.Equal(h.t, h.release.Version().String(), status.Version)

	assert.True(h.t, strings.Contains(h.metrics(), quotaMetric), "a setting did not arrive")
	h.refusesStrangers()
	if h.form.check != nil {
		h.form.check(h)
	}
}

// refusesStrangers: with TLS, both ports demand a certificate of the right authority.
func (h *host) refusesStrangers() {
	h.t.Helper()
	wrong := h.cluster.WrongTLS()
	if wrong == nil {
		return
	}
	stranger := http.Client{Transport: &http.Transport{TLSClientConfig: wrong}, Timeout: 5 * time.Second}
	for _, url := range []string{h.ClientURL, h.PeerURL} {
		resp, err := stranger.Get(url + "/version")
		if err == nil {
			resp.Body.Close()
		}
		assert.ErrorContains(h.t, err, "tls: ", url)
	}
}

func (h *host) metrics() string {
	h.t.Helper()
	resp, err := http.Get(h.MetricsURL + "/metrics")
	require.NoError(h.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(h.t, err)
	return string(text)
}

// files are the files that etcd is started from, and when each was written.
func (h *host) files() map[string]string {
	h.t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(filepath.Dir(h.file))
	require.NoError(h.t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(h.t, err)
		text, err := os.ReadFile(filepath.Join(filepath.Dir(h.file), e.Name()))
		require.NoError(h.t, err)
		all[e.Name()] = info.ModTime().String() + "\n" + string(text)
	}
	return all
}

func (h *host) write(text string) {
	h.t.Helper()
	_, err := manifest.WriteFile(h.file, []byte(text))
	require.NoError(h.t, err)
}

func (h *host) read() string {
	h.t.Helper()
	text, err := os.ReadFile(h.file)
	require.NoError(h.t, err)
	return string(text)
}

// run has etcd run from the files, a new one if restart is set.
func (h *host) run(restart bool) error {
	if h.process.running() {
		if !restart {
			return nil
		}
		h.process.stop()
	}
	cmd, err := h.form.boot(h)
	if err != nil {
		return err
	}
	h.process, err = startProcess(h.t, cmd)
	return err
}

func (h *host) stop() {
	h.t.Helper()
	require.True(h.t, h.process.running(), h.process.output())
	h.process.stop()
}

// ended waits for a server that gives up.
func (h *host) ended() *cluster.ExitError {
	h.t.Helper()
	select {
	case <-h.process.done:
	case <-time.After(20 * time.Second):
		require.Fail(h.t, "it did not give up")
	}
	return h.process.exit()
}

// end leaves nothing running, and shows what it said if the test has failed.
func (h *host) end() {
	if h.process == nil {
		return
	}
	if h.t.Failed() {
		lines := strings.Split(h.process.output(), "\n")
		h.t.Logf("%s\n%s", h.process.cmd, strings.Join(lines[max(0, len(lines)-100):], "\n"))
	}
	h.process.kill()
}

// A process is an etcd that etcdtest did not start.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// startProcess starts cmd with nothing in its environment but what it brings.
func startProcess(t *testing.T, cmd *exec.Cmd) (*process, error) {
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{cmd: cmd, log: log.Name(), done: make(chan struct{})}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := onForker(cmd.Start); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // exit reads the state it leaves
	}()
	return p, nil
}

// onForker calls start on a thread that lives as long as the test process: the
// kernel sends Pdeathsig when the thread that forked ends.
func onForker(start func() error) error {
	err := make(chan error)
	forker() <- func() { err <- start() }
	return <-err
}

var forker = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range starts {
			f()
		}
	}()
	return starts
})

func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// stop ends it as systemd and the kubelet do: SIGTERM, and SIGKILL in the end.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func (p *process) exit() *cluster.ExitError {
	if p.running() {
		return nil
	}
	return &cluster.ExitError{Code: p.cmd.ProcessState.ExitCode(), Output: p.output()}
}

func (p *process) output() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprint(err)
	}
	return strings.TrimSpace(string(text))
}
