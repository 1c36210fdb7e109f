package manifest_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
	theversion "github.com/etcdjoin/etcdjoin/version"
)

// What manifest.DataDir says of directories that real servers wrote, and what
// those servers do with directories that it judges.

var dataDirVersions = []string{"3.4.13", "3.5.16", "3.5.35", "3.6.16", "3.7.3", "3.8.0-alpha.0"}

func eachDataDirVersion(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range dataDirVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			kit.Needs(t, version)
			etcdtest.Binary(t, version)
			test(t, version)
		})
	}
}

// startSynced starts a voter that syncs, as etcd does outside of tests: with
// --unsafe-no-fsync 3.4 keeps its log in its own memory, and a kill loses it.
func startSynced(t *testing.T, version string, opts ...etcdtest.Option) *etcdtest.Cluster {
	t.Helper()
	return etcdtest.Start(t, 1, append(opts, etcdtest.WithVersion(version), etcdtest.WithFsync())...)
}

func TestDataDirHoldsWhatTheServerReports(t *testing.T) {
	t.Run("3.3.27", func(t *testing.T) {
		t.Parallel()
		kit.Needs(t, "3.3.27")
		holdsWhatTheServerReports(t, "3.3.27")
	})
	eachDataDirVersion(t, holdsWhatTheServerReports)
}

func holdsWhatTheServerReports(t *testing.T, version string) {
	fake := startSynced(t, version)
	voter := fake.Servers()[0]
	want := reportedBy(t, fake)
	assert.Equal(t, want, inspect(t, voter.Dir), "running")

	writers := fake.Writers(2)
	time.Sleep(300 * time.Millisecond)
	voter.Kill()
	writers.Stop()
	assert.Equal(t, want, inspect(t, voter.Dir), "killed while writing")
	assert.Equal(t, want, inspect(t, zeroTail(t, voter.Dir)), "with a zeroed tail")

	require.NoError(t, voter.Start(""))
	require.NoError(t, voter.WaitServing(kit.Within(t, 30*time.Second)))
	assert.Equal(t, want, inspect(t, voter.Dir), "restarted")
}

// The second segment says the same, so a log whose first one was purged does,
// and a snapshot is seen.
func TestDataDirWithAPurgedLog(t *testing.T) {
	eachDataDirVersion(t, func(t *testing.T, version string) {
		fake := startSynced(t, version, etcdtest.WithArgs("--snapshot-count=20"))
		put(t, fake.Client(), "large", strings.Repeat("x", 1<<20), 70)
		voter := fake.Servers()[0]
		want := reportedBy(t, fake)
		want.Snapshot = true
		voter.Stop()

		segments := segmentsOf(t, voter.Dir)
		require.Greater(t, len(segments), 1)
		require.NoError(t, os.Remove(segments[0]))
		assert.Equal(t, want, inspect(t, voter.Dir))
	})
}

// A joiner that may not start yet, one killed at any moment of its first start,
// and the member it becomes: never anything else.
func TestDataDirOfAJoiner(t *testing.T) {
	eachDataDirVersion(t, func(t *testing.T, version string) {
		fake := startSynced(t, version)
		joiner := fake.NewServer("joiner")
		assert.Equal(t, cluster.DataInfo{Kind: cluster.DataEmpty}, inspect(t, joiner.Dir), "before the first start")

		for range 2 {
			require.NoError(t, joiner.Start(fake.InitialCluster(joiner)))
			<-joiner.Exited()
			assert.Equal(t, 1, joiner.ExitCode(), "a start before the add is refused")
			assert.FileExists(t, filepath.Join(joiner.Dir, "member/snap/db"))
			assert.Equal(t, cluster.DataInfo{Kind: cluster.DataEmpty}, inspect(t, joiner.Dir), "after a refused start")
		}

		// etcd makes nothing of an empty directory for the log either.
		require.NoError(t, os.Mkdir(filepath.Join(joiner.Dir, "member/wal"), 0o700))
		assert.Equal(t, cluster.DataInfo{Kind: cluster.DataEmpty}, inspect(t, joiner.Dir), "an empty member/wal")

		want := reportedBy(t, fake)
		want.MemberID = cluster.ID(fake.AddLearner(joiner))
		for delay := time.Duration(0); ; delay += 10 * time.Millisecond {
			require.NoError(t, joiner.Start(fake.InitialCluster(joiner)))
			time.Sleep(delay)
			joiner.Kill()
			got := inspect(t, joiner.Dir)
			if got.Kind != cluster.DataEmpty {
				assert.Equal(t, want, got, "killed after %v", delay)
				break
			}
		}
		require.NoError(t, joiner.Start(""))
		require.NoError(t, joiner.WaitServing(kit.Within(t, 30*time.Second)))
		assert.Equal(t, want, inspect(t, joiner.Dir), "serving")
	})
}

// An archived member leaves a directory from which etcd starts as a new one,
// wherever the log was.
func TestDataDirArchive(t *testing.T) {
	eachDataDirVersion(t, func(t *testing.T, version string) {
		fake := startSynced(t, version)
		for _, walDir := range []string{"", filepath.Join(t.TempDir(), "wal")} {
			joiner := fake.NewServer("joiner", walArgs(walDir)...)
			dir := manifest.DataDir{Dir: joiner.Dir, WALDir: walDir, Release: 10 * time.Millisecond}
			old := joinAsLearner(t, fake, joiner, dir)

			require.ErrorIs(t, dir.Archive(t.Context()), manifest.ErrInUse)
			assert.Equal(t, old, info(t, dir), "a running server's data stays")

			kit.Remove(t, fake, old.MemberID)
			joiner.Stop()
			time.Sleep(time.Second) // the same URL within a second would get the same ID
			require.NoError(t, dir.Archive(t.Context()))
			assert.Equal(t, cluster.DataEmpty, info(t, dir).Kind)

			renewed := joinAsLearner(t, fake, joiner, dir)
			assert.NotEqual(t, old.MemberID, renewed.MemberID)
			assert.Equal(t, old, info(t, archived(t, dir)), "the archive is the old member's, whole")
			kit.Remove(t, fake, renewed.MemberID)
			joiner.Stop()
		}
	})
}

// Data without its log is not empty. This is why: etcd starts over it as a new
// member of the cluster and serves what it finds, another cluster's key (3.4 and
// 3.5), or never serves at all.
func TestDataWithoutItsLog(t *testing.T) {
	eachDataDirVersion(t, func(t *testing.T, version string) {
		other := startSynced(t, version)
		put(t, other.Client(), "foreign", "value", 30)
		source := other.Servers()[0]
		source.Stop()

		fake := startSynced(t, version)
		joiner := fake.NewServer("joiner")
		copyTree(t, filepath.Join(source.Dir, "member/snap"), filepath.Join(joiner.Dir, "member/snap"))
		require.NoError(t, os.Mkdir(filepath.Join(joiner.Dir, "member/wal"), 0o700))
		got := inspect(t, joiner.Dir)
		assert.Equal(t, cluster.DataDamaged, got.Kind)
		assert.Contains(t, got.Reason, "there is no write-ahead log")

		fake.AddLearner(joiner)
		require.NoError(t, joiner.Start(fake.InitialCluster(joiner)))
		want := "nothing"
		if strings.HasPrefix(version, "3.4.") || strings.HasPrefix(version, "3.5.") {
			want = "another cluster's key"
		}
		assert.Equal(t, want, whatItServes(t, fake, joiner))
	})
}

// A member that was removed comes back by one Join with the ready hooks: its data
// is archived, and etcd restarted from a file of its new ID.
func TestRemovedMemberJoinsAgainByTheReadyHooks(t *testing.T) {
	eachDataDirVersion(t, func(t *testing.T, version string) {
		fake := startSynced(t, version)
		file := filepath.Join(t.TempDir(), "etcd.conf.yaml")
		joiner := fake.NewServer("joiner", etcdtest.WithArgs("--config-file="+file)) // etcd ignores all other flags
		var restarts []bool
		run := func(_ context.Context, restart bool) error {
			restarts = append(restarts, restart)
			if restart {
				joiner.Kill()
			}
			return joiner.Start("in=the-file")
		}
		spec := manifest.Spec{
			Version:             theversion.MustParse(version),
			DataDir:             joiner.Dir,
			AdvertiseClientURLs: []string{joiner.ClientURL},
			MetricsURLs:         []string{joiner.MetricsURL},
		}
		startHook := manifest.ConfigFileStart(file, spec, run)
		j, err := learner.NewJoiner(kit.NewClient(fake), joiner.Name, member.Config{
			Start:   startHook,
			Stop:    func(context.Context) error { joiner.Stop(); return nil },
			DataDir: manifest.DataDir{Dir: joiner.Dir},
			Rejoin:  true,
			Observe: kit.LogEvents(t),
		})
		require.NoError(t, err)

		start, err := j.Add(kit.Within(t, 30*time.Second), joiner.PeerURL)
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, startHook(t.Context(), start))
			require.NoError(t, joiner.WaitServing(kit.Within(t, 30*time.Second)))
		}
		assert.Equal(t, []bool{true, false}, restarts)
		kit.Remove(t, fake, start.MemberID)
		time.Sleep(time.Second) // the same URL within a second would get the same ID

		result, err := j.Join(kit.Within(t, time.Minute), joiner.PeerURL)
		require.NoError(t, err)
		assert.NotEqual(t, start.MemberID, result.Member.ID)
		assert.Equal(t, []bool{true, false, true}, restarts)
		assert.Equal(t, result.Member.ID, inspect(t, joiner.Dir).MemberID)
		assert.Equal(t, start.MemberID, info(t, archived(t, manifest.DataDir{Dir: joiner.Dir})).MemberID)
	})
}

func whatItServes(t *testing.T, fake *etcdtest.Cluster, joiner *etcdtest.Server) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := joiner.WaitServing(ctx); err != nil {
		return "nothing"
	}
	resp, err := fake.ClientFor(joiner).Get(ctx, "foreign", clientv3.WithSerializable())
	if err != nil {
		return err.Error()
	}
	if resp.Count > 0 {
		return "another cluster's key"
	}
	return "as the cluster has it"
}

func inspect(t *testing.T, dir string) cluster.DataInfo {
	t.Helper()
	return info(t, manifest.DataDir{Dir: dir})
}

func info(t *testing.T, dir manifest.DataDir) cluster.DataInfo {
	t.Helper()
	got, err := dir.Inspect(t.Context())
	require.NoError(t, err)
	return got
}

// reportedBy is what the cluster's client says of the server that answers it.
func reportedBy(t *testing.T, fake *etcdtest.Cluster) cluster.DataInfo {
	t.Helper()
	resp, err := fake.Client().Status(t.Context(), fake.Endpoints()[0])
	require.NoError(t, err)
	return cluster.DataInfo{
		Kind:      cluster.DataMember,
		ClusterID: cluster.ID(resp.Header.ClusterId),
		MemberID:  cluster.ID(resp.Header.MemberId),
	}
}

func joinAsLearner(t *testing.T, fake *etcdtest.Cluster, joiner *etcdtest.Server, dir manifest.DataDir) cluster.DataInfo {
	t.Helper()
	id := fake.AddLearner(joiner)
	require.NoError(t, joiner.Start(fake.InitialCluster(joiner)))
	require.NoError(t, joiner.WaitServing(kit.Within(t, 30*time.Second)))
	got := info(t, dir)
	assert.Equal(t, cluster.ID(id), got.MemberID)
	return got
}

func walArgs(walDir string) []etcdtest.ServerOption {
	if walDir == "" {
		return nil
	}
	return []etcdtest.ServerOption{etcdtest.WithArgs("--wal-dir=" + walDir)}
}

// archived is the archive of dir as a data directory of its own.
func archived(t *testing.T, dir manifest.DataDir) manifest.DataDir {
	t.Helper()
	again := manifest.DataDir{Dir: t.TempDir()}
	require.NoError(t, os.Symlink(only(t, dir.Dir+"/member-archived-*"), filepath.Join(again.Dir, "member")))
	if dir.WALDir != "" {
		again.WALDir = only(t, dir.WALDir+"-archived-*")
	}
	return again
}

func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

func put(t *testing.T, client *clientv3.Client, key, value string, times int) {
	t.Helper()
	for range times {
		_, err := client.Put(kit.Within(t, 30*time.Second), key, value)
		require.NoError(t, err)
	}
}

// zeroTail is a copy of a data directory whose log ends in zeros in the middle
// of its last record, as after a crash of the machine.
func zeroTail(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	copyTree(t, filepath.Join(dir, "member"), filepath.Join(to, "member"))
	segments := segmentsOf(t, to)
	last := segments[len(segments)-1]
	b, err := os.ReadFile(last)
	require.NoError(t, err)
	end := len(strings.TrimRight(string(b), "\x00"))
	clear(b[end-min(end/2, 100):])
	require.NoError(t, os.WriteFile(last, b, 0o600))
	return to
}

func segmentsOf(t *testing.T, dir string) []string {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "member/wal/*.wal"))
	require.NoError(t, err)
	require.NotEmpty(t, segments)
	return segments
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	require.NoError(t, filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return err
	}))
}
