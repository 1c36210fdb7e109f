package manifest

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// replacing is a patch that puts one text in the place of another.
func replacing(old, new string) func([]byte) ([]byte, error) {
	return func(pod []byte) ([]byte, error) { return []byte(strings.Replace(string(pod), old, new, 1)), nil }
}

func TestPatch(t *testing.T) {
	for name, patch := range map[string]func([]byte) ([]byte, error){
		"a field of the pod":    replacing("  hostNetwork: true\n", "  hostNetwork: true\n  dnsPolicy: ClusterFirstWithHostNet\n"),
		"a setting":             replacing("--snapshot-count=10000", "--snapshot-count=20000"),
		"a sidecar":             replacing("  containers:\n", "  containers:\n  - name: side\n    image: side:1\n"),
		"an image of one's own": replacing("registry.k8s.io/etcd:3.7.3", "example.com/etcd:3.7.3-hardened"),
		"nothing":               replacing("", ""),
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := hookSpec(t).For(startOf(twoMembers))
			require.NoError(t, err)
			plain, err := spec.Render(StaticPod)
			require.NoError(t, err)
			spec.Pod.Patch = patch
			want, _ := patch(plain)
			got, err := spec.Render(StaticPod)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(got))
			assert.Equal(t, name == "nothing", string(plain) == string(got))
			conf, err := spec.Render(ConfigFile)
			require.NoError(t, err)
			assert.NotContains(t, string(conf), "20000")
		})
	}
}

// A patch, whoever wrote it, cannot make the pod another member.
func TestPatchRefused(t *testing.T) {
	broken := errors.New("no such path")
	for name, tc := range map[string]struct {
		patch func([]byte) ([]byte, error)
		says  string
	}{
		"another name":        {replacing("--name=cp-2", "--name=cp-1"), "changes name"},
		"another address":     {replacing("--listen-peer-urls=http://10.0.0.12", "--listen-peer-urls=http://10.0.0.11"), "changes listen-peer-urls"},
		"another cluster":     {replacing("--initial-cluster=cp-1=http://10.0.0.11:2380,", "--initial-cluster="), "changes initial-cluster"},
		"a founding":          {replacing("--initial-cluster-state=existing", "--initial-cluster-state=new"), "founds another cluster"},
		"another directory":   {replacing("--data-dir=", "--data-dir=/other"), "changes data-dir"},
		"a flag of old":       {replacing("--snapshot-count=10000", "--enable-v2=true"), "enable-v2"},
		"force-new-cluster":   {replacing("--snapshot-count=10000", "--force-new-cluster=true"), "force-new-cluster"},
		"no etcd":             {replacing("    - etcd\n", "    - sleep\n"), "nobody can start"},
		"a shell":             {replacing("    - etcd\n", "    - sh\n    - -c\n    - etcd\n"), "nobody can start"},
		"an image of another": {replacing("registry.k8s.io/etcd:3.7.3", "registry.k8s.io/etcd:3.5.35"), "3.5.35"},
		"no YAML":             {replacing("kind: Pod", "kind: [Pod"), "nobody can start"},
		"a patch that fails":  {func([]byte) ([]byte, error) { return nil, broken }, "no such path"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := hookSpec(t).For(startOf(twoMembers))
			require.NoError(t, err)
			spec.Pod.Patch = tc.patch
			_, err = spec.Render(StaticPod)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, "Pod.Patch")
			if name != "another cluster" { // which is not known before
				require.Error(t, spec.StaticPod("/tmp/etcd.yaml").MayAdd(t.Context(), joiner), "and before the add")
			}
		})
	}
	spec, err := hookSpec(t).For(startOf(twoMembers))
	require.NoError(t, err)
	spec.Pod.Patch, spec.OverrideIdentity = replacing("--listen-peer-urls=http://10.0.0.12", "--listen-peer-urls=http://0.0.0.0"), true
	_, err = spec.Render(StaticPod)
	require.NoError(t, err)
}
