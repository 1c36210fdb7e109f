package manifest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keptFiles are files that people keep, for the member of startOf as it was before.
func keptFiles(dir string) map[Form]string {
	return map[Form]string{
		StaticPod: `apiVersion: v1
kind: Pod
metadata: {name: etcd, namespace: kube-system}
spec:
  containers:
  - name: etcd
    image: registry.k8s.io/etcd:3.7.3
    command:
    - etcd
    - --name=cp-2   # by hand
    - --data-dir=` + dir + `
    - --initial-advertise-peer-urls=http://10.0.0.12:2380
    - --initial-cluster=cp-2=http://10.0.0.12:2380
    - --initial-cluster-state=new
    volumeMounts:
    - {name: data, mountPath: ` + dir + `}
  volumes:
  - {name: data, hostPath: {path: ` + dir + `}}
`,
		ConfigFile: `name: cp-2   # by hand
data-dir: ` + dir + `
initial-advertise-peer-urls: http://10.0.0.12:2380
initial-cluster: cp-2=http://10.0.0.12:2380
initial-cluster-state: new
`,
		Environment: `# by hand
ETCD_NAME=cp-2
ETCD_DATA_DIR=` + dir + `
ETCD_INITIAL_ADVERTISE_PEER_URLS=http://10.0.0.12:2380
ETCD_INITIAL_CLUSTER=cp-2=http://10.0.0.12:2380
ETCD_INITIAL_CLUSTER_STATE=new
`,
	}
}

func TestEditStartKeepsTheFile(t *testing.T) {
	spec := hookSpec(t)
	for form, content := range keptFiles(spec.DataDir) {
		t.Run(string(form), func(t *testing.T) {
			defer os.RemoveAll(filepath.Join(spec.DataDir, "member"))
			path := filepath.Join(t.TempDir(), "file")
			require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
			var restarts []bool
			start := EditStart(form, path, func(_ context.Context, restart bool) error {
				restarts = append(restarts, restart)
				return nil
			})
			again := func(initialCluster string, more int) string {
				s := startOf(initialCluster)
				for range more {
					s.MemberID++
				}
				require.NoError(t, start(t.Context(), s))
				return read(t, path)
			}
			once := again(twoMembers, 0)
			assert.Contains(t, once, "by hand")
			reading, err := Read(form, path, []byte(once))
			require.NoError(t, err)
			assert.Equal(t, twoMembers, reading.Spec.InitialCluster)
			assert.Equal(t, existing, reading.Spec.InitialClusterState)

			assert.Equal(t, once, again(twoMembers, 0))
			assert.NotEqual(t, once, again(threeMembers, 0), "somebody joined before it got its data")
			assert.Equal(t, once, again(twoMembers, 0))
			withData(t, spec)
			assert.Equal(t, once, again(threeMembers, 0), "somebody joined since it has its data")
			if form != StaticPod {
				assert.Equal(t, []bool{true, false, true, true, false}, restarts)
				assert.NotEqual(t, once, again(twoMembers, 1), "another member, all else the same")
				assert.Equal(t, 1, strings.Count(read(t, path), memberKey))
			}
		})
	}
}

func TestEditStartInJSON(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "etcd.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"name": "cp-2", "data-dir": "`+dir+`",
 "initial-advertise-peer-urls": "http://10.0.0.12:2380", "initial-cluster": "cp-2=http://10.0.0.12:2380",
 "initial-cluster-state": "existing"}`), 0o600))
	require.NoError(t, EditStart(ConfigFile, path, nil)(t.Context(), startOf(twoMembers)))
	assert.True(t, strings.HasPrefix(read(t, path), "{"))
	assert.Contains(t, read(t, path), twoMembers)
}

func TestEditStartNeedsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd.yaml")
	require.ErrorIs(t, EditStart(StaticPod, path, nil)(t.Context(), startOf(twoMembers)), fs.ErrNotExist)

	require.NoError(t, os.WriteFile(path, []byte("name: cp-2\n"), 0o600))
	require.ErrorContains(t, EditStart(ConfigFile, path, nil)(t.Context(), startOf(twoMembers)), "data-dir")
	assert.Equal(t, "name: cp-2\n", read(t, path))

	require.NoError(t, os.WriteFile(path, []byte("not: [what"), 0o600))
	sourceError(t, EditStart(ConfigFile, path, nil)(t.Context(), startOf(twoMembers)))
}

// A pod that is stopped keeps what people wrote into its file.
func TestEditStop(t *testing.T) {
	spec := hookSpec(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "etcd.yaml")
	require.NoError(t, os.WriteFile(path, []byte(keptFiles(spec.DataDir)[StaticPod]), 0o600))
	start, stop := EditStart(StaticPod, path, nil), EditStop(path)
	require.NoError(t, stop(t.Context()))
	require.NoError(t, stop(t.Context()), "once more")
	assert.Equal(t, []string{".etcd.yaml.stopped"}, names(t, dir))
	require.NoError(t, start(t.Context(), startOf(twoMembers)))
	assert.Equal(t, []string{"etcd.yaml"}, names(t, dir))
	assert.Contains(t, read(t, path), "by hand")

	require.NoError(t, stop(t.Context()))
	other := strings.Replace(keptFiles(spec.DataDir)[StaticPod], "by hand", "another's", 1)
	require.NoError(t, os.WriteFile(path, []byte(other), 0o600))
	require.NoError(t, start(t.Context(), startOf(twoMembers)))
	assert.Contains(t, read(t, path), "another's", "whoever wrote a new file meant it")
}

func TestSystemdRun(t *testing.T) {
	fake := &systemctl{}
	run := SystemdRun("etcd.service", fake.run)
	require.NoError(t, run(t.Context(), true))
	require.NoError(t, run(t.Context(), false))
	assert.Equal(t, append(fromNewFiles[:len(fromNewFiles):len(fromNewFiles)], fromTheSame...), fake.asked())
}
