package podpatch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/manifest/podpatch"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

var start = member.StartSpec{
	Name:           "cp-2",
	MemberID:       2,
	PeerURLs:       []string{"http://10.0.0.12:2380"},
	InitialCluster: "cp-1=http://10.0.0.11:2380,cp-2=http://10.0.0.12:2380",
}

func spec(patch func([]byte) ([]byte, error)) (manifest.Spec, error) {
	return manifest.Spec{
		Version: version.MustParse("3.7.3"),
		Pod:     manifest.Pod{Image: "registry.k8s.io/etcd:3.7.3-0", Patch: patch},
	}.For(start)
}

func render(t *testing.T, patches podpatch.Patches) (v1.Pod, error) {
	t.Helper()
	s, err := spec(patches.Apply)
	require.NoError(t, err)
	data, err := s.Render(manifest.StaticPod)
	var pod v1.Pod
	if err == nil {
		require.NoError(t, yaml.UnmarshalStrict(data, &pod))
	}
	return pod, err
}

// All that a Spec does not list, by the three ways to say it.
func TestPatchesOfEveryType(t *testing.T) {
	pod, err := render(t, podpatch.Patches{
		{Type: podpatch.Strategic, Data: []byte(`
metadata:
  annotations: {team: storage}
spec:
  dnsPolicy: ClusterFirstWithHostNet
  securityContext: {runAsUser: 1000, fsGroup: 1000}
  containers:
  - name: etcd
    securityContext: {allowPrivilegeEscalation: false}
  - name: side
    image: side:1
---
spec:
  terminationGracePeriodSeconds: 60
`)},
		{Type: podpatch.Merge, Data: []byte(`{"spec": {"tolerations": [{"operator": "Exists"}], "priorityClassName": null}}`)},
		{Type: podpatch.JSON, Data: []byte(`
- {op: replace, path: /spec/containers/0/resources/requests/memory, value: 2Gi}
- {op: add, path: /spec/containers/0/command/-, value: --quota-backend-bytes=8589934592}
`)},
		{Type: podpatch.Strategic, Data: []byte("# nothing\n---\n")},
	})
	require.NoError(t, err)
	assert.Equal(t, "storage", pod.Annotations["team"])
	assert.Contains(t, pod.Annotations, "kubeadm.kubernetes.io/etcd.advertise-client-urls")
	assert.Equal(t, v1.DNSClusterFirstWithHostNet, pod.Spec.DNSPolicy)
	assert.Equal(t, int64(1000), *pod.Spec.SecurityContext.RunAsUser)
	assert.Equal(t, v1.SeccompProfileTypeRuntimeDefault, pod.Spec.SecurityContext.SeccompProfile.Type, "merged")
	assert.Equal(t, int64(60), *pod.Spec.TerminationGracePeriodSeconds)
	assert.Len(t, pod.Spec.Tolerations, 1)
	assert.Empty(t, pod.Spec.PriorityClassName)
	require.Len(t, pod.Spec.Containers, 2)
	for _, c := range pod.Spec.Containers {
		if c.Name == "etcd" {
			assert.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
			assert.NotNil(t, c.StartupProbe)
		}
	}
}

func TestPatchesThatCannotBeApplied(t *testing.T) {
	for name, tc := range map[string]struct {
		patch podpatch.Patch
		says  string
	}{
		"no such path":   {podpatch.Patch{Type: podpatch.JSON, Data: []byte(`[{"op": "remove", "path": "/spec/none"}]`)}, "json patch p"},
		"no operations":  {podpatch.Patch{Type: podpatch.JSON, Data: []byte(`{"spec": {}}`)}, "json patch p"},
		"no YAML":        {podpatch.Patch{Type: podpatch.Merge, Data: []byte("a: [")}, "merge patch p"},
		"no type":        {podpatch.Patch{Data: []byte("spec: {}")}, "must be strategic, merge or json"},
		"another member": {podpatch.Patch{Type: podpatch.JSON, Data: []byte(`[{"op": "add", "path": "/spec/containers/0/command/-", "value": "--name=cp-1"}]`)}, "Pod.Patch"},
		"a founding":     {podpatch.Patch{Type: podpatch.Strategic, Data: []byte("spec: {containers: [{name: etcd, command: [etcd, --name=cp-2, --data-dir=/var/lib/etcd, --initial-cluster-state=new]}]}")}, "Pod.Patch"},
		"no etcd at all": {podpatch.Patch{Type: podpatch.Merge, Data: []byte("spec: {containers: []}")}, "nobody can start"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.patch.Name = "p"
			_, err := render(t, podpatch.Patches{tc.patch})
			require.ErrorContains(t, err, tc.says)
		})
	}
}

// write makes a directory of patches, each with an annotation of its file's name.
func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		content := fmt.Sprintf("metadata: {annotations: {%q: x}}\n", strings.NewReplacer("+", "-", "/", "-").Replace(name))
		if strings.Contains(name, "+json") {
			content = fmt.Sprintf(`[{"op": "add", "path": "/metadata/annotations/%s", "value": "x"}]`, strings.ReplaceAll(name, "+", "-"))
		}
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return dir
}

func TestDir(t *testing.T) {
	for _, name := range []string{"etcd.yaml", "etcd0.yaml", "etcd-mine+merge.yaml", "etcd+strategic.json", "etcd1+json.json", "etcd+json.yaml", "etcd.v1.yaml", "below/etcd.yaml"} {
		patches, err := podpatch.Dir(write(t, name))
		require.NoError(t, err)
		require.Len(t, patches, 1, name)
		pod, err := render(t, patches)
		require.NoError(t, err, name)
		assert.Contains(t, pod.Annotations, strings.NewReplacer("+", "-", "/", "-").Replace(name))
	}
	none, err := podpatch.Dir(write(t, "kube-apiserver.yaml", "etcd.yml", "etcd", "myetcd.yaml", "README.md"))
	require.NoError(t, err)
	assert.Empty(t, none)

	dir := write(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "etcd.yaml"), nil, 0o644))
	none, err = podpatch.Dir(dir)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestDirRefuses(t *testing.T) {
	_, err := podpatch.Dir(write(t, "etcd+mine.yaml"))
	require.ErrorContains(t, err, "etcd+mine.yaml")
	_, err = podpatch.Dir(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = podpatch.Dir(filepath.Join(write(t, "etcd.yaml"), "etcd.yaml"))
	require.ErrorContains(t, err, "no directory")
	dir := write(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "etcd.yaml"), []byte("a: ["), 0o644))
	_, err = podpatch.Dir(dir)
	require.ErrorContains(t, err, "etcd.yaml")
}

// Patches are applied in the order of their names: the last one counts.
func TestDirIsInOrder(t *testing.T) {
	dir := t.TempDir()
	for name, policy := range map[string]string{"etcd1.yaml": "Default", "etcd2.yaml": "ClusterFirstWithHostNet", "etcd0.yaml": "None"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("spec: {dnsPolicy: "+policy+"}"), 0o644))
	}
	patches, err := podpatch.Dir(dir)
	require.NoError(t, err)
	pod, err := render(t, patches)
	require.NoError(t, err)
	assert.Equal(t, v1.DNSClusterFirstWithHostNet, pod.Spec.DNSPolicy)
}

func ExamplePatches_Apply() {
	s, err := spec(podpatch.Patches{{Type: podpatch.Strategic, Data: []byte("spec: {dnsPolicy: ClusterFirstWithHostNet}")}}.Apply)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod, err := s.Render(manifest.StaticPod)
	fmt.Println(strings.Contains(string(pod), "  dnsPolicy: ClusterFirstWithHostNet\n"), err)
	// Output: true <nil>
}
