package manifest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// The hooks fit where they belong.
var _ = member.Config{
	Start:   StaticPodStart("/etc/kubernetes/manifests/etcd.yaml", Spec{}),
	Stop:    StaticPodStop("/etc/kubernetes/manifests/etcd.yaml"),
	DataDir: DataDir{Dir: "/var/lib/etcd"},
}

const (
	twoMembers   = "cp-1=http://10.0.0.11:2380,cp-2=http://10.0.0.12:2380"
	threeMembers = twoMembers + ",cp-3=http://10.0.0.13:2380"
)

// hookSpec is a Spec on an empty data directory.
func hookSpec(t *testing.T) Spec {
	t.Helper()
	return Spec{
		Version: version.MustParse("3.7.3"),
		DataDir: t.TempDir(),
		Pod:     Pod{Image: "registry.k8s.io/etcd:3.7.3", Annotations: map[string]string{"mine": "kept"}},
		Unit:    Unit{EnvironmentFile: filepath.Join(t.TempDir(), "etcd.env")},
	}
}

// startOf starts the member whose log is among the fixtures.
func startOf(initialCluster string) member.StartSpec {
	return member.StartSpec{
		Name:           "cp-2",
		MemberID:       voter.MemberID,
		ClusterID:      voter.ClusterID,
		PeerURLs:       []string{"http://10.0.0.12:2380"},
		InitialCluster: initialCluster,
	}
}

// withData gives the member its data, as the first start does.
func withData(t *testing.T, spec Spec) {
	t.Helper()
	path := filepath.Join(spec.DataDir, someWAL)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, fixture(t, "used-3.5.16.wal.gz"), 0o600))
}

// A hook is one of the start hooks, with the file that it writes settings to.
type hook struct {
	form  Form
	path  string
	start func(context.Context, member.StartSpec) error
}

func hooks(t *testing.T, spec Spec) map[string]hook {
	t.Helper()
	dir := t.TempDir()
	pod, conf := filepath.Join(dir, "etcd.yaml"), filepath.Join(dir, "etcd.conf.yaml")
	return map[string]hook{
		"static pod":  {StaticPod, pod, StaticPodStart(pod, spec)},
		"config file": {ConfigFile, conf, ConfigFileStart(conf, spec, func(context.Context, bool) error { return nil })},
		"systemd":     {Environment, spec.Unit.EnvironmentFile, SystemdStart(filepath.Join(dir, "etcd.service"), spec, (&systemctl{}).run)},
	}
}

func TestStartWritesWhatTheMemberNeeds(t *testing.T) {
	spec := hookSpec(t)
	for name, h := range hooks(t, spec) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, h.start(t.Context(), startOf(twoMembers)))
			reading, err := Read(h.form, h.path, []byte(read(t, h.path)))
			require.NoError(t, err)
			assert.Equal(t, "cp-2", reading.Spec.Name)
			assert.Equal(t, []string{"http://10.0.0.12:2380"}, reading.Spec.AdvertisePeerURLs)
			assert.Equal(t, twoMembers, reading.Spec.InitialCluster)
			assert.Equal(t, "existing", reading.Spec.InitialClusterState)
			assert.Contains(t, read(t, h.path), voter.MemberID.String())
			assert.Equal(t, fileMode, mode(t, h.path))
		})
	}
	assert.Equal(t, map[string]string{"mine": "kept"}, spec.Pod.Annotations, "the caller's map is the caller's")
}

// Until the member has data, etcd reads the initial cluster at each start, and
// an outdated one is refused. Afterwards it is no reason for a restart.
func TestStartAgain(t *testing.T) {
	spec := hookSpec(t)
	all := hooks(t, spec)
	again := func(start member.StartSpec) map[string]bool {
		changed := map[string]bool{}
		for name, h := range all {
			before, _ := os.ReadFile(h.path)
			require.NoError(t, h.start(t.Context(), start))
			changed[name] = string(before) != read(t, h.path)
		}
		return changed
	}
	none := map[string]bool{"static pod": false, "config file": false, "systemd": false}
	each := map[string]bool{"static pod": true, "config file": true, "systemd": true}

	assert.Equal(t, each, again(startOf(twoMembers)), "the first time")
	assert.Equal(t, none, again(startOf(twoMembers)), "the same again")
	assert.Equal(t, each, again(startOf(threeMembers)), "somebody joined before it got its data")
	withData(t, spec)
	assert.Equal(t, none, again(startOf(twoMembers)), "somebody left since it has its data")

	other := startOf(threeMembers)
	other.MemberID++
	assert.Equal(t, each, again(other), "another member, all else the same")
	assert.Equal(t, none, again(other), "that one again")
	other.InitialCluster = twoMembers
	assert.Equal(t, each, again(other), "whose data is still the former member's")
}

// Once the member has its data, the cluster of the file stays, but not what is
// wrong with the file.
func TestStartRepairsTheFile(t *testing.T) {
	spec := hookSpec(t)
	withData(t, spec)
	for name, h := range hooks(t, spec) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, h.start(t.Context(), startOf(twoMembers)))
			want := read(t, h.path)
			for _, content := range []string{"", "not: [what it should be", want + "\n"} {
				require.NoError(t, os.WriteFile(h.path, []byte(content), 0o600))
				require.NoError(t, h.start(t.Context(), startOf(twoMembers)))
				assert.Equal(t, want, read(t, h.path))
			}
		})
	}
}

func TestStartRefusesAWrongSpec(t *testing.T) {
	for name, h := range hooks(t, hookSpec(t)) {
		t.Run(name, func(t *testing.T) {
			wrong := startOf("cp-1=http://10.0.0.11:2380")
			var faults Faults
			require.ErrorAs(t, h.start(t.Context(), wrong), &faults)
			assert.Contains(t, faults.Error(), "InitialCluster")
			assert.NoFileExists(t, h.path)
		})
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, h := range hooks(t, hookSpec(t)) {
		require.ErrorIs(t, h.start(ended, startOf(twoMembers)), context.Canceled)
		assert.NoFileExists(t, h.path)
	}
}

func TestStartNeverWritesThroughALink(t *testing.T) {
	for name, h := range hooks(t, hookSpec(t)) {
		t.Run(name, func(t *testing.T) {
			other := touch(t, filepath.Join(t.TempDir(), "other"))
			link(t, other, h.path)
			require.ErrorIs(t, h.start(t.Context(), startOf(twoMembers)), ErrLink)
			assert.Equal(t, "old", read(t, other))
		})
	}
}

func TestStaticPodStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd.yaml")
	require.NoError(t, StaticPodStart(path, hookSpec(t))(t.Context(), startOf(twoMembers)))
	stop := StaticPodStop(path)
	require.NoError(t, stop(t.Context()))
	assert.NoFileExists(t, path)
	require.NoError(t, stop(t.Context()), "once more")
}

// restart comes until run has succeeded, whatever happened in between.
func TestConfigFileStartRemembersARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd.conf.yaml")
	var asked []bool
	var answer error
	start := ConfigFileStart(path, hookSpec(t), func(_ context.Context, restart bool) error {
		asked = append(asked, restart)
		return answer
	})
	other := startOf(twoMembers)
	other.MemberID++
	for _, step := range []struct {
		start  member.StartSpec
		answer error
		want   bool
	}{
		{startOf(twoMembers), nil, true},
		{startOf(twoMembers), nil, false},
		{startOf(twoMembers), errors.New("not now"), false},
		{startOf(twoMembers), nil, false},
		{other, errors.New("not now"), true},
		{other, errors.New("not now"), true},
		{other, nil, true},
		{other, nil, false},
	} {
		answer = step.answer
		require.ErrorIs(t, start(t.Context(), step.start), step.answer)
		assert.Equal(t, step.want, asked[len(asked)-1])
	}
	assert.Equal(t, []string{"etcd.conf.yaml"}, names(t, filepath.Dir(path)))
}

// A crash right after the note or after any file leaves the restart due.
func TestAServiceStoppedHalfWay(t *testing.T) {
	for written := range 3 {
		dir := t.TempDir()
		s := service{
			{filepath.Join(dir, "a"), []byte("new"), fileMode},
			{filepath.Join(dir, "b"), []byte("new"), unitMode},
		}
		touch(t, s[0].path)
		due, err := s.noteRestart()
		require.NoError(t, err)
		require.True(t, due)
		for _, f := range s[:written] {
			_, err := f.write()
			require.NoError(t, err)
		}

		var restarts []bool
		for range 2 {
			require.NoError(t, s.start(t.Context(), func(_ context.Context, restart bool) error {
				restarts = append(restarts, restart)
				return nil
			}))
		}
		assert.Equal(t, []bool{true, false}, restarts, "stopped after %d files", written)
		assert.Equal(t, map[string]string{".": "d---------", "a": "new", "b": "new"}, tree(t, dir))
	}
}
