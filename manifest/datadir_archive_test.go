package manifest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
)

var stamp = regexp.MustCompile(`-archived-\d{8}T\d{6}Z`)

// unstamped is the tree with each time stamp replaced by -T.
func unstamped(t *testing.T, dir string) map[string]string {
	t.Helper()
	plain := map[string]string{}
	for name, content := range tree(t, dir) {
		if content != "d---------" {
			plain[stamp.ReplaceAllString(name, "-T")] = content
		}
	}
	return plain
}

func kind(t *testing.T, d DataDir) cluster.DataKind {
	t.Helper()
	info, err := d.Inspect(t.Context())
	require.NoError(t, err)
	return info.Kind
}

func TestArchiveMovesTheMemberAside(t *testing.T) {
	log := fixture(t, "used-3.5.16.wal.gz")
	dir := plant(t, map[string][]byte{someWAL: log, database: []byte("db"), "other": []byte("kept")})
	d := DataDir{Dir: dir}
	require.NoError(t, d.Archive(t.Context()))
	want := map[string]string{
		"member-T/wal/" + filepath.Base(someWAL): string(log),
		"member-T/snap/db":                       "db",
		"other":                                  "kept",
	}
	assert.Equal(t, want, unstamped(t, dir))
	assert.Equal(t, cluster.DataEmpty, kind(t, d))

	require.NoError(t, d.Archive(t.Context()), "once more")
	assert.Equal(t, want, unstamped(t, dir))
}

func TestArchiveLeavesAnEmptyDirectory(t *testing.T) {
	for name, files := range map[string]map[string][]byte{
		"nothing":         nil,
		"a refused start": {database: fixture(t, "refused-3.5.16.db.gz")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := plant(t, files)
			before := tree(t, dir)
			require.NoError(t, DataDir{Dir: dir}.Archive(t.Context()))
			assert.Equal(t, before, tree(t, dir))
		})
	}
	require.NoError(t, DataDir{Dir: filepath.Join(t.TempDir(), "none")}.Archive(t.Context()))
}

func TestArchiveTakesWhatIsDamaged(t *testing.T) {
	d := DataDir{Dir: plant(t, map[string][]byte{database: fixture(t, "used-3.5.16.db.gz")})}
	require.Equal(t, cluster.DataDamaged, kind(t, d))
	require.NoError(t, d.Archive(t.Context()))
	assert.Equal(t, cluster.DataEmpty, kind(t, d))
}

// Two archives within a second are two archives.
func TestArchiveNeverOverwrites(t *testing.T) {
	d := DataDir{Dir: t.TempDir()}
	for _, content := range []string{"1", "2", "3"} {
		require.NoError(t, os.MkdirAll(filepath.Join(d.Dir, "member/wal"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(d.Dir, someWAL), []byte(content), 0o600))
		require.NoError(t, d.Archive(t.Context()))
	}
	var contents []string
	for _, content := range unstamped(t, d.Dir) {
		contents = append(contents, content)
	}
	assert.ElementsMatch(t, []string{"1", "2", "3"}, contents)
}

func TestFreeName(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	for _, want := range []string{name, name + "-2", name + "-3"} {
		got, err := freeName(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		link(t, "nowhere", got) // a dangling link is a name, too
	}
}

func separate(t *testing.T) (d DataDir, root string) {
	t.Helper()
	root = plant(t, map[string][]byte{
		"data/" + database:                  fixture(t, "used-3.5.16.db.gz"),
		"log/wal/" + filepath.Base(someWAL): fixture(t, "used-3.5.16.wal.gz"),
		"log/another-program/is-not-our":    nil,
	})
	return DataDir{Dir: filepath.Join(root, "data"), WALDir: filepath.Join(root, "log/wal")}, root
}

func TestArchiveTakesASeparateLog(t *testing.T) {
	d, root := separate(t)
	before := tree(t, root)
	require.NoError(t, d.Archive(t.Context()))
	assert.Equal(t, map[string]string{
		"data/member-T/snap/db":               before["data/member/snap/db"],
		"log/wal-T/" + filepath.Base(someWAL): before["log/wal/"+filepath.Base(someWAL)],
		"log/another-program/is-not-our":      "",
	}, unstamped(t, root))
	assert.Equal(t, cluster.DataEmpty, kind(t, d))
}

// Stopped between the two renames, the log still says whose the data was, and
// the next call moves it.
func TestArchiveStoppedHalfWay(t *testing.T) {
	d, root := separate(t)
	require.NoError(t, moveAside(d.parts()[0], "20260102T150405Z"))
	info, err := d.Inspect(t.Context())
	require.NoError(t, err)
	assert.Equal(t, voter, info)

	require.NoError(t, d.Archive(t.Context()))
	assert.Equal(t, cluster.DataEmpty, kind(t, d))
	assert.Len(t, unstamped(t, root), 3)
}

func TestALogInsideTheMemberMovesWithIt(t *testing.T) {
	for walDir, want := range map[string]int{
		"":                      1,
		"/etcd/member/wal":      1,
		"/etcd/member/../wal":   2,
		"/etcd/member-wal":      2,
		"/etcd/member/..data/x": 1,
		"/ssd":                  2,
	} {
		assert.Len(t, DataDir{Dir: "/etcd", WALDir: walDir}.parts(), want, walDir)
	}
}

// Links are refused before anything is moved; that to the whole directory is
// followed.
func TestArchiveAndLinks(t *testing.T) {
	d, root := separate(t)
	real := filepath.Join(root, "real")
	require.NoError(t, os.Rename(d.WALDir, real))
	link(t, real, d.WALDir)
	before := tree(t, root)
	err := d.Archive(t.Context())
	require.ErrorContains(t, err, d.WALDir+": it is a symbolic link")
	assert.Equal(t, before, tree(t, root))

	require.NoError(t, os.Remove(d.WALDir))
	require.NoError(t, os.Rename(real, d.WALDir))
	link(t, d.Dir, filepath.Join(root, "by-link"))
	d.Dir = filepath.Join(root, "by-link")
	require.NoError(t, d.Archive(t.Context()))
	assert.Equal(t, cluster.DataEmpty, kind(t, d))
	assert.DirExists(t, filepath.Join(root, "data"))
}

func TestArchiveCannotMove(t *testing.T) {
	file := touch(t, filepath.Join(t.TempDir(), "file"))
	err := DataDir{Dir: file}.Archive(t.Context())
	require.ErrorContains(t, err, "archive data directory "+file)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, DataDir{Dir: file}.Archive(ended), context.Canceled)
}

func TestWithin(t *testing.T) {
	assert.True(t, within("/a/b", "/a"))
	assert.True(t, within("/a/..b", "/a"))
	assert.False(t, within("/ab", "/a"))
	assert.False(t, within("/", "/a"))
}
