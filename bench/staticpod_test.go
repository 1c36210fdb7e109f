package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	kubeadmetcd "k8s.io/kubernetes/cmd/kubeadm/app/phases/etcd"
	etcdutil "k8s.io/kubernetes/cmd/kubeadm/app/util/etcd"
	staticpodutil "k8s.io/kubernetes/cmd/kubeadm/app/util/staticpod"
	"sigs.k8s.io/yaml"

	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/manifest/podpatch"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// kubeadmVersion is the release whose pods are compared: the newest etcd it
// knows decides our version.
const kubeadmVersion = "v1.37.2"

// differences are the only fields in which our pod is not kubeadm's, with the
// reason. A field that is the same again is a failure too.
var differences = map[string]string{
	"spec.containers[0].startupProbe.httpGet.path": "kubeadm asks /readyz, which a learner fails since etcd 3.5.19: " +
		"it restarts a learner that has not caught up after four minutes",
	"spec.containers[0].startupProbe.failureThreshold": "a start may take 30 minutes instead of 4: opening and checking a large database",
	"spec.containers[0].volumeMounts[1].readOnly":      "etcd writes no certificates: a read-write mount lets it",
}

// node is one case: the same input for kubeadm and for us.
type node struct {
	address string
	extra   []kubeadmapi.Arg
	metrics []string
	set     map[string]string
	envs    []kubeadmapi.EnvVar
	env     []manifest.EnvVar
	patches map[string]string // files for kubeadm's --patches
}

func (n node) cluster() []etcdutil.Member {
	peer := func(address string) string { return "https://" + joinPort(address, "2380") }
	first := "10.0.0.1"
	if strings.Contains(n.address, ":") {
		first = "2001:db8::1"
	}
	return []etcdutil.Member{{Name: "cp-1", PeerURL: peer(first)}, {Name: "cp-2", PeerURL: peer(n.address)}}
}

func joinPort(address, port string) string {
	if strings.Contains(address, ":") {
		address = "[" + address + "]"
	}
	return address + ":" + port
}

func kubeadmPod(n node) v1.Pod {
	cfg := &kubeadmapi.ClusterConfiguration{
		KubernetesVersion: kubeadmVersion,
		CertificatesDir:   "/etc/kubernetes/pki",
		ImageRepository:   "registry.k8s.io",
		Etcd:              kubeadmapi.Etcd{Local: &kubeadmapi.LocalEtcd{DataDir: "/var/lib/etcd", ExtraArgs: n.extra, ExtraEnvs: n.envs}},
	}
	return kubeadmetcd.GetEtcdPodSpec(cfg, &kubeadmapi.APIEndpoint{AdvertiseAddress: n.address}, "cp-2", n.cluster())
}

// ourPod is what an installer writes that was kubeadm.
func ourPod(t *testing.T, n node, image string) []byte {
	t.Helper()
	data, err := specFor(t, n, image).Render(manifest.StaticPod)
	require.NoError(t, err)
	return data
}

func specFor(t *testing.T, n node, image string) manifest.Spec {
	t.Helper()
	v, err := version.Parse(image[strings.LastIndex(image, ":")+1:])
	require.NoError(t, err)
	const pki = "/etc/kubernetes/pki/etcd/"
	spec := manifest.Spec{
		Version:     v,
		ClientTLS:   manifest.TLS{CertFile: pki + "server.crt", KeyFile: pki + "server.key", TrustedCAFile: pki + "ca.crt"},
		PeerTLS:     manifest.TLS{CertFile: pki + "peer.crt", KeyFile: pki + "peer.key", TrustedCAFile: pki + "ca.crt"},
		MetricsURLs: n.metrics,
		Settings:    n.set,
		Pod:         manifest.Pod{Image: image, Env: n.env},
	}
	if len(n.patches) > 0 {
		patches, err := podpatch.Dir(n.patchDir(t))
		require.NoError(t, err)
		spec.Pod.Patch = patches.Apply
	}
	start := member.StartSpec{Name: "cp-2"}
	var cluster manifest.InitialCluster
	for _, m := range n.cluster() {
		cluster = append(cluster, manifest.InitialMember{Name: m.Name, PeerURLs: []string{m.PeerURL}})
		start.PeerURLs = []string{m.PeerURL}
	}
	start.InitialCluster = cluster.String()
	spec, err = spec.For(start)
	require.NoError(t, err)
	return spec
}

var nodes = map[string]node{
	"IPv4": {address: "10.0.0.2"},
	"IPv6": {address: "2001:db8::2"},
	"metrics elsewhere": {
		address: "10.0.0.2",
		extra:   []kubeadmapi.Arg{{Name: "listen-metrics-urls", Value: "http://10.0.0.2:9381,http://127.0.0.1:2381"}},
		metrics: []string{"http://10.0.0.2:9381", "http://127.0.0.1:2381"},
	},
	"more flags": {
		address: "10.0.0.2",
		extra:   []kubeadmapi.Arg{{Name: "quota-backend-bytes", Value: "8589934592"}, {Name: "snapshot-count", Value: "5000"}},
		set:     map[string]string{"quota-backend-bytes": "8589934592", "snapshot-count": "5000"},
	},
	"more variables": {
		address: "10.0.0.2",
		envs:    []kubeadmapi.EnvVar{{EnvVar: v1.EnvVar{Name: "ETCD_UNSUPPORTED_ARCH", Value: "arm64"}}, {EnvVar: v1.EnvVar{Name: "GOGC", Value: "50"}}},
		env:     []manifest.EnvVar{{Name: "ETCD_UNSUPPORTED_ARCH", Value: "arm64"}, {Name: "GOGC", Value: "50"}},
	},
	"patches": {
		address: "10.0.0.2",
		patches: map[string]string{
			"etcd.yaml":            "metadata: {annotations: {note: 'a b'}}\nspec: {dnsPolicy: Default, containers: [{name: etcd, resources: {limits: {memory: 8Gi}}}]}\n",
			"etcd1+json.json":      `[{"op": "add", "path": "/spec/tolerations", "value": [{"operator": "Exists"}]}]`,
			"etcd2+merge.yaml":     "spec: {terminationGracePeriodSeconds: 60}\n",
			"etcd3+strategic.yaml": "spec: {containers: [{name: etcd, securityContext: {runAsUser: 1000}}]}\n",
			"kube-apiserver.yaml":  "spec: {hostNetwork: false}\n",
			"below/etcd.yaml":      "metadata: {annotations: {below: counts too}}\n---\nspec: {initContainers: [{name: side, image: side}]}\n",
			"etcd.v2+merge.yaml":   "metadata: {annotations: {dotted: is strategic}}\n",
			"etcd4+mergeish.json":  `{"spec": {"hostPID": true}}`,
			"etcd.yml":             "spec: {hostNetwork: false}\n",
			"notetcd.yaml":         "spec: {hostNetwork: false}\n",
		},
	},
}

func TestStaticPodIsKubeadms(t *testing.T) {
	for name, n := range nodes {
		t.Run(name, func(t *testing.T) {
			theirs := kubeadmPod(n)
			var ours v1.Pod
			data := ourPod(t, n, theirs.Spec.Containers[0].Image)
			require.NoError(t, asKubelet(data))
			require.NoError(t, yaml.UnmarshalStrict(data, &ours))
			a, b := flat(t, patched(t, n, theirs)), flat(t, ours)
			seen := map[string]bool{}
			for _, path := range slices.Sorted(maps.Keys(union(a, b))) {
				if reflect.DeepEqual(a[path], b[path]) {
					continue
				}
				seen[path] = true
				reason, listed := differences[path]
				assert.True(t, listed, "%s: kubeadm has %v, we have %v, and no reason is given", path, a[path], b[path])
				t.Logf("%s: kubeadm %v, we %v: %s", path, a[path], b[path], reason)
			}
			for path := range differences {
				assert.True(t, seen[path], "%s is the same as kubeadm's by now", path)
			}
		})
	}
}

// patchDir has the patches as files.
func (n node) patchDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range n.patches {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// patched is kubeadm's pod after its --patches; ours has had them by podpatch.
func patched(t *testing.T, n node, pod v1.Pod) v1.Pod {
	t.Helper()
	if len(n.patches) == 0 {
		return pod
	}
	out, err := staticpodutil.PatchStaticPod(&pod, n.patchDir(t), io.Discard)
	require.NoError(t, err)
	require.Equal(t, int64(60), *out.Spec.TerminationGracePeriodSeconds)
	return *out
}

// TestStaticPodIsLaidOutLikeKubeadms: beside the listed fields not one line of
// the file differs from kubeadm's own.
func TestStaticPodIsLaidOutLikeKubeadms(t *testing.T) {
	theirs := kubeadmPod(nodes["IPv4"])
	file, err := yaml.Marshal(theirs)
	require.NoError(t, err)
	got := strings.Split(string(ourPod(t, nodes["IPv4"], theirs.Spec.Containers[0].Image)), "\n")
	var want []string
	for _, line := range strings.Split(string(file), "\n") {
		switch line {
		case "status: {}":
			continue
		case "      failureThreshold: 24":
			line = "      failureThreshold: 180"
		case "      name: etcd-certs":
			want = append(want, line)
			line = "      readOnly: true"
		}
		want = append(want, line)
	}
	startup := slices.Index(want, "    startupProbe:")
	at := startup + slices.Index(want[startup:], "        path: /readyz")
	want[at] = "        path: /livez"
	assert.Equal(t, want, got)
}

// TestEveryVersionDecodes: the pods of all etcd versions are what the kubelet
// takes, to the last field.
func TestEveryVersionDecodes(t *testing.T) {
	for _, v := range []string{"3.4.13", "3.5.0", "3.5.5", "3.5.35", "3.6.16", "3.7.3", "3.8.0-alpha.0"} {
		var pod v1.Pod
		require.NoError(t, yaml.UnmarshalStrict(ourPod(t, nodes["IPv4"], "registry.k8s.io/etcd:"+v), &pod), v)
		assert.NotNil(t, pod.Spec.Containers[0].StartupProbe, v)
	}
}

// flat is every leaf of a pod by its path; a flag's is its name. The order of
// flags is no field: kubeadm puts extra ones behind the others, we sort them all,
// and etcd does not care. Without extra ones even the order is the same.
func flat(t *testing.T, pod v1.Pod) map[string]any {
	t.Helper()
	data, err := json.Marshal(pod)
	require.NoError(t, err)
	var tree any
	require.NoError(t, json.Unmarshal(data, &tree))
	leaves := map[string]any{}
	flatten("", tree, leaves)
	return leaves
}

func flatten(path string, tree any, leaves map[string]any) {
	switch v := tree.(type) {
	case map[string]any:
		for key, value := range v {
			flatten(strings.TrimPrefix(path+"."+key, "."), value, leaves)
		}
	case []any:
		for i, value := range v {
			name := fmt.Sprint(i)
			if word, ok := value.(string); ok && strings.HasSuffix(path, ".command") {
				name, _, _ = strings.Cut(word, "=")
			}
			flatten(fmt.Sprintf("%s[%s]", path, name), value, leaves)
		}
	default:
		leaves[path] = v
	}
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
