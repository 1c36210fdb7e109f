package manifest

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// checkGolden holds a text to a file, which -update writes.
func checkGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run with -update")
	assert.Equal(t, string(want), got)
}

// kubeadmLike is what kubeadm would be asked for.
func kubeadmLike(v string) Spec {
	return Spec{
		Version: version.MustParse(v),
		Pod:     Pod{Image: "registry.k8s.io/etcd:" + v + "-0"},
		ClientTLS: TLS{
			CertFile: "/etc/kubernetes/pki/etcd/server.crt", KeyFile: "/etc/kubernetes/pki/etcd/server.key",
			TrustedCAFile: "/etc/kubernetes/pki/etcd/ca.crt",
		},
		PeerTLS: TLS{
			CertFile: "/etc/kubernetes/pki/etcd/peer.crt", KeyFile: "/etc/kubernetes/pki/etcd/peer.key",
			TrustedCAFile: "/etc/kubernetes/pki/etcd/ca.crt",
		},
	}
}

var startCP2 = member.StartSpec{
	Name:           "cp-2",
	PeerURLs:       []string{"https://10.0.0.2:2380"},
	InitialCluster: "cp-1=https://10.0.0.1:2380,cp-2=https://10.0.0.2:2380",
}

// goldenSpecs are the cases whose rendered files are kept.
func goldenSpecs() map[string]Spec {
	specs := map[string]Spec{}
	for _, v := range []string{"3.4.13", "3.5.0", "3.5.5", "3.5.35", "3.6.16", "3.7.3", "3.8.0-alpha.0"} {
		specs["kubeadm-"+v] = kubeadmLike(v)
	}
	specs["bare-3.7.3"] = Spec{
		Version: version.MustParse("3.7.3"), Pod: Pod{Image: "etcd:mine", Requests: map[string]string{}},
		Without:     []string{"initial-corrupt-check", "watch-progress-notify-interval", "snapshot-count"},
		MetricsURLs: []string{"http://0.0.0.0:9379", "http://127.0.0.1:2381"},
		PeerTLS:     TLS{Auto: true},
	}
	full := kubeadmLike("3.6.16")
	full.DataDir, full.WALDir = "/data/etcd", "/fast/etcd wal"
	full.Settings = map[string]string{
		"quota-backend-bytes": "8589934592", "max-learners": "2", "log-outputs": "stderr,/var/log/etcd.log",
		"compact-hash-check-enabled": "true", "auto-compaction-retention": "5m", "initial-cluster-token": `o'ne "two"`,
		"peer-cert-allowed-hostname": "etcd.example", "socket-reuse-port": "true",
	}
	full.Unknown = map[string]string{"new-flag": "7", featureGates: "NewGate=false"}
	full.PeerTLS.CertFile, full.PeerTLS.KeyFile = "/etc/peer/tls.crt", "/etc/peer/tls.key"
	full.Pod.Limits = map[string]string{"memory": "8Gi"}
	full.Pod.Labels = map[string]string{"team": "storage"}
	full.Pod.Annotations = map[string]string{"note": "yes"}
	full.Pod.Env = []EnvVar{{"GOGC", "50"}}
	full.Pod.Volumes = []Volume{{Name: "localtime", HostPath: "/etc/localtime", Type: "File", ReadOnly: true}}
	specs["full-3.6.16"] = full
	return specs
}

func TestRenderGolden(t *testing.T) {
	ends := map[Form]string{StaticPod: "pod.yaml", ConfigFile: "conf.yaml", Environment: "env"}
	for name, s := range goldenSpecs() {
		for form, end := range ends {
			t.Run(name+" "+string(form), func(t *testing.T) {
				s, err := s.For(startCP2)
				require.NoError(t, err)
				data, err := s.Render(form)
				require.NoError(t, err)
				checkGolden(t, filepath.Join("testdata/render", name+"."+end), string(data))
			})
		}
	}
}

func TestRenderIPv6Golden(t *testing.T) {
	s := kubeadmLike("3.7.3")
	s, err := s.For(member.StartSpec{
		Name: "cp-2", PeerURLs: []string{"https://[2001:db8::2]:2380"},
		InitialCluster: "cp-1=https://[2001:db8::1]:2380,cp-2=https://[2001:db8::2]:2380",
	})
	require.NoError(t, err)
	data, err := s.Render(StaticPod)
	require.NoError(t, err)
	checkGolden(t, "testdata/render/ipv6-3.7.3.pod.yaml", string(data))
}

func TestUnitGolden(t *testing.T) {
	for name, u := range map[string]Unit{
		"default": {},
		"own":     {Program: "/opt/etcd/bin/etcd", EnvironmentFile: "/etc/default/etcd@2", User: "etcd", Group: "etcd"},
	} {
		data, err := Spec{Unit: u}.UnitFile()
		require.NoError(t, err)
		checkGolden(t, filepath.Join("testdata/render", name+".service"), string(data))
	}
}

// A script is one file under testdata/files: lines "form F", then "read",
// "set NAME VALUE" for an edit, or "migrate VERSION [IMAGE|keep]"; a line "-- in --"
// and the file. Behind "-- out --" is what comes of it, which -update writes.
func TestFilesGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/files/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			head, rest, ok := strings.Cut(string(data), "-- in --\n")
			require.True(t, ok)
			in, _, _ := strings.Cut(rest, "-- out --\n")
			checkGolden(t, file, head+"-- in --\n"+in+"-- out --\n"+runScript(t, head, in))
		})
	}
}

func runScript(t *testing.T, head, in string) string {
	t.Helper()
	var form Form
	set := map[string]string{}
	for _, line := range strings.Split(head, "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "form":
			form = Form(rest)
		case "set":
			name, value, _ := strings.Cut(rest, " ")
			set[name] = value
		case "read":
			return scriptRead(form, in)
		case "migrate":
			return scriptMigrate(form, in, rest)
		}
	}
	out, err := Edit(form, "file", []byte(in), set)
	return string(out) + errorLine(err)
}

func errorLine(err error) string {
	if err == nil {
		return ""
	}
	return "error: " + err.Error() + "\n"
}

func scriptRead(form Form, in string) string {
	r, err := Read(form, "file", []byte(in))
	if err != nil {
		return errorLine(err)
	}
	var b strings.Builder
	known := r.Spec.Version
	if known.IsZero() {
		r.Spec.Version = version.MustParse("3.6.16")
	}
	state := r.Spec.InitialClusterState
	r.Spec.InitialClusterState = existing
	settings, err := r.Spec.Resolved()
	for _, s := range settings {
		fmt.Fprintf(&b, "%s %s\n", s.Name, s.Value)
	}
	fmt.Fprintf(&b, "state %q\n", state)
	for _, name := range slices.Sorted(maps.Keys(r.Spec.Unknown)) {
		value := r.Spec.Unknown[name]
		fmt.Fprintf(&b, "unknown %s %s\n", name, value)
	}
	if !known.IsZero() {
		fmt.Fprintf(&b, "version %s\n", known)
	}
	for _, u := range r.Unplaced {
		fmt.Fprintf(&b, "unplaced: %s\n", u)
	}
	return b.String() + errorLine(err)
}

func scriptMigrate(form Form, in, rest string) string {
	to, image, _ := strings.Cut(rest, " ")
	m := Migration{To: version.MustParse(to), Image: image}
	if image == "keep" {
		m.Image, m.KeepImage = "", true
	}
	out, changes, err := Migrate(form, "file", []byte(in), m)
	if err != nil {
		return errorLine(err)
	}
	var b strings.Builder
	b.Write(out)
	b.WriteString("-- changes --\n")
	for _, c := range changes {
		lost := ""
		if c.Lost {
			lost = " LOST"
		}
		fmt.Fprintf(&b, "%s %s: %s -> %s (%s)%s\n", c.Kind, c.Setting, c.From, c.To, c.Why, lost)
	}
	return b.String()
}

// sourceError is the error as the type that every file's error is.
func sourceError(t *testing.T, err error) *SourceError {
	t.Helper()
	var source *SourceError
	require.True(t, errors.As(err, &source), "%v", err)
	return source
}
