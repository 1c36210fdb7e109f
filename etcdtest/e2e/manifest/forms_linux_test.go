package manifest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
)

// A form is one way to start etcd: the start hook, which asks the host to run
// etcd where nothing else does, and what the files that it wrote then run.
type form struct {
	name  string
	hook  func(*host) func(context.Context, member.StartSpec) error
	boot  func(*host) (*exec.Cmd, error)
	check func(*host) // once etcd serves; may be nil
}

var forms = []form{
	{"static pod", staticPodHook, bootPod, probesPass},
	{"config file", configFileHook, bootConfigFile, nil},
	{"systemd", systemdHook, bootUnit, unitIsRight},
	{"arguments", argumentsHook, bootArguments, nil},
}

// editedPod is a pod that people keep: a join edits it.
var editedPod = form{"edited pod", editedPodHook, bootPod, nil}

func staticPodHook(h *host) func(context.Context, member.StartSpec) error {
	return h.kubelet(manifest.StaticPodStart(h.file, h.spec))
}

func editedPodHook(h *host) func(context.Context, member.StartSpec) error {
	return h.kubelet(manifest.EditStart(manifest.StaticPod, h.file, nil))
}

// kubelet is a hook with the kubelet's part: to run what a new file says.
func (h *host) kubelet(hook func(context.Context, member.StartSpec) error) func(context.Context, member.StartSpec) error {
	return func(ctx context.Context, start member.StartSpec) error {
		before, _ := os.ReadFile(h.file) // missing at first
		if err := hook(ctx, start); err != nil {
			return err
		}
		after, err := os.ReadFile(h.file)
		if err != nil {
			return err
		}
		return h.run(!bytes.Equal(before, after))
	}
}

func configFileHook(h *host) func(context.Context, member.StartSpec) error {
	return manifest.ConfigFileStart(h.file, h.spec, func(_ context.Context, restart bool) error { return h.run(restart) })
}

func bootConfigFile(h *host) (*exec.Cmd, error) {
	return exec.Command(h.spec.Unit.Program, "--config-file="+h.file), nil
}

// argumentsHook is for who has a supervisor of his own: here, of a list in a file.
func argumentsHook(h *host) func(context.Context, member.StartSpec) error {
	return func(_ context.Context, start member.StartSpec) error {
		spec, err := h.spec.For(start)
		if err != nil {
			return err
		}
		args, err := spec.Args()
		if err != nil {
			return err
		}
		changed, err := manifest.WriteFile(h.file, []byte(strings.Join(args, "\x00")))
		if err != nil {
			return err
		}
		return h.run(changed)
	}
}

func bootArguments(h *host) (*exec.Cmd, error) {
	args, err := os.ReadFile(h.file)
	return exec.Command(h.spec.Unit.Program, strings.Split(string(args), "\x00")...), err
}

// systemd is asked by the hook, and then the host runs what the unit says.
func systemdHook(h *host) func(context.Context, member.StartSpec) error {
	return manifest.SystemdStart(h.file, h.spec, func(_ context.Context, name string, args ...string) error {
		if name != "systemctl" {
			return fmt.Errorf("it ran %s", name)
		}
		if verb := args[0]; verb == "start" || verb == "restart" {
			return h.run(verb == "restart")
		}
		return nil
	})
}

// bootUnit has a shell read the environment file: what is rendered means the
// same to it and to systemd.
func bootUnit(h *host) (*exec.Cmd, error) {
	unit, err := readUnit(h.file)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-euc", `set -a; . "$1"; exec $2`, "sh", unit["EnvironmentFile"], unit["ExecStart"])
	cmd.Env = []string{"NOTIFY_SOCKET=" + h.notify.LocalAddr().String()}
	return cmd, nil
}

func readUnit(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	unit := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			unit[key] = value
		}
	}
	return unit, err
}

// unitIsRight: etcd has told systemd that it serves, which Type=notify waits
// for, and systemd finds nothing to say about the unit.
func unitIsRight(h *host) {
	h.t.Helper()
	buf := make([]byte, 100)
	require.NoError(h.t, h.notify.SetReadDeadline(time.Now().Add(20*time.Second)))
	n, err := h.notify.Read(buf)
	require.NoError(h.t, err, "etcd did not notify")
	assert.Equal(h.t, "READY=1", string(buf[:n]))

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		h.t.Log("there is no systemd-analyze here to verify the unit")
		return
	}
	out, err := exec.CommandContext(kit.Within(h.t, 20*time.Second), analyze, "verify", "--man=no", h.file).CombinedOutput()
	assert.NoError(h.t, err)
	assert.Empty(h.t, string(out))
}

// aPod is what a kubelet needs of a static pod to run its only container.
type aPod struct {
	Spec struct {
		Containers []container
		Volumes    []struct {
			Name     string
			HostPath struct{ Path, Type string }
		}
	}
}

type container struct {
	Command, Args []string
	Image         string
	Env           []manifest.EnvVar
	Ports         []struct {
		Name          string
		ContainerPort int
	}
	VolumeMounts                                []struct{ Name, MountPath string }
	StartupProbe, LivenessProbe, ReadinessProbe *probe
}

type probe struct {
	HTTPGet   *struct{ Host, Path, Port, Scheme string }
	TCPSocket *struct {
		Host string
		Port int
	}
}

func readPod(path string) (aPod, container, error) {
	var pod aPod
	text, err := os.ReadFile(path)
	if err != nil {
		return pod, container{}, err
	}
	if err := yaml.Unmarshal(text, &pod); err != nil {
		return pod, container{}, err
	}
	if len(pod.Spec.Containers) != 1 {
		return pod, container{}, fmt.Errorf("%s has %d containers", path, len(pod.Spec.Containers))
	}
	return pod, pod.Spec.Containers[0], nil
}

// bootPod runs the container's command line on the host, by the etcd that the
// image would have. Every volume must be where it is on the host, and on the
// way the missing ones are made, as the kubelet makes them.
func bootPod(h *host) (*exec.Cmd, error) {
	pod, c, err := readPod(h.file)
	if err != nil {
		return nil, err
	}
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	for _, v := range pod.Spec.Volumes {
		if mounts[v.Name] != v.HostPath.Path || v.HostPath.Type != "DirectoryOrCreate" {
			return nil, fmt.Errorf("volume %+v is mounted at %q", v, mounts[v.Name])
		}
		if err := os.MkdirAll(v.HostPath.Path, 0o755); err != nil {
			return nil, err
		}
	}
	words := append(c.Command, c.Args...)
	if words[0] != "etcd" {
		return nil, fmt.Errorf("the image has no program %q", words[0])
	}
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, "$$", "$") // there are no variables to expand
	}
	_, tag, _ := strings.Cut(c.Image, ":")
	cmd := exec.Command(etcdtest.Binary(h.t, strings.TrimSuffix(tag, "-0")), words[1:]...)
	for _, v := range c.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	return cmd, nil
}

// probesPass: a voter that serves passes every probe of its pod.
func probesPass(h *host) {
	h.t.Helper()
	_, c, err := readPod(h.file)
	require.NoError(h.t, err)
	for name, p := range map[string]*probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if assert.NotNil(h.t, p, name) {
			assert.NoError(h.t, p.ask(c), name)
		}
	}
}

func (p *probe) ask(c container) error {
	if p.TCPSocket != nil {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(p.TCPSocket.Host, strconv.Itoa(p.TCPSocket.Port)), time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	for _, port := range c.Ports {
		if port.Name == p.HTTPGet.Port {
			at := net.JoinHostPort(p.HTTPGet.Host, strconv.Itoa(port.ContainerPort))
			return getOK(strings.ToLower(p.HTTPGet.Scheme) + "://" + at + p.HTTPGet.Path)
		}
	}
	return fmt.Errorf("there is no port %q", p.HTTPGet.Port)
}

func getOK(url string) error {
	client := http.Client{Timeout: 2 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

// newNotify is a socket that a service may notify, an abstract one: the path of
// a file might be too long.
func newNotify(t *testing.T) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@etcdjoin-" + rand.Text(), Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}
