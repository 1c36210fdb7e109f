package manifest

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// The fixtures are the beginnings of files that etcd 3.5.16 wrote: a voter's
// log and database, and the database that a refused start left. What the
// servers of other versions write is looked at in etcdtest/e2e.
var (
	someWAL  = "member/wal/0000000000000000-0000000000000000.wal"
	database = "member/snap/db"
	voter    = cluster.DataInfo{Kind: cluster.DataMember, ClusterID: 0xb4ce6e602f8448d7, MemberID: 0x52aebec6caecf5dc}
)

func TestInspect(t *testing.T) {
	snapshot := voter
	snapshot.Snapshot = true
	empty := cluster.DataInfo{Kind: cluster.DataEmpty}
	used, refused, log := fixture(t, "used-3.5.16.db.gz"), fixture(t, "refused-3.5.16.db.gz"), fixture(t, "used-3.5.16.wal.gz")
	for name, tc := range map[string]struct {
		files map[string][]byte
		want  cluster.DataInfo
	}{
		"nothing":                          {nil, empty},
		"a fresh volume":                   {map[string][]byte{"lost+found/x": nil}, empty},
		"directories only":                 {map[string][]byte{"member/wal/": nil, "member/snap/": nil}, empty},
		"a refused start":                  {map[string][]byte{database: refused}, empty},
		"a refused start, killed early":    {map[string][]byte{database: nil}, empty},
		"a log that was not finished":      {map[string][]byte{database: refused, "member/wal.tmp/0000000000000000-0000000000000000.wal": log}, empty},
		"an archive of an earlier member":  {map[string][]byte{"member-archived-20260102T150405Z/snap/db": used}, empty},
		"a member":                         {map[string][]byte{database: used, someWAL: log}, voter},
		"a member with a snapshot":         {map[string][]byte{database: used, someWAL: log, "member/snap/0000000000000002-0000000000000008.snap": nil}, snapshot},
		"a member with a received one":     {map[string][]byte{database: used, someWAL: log, "member/snap/0000000000000008.snap.db": nil}, voter},
		"a log only":                       {map[string][]byte{someWAL: log}, voter},
		"a log allocated ahead":            {map[string][]byte{someWAL: log, "member/wal/0.tmp": nil}, voter},
		"a damaged database beside a log":  {map[string][]byte{database: []byte("x"), someWAL: log}, voter},
		"an archive beside another member": {map[string][]byte{"member-archived-20260102T150405Z/snap/db": used, someWAL: log}, voter},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := DataDir{Dir: plant(t, tc.files)}.Inspect(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestInspectNamesTheDamage(t *testing.T) {
	used, log := fixture(t, "used-3.5.16.db.gz"), fixture(t, "used-3.5.16.wal.gz")
	for name, tc := range map[string]struct {
		files map[string][]byte
		want  []string
	}{
		"data without a log":     {map[string][]byte{database: used}, []string{"/db holds data", "no write-ahead log in", "/member/wal"}},
		"data and an empty log":  {map[string][]byte{database: used, "member/wal/": nil}, []string{"/db holds data", "/member/wal"}},
		"a snapshot only":        {map[string][]byte{"member/snap/0000000000000002-0000000000000008.snap": nil}, []string{"/snap holds data"}},
		"a database cut short":   {map[string][]byte{database: used[:4096]}, []string{"/db: not a database", "cut short"}},
		"another file":           {map[string][]byte{database: bytes.Repeat([]byte("x"), 1<<17)}, []string{"/db: not a database", "does not begin as one"}},
		"a log cut short":        {map[string][]byte{someWAL: log[:20]}, []string{"0000000000000000-0000000000000000.wal", "cut short"}},
		"a log of zeros":         {map[string][]byte{someWAL: make([]byte, 4096)}, []string{".wal", "empty or zeroed"}},
		"a log under a bad name": {map[string][]byte{"member/wal/old.wal": log}, []string{"/member/wal", "no file has the name of a segment"}},
		"a log that is a file":   {map[string][]byte{"member/wal": nil}, []string{"/member/wal", "not a directory"}},
		"a directory for a file": {map[string][]byte{"member/snap/db/": nil}, []string{"/db", "is a directory"}},
		"snapshots in a file":    {map[string][]byte{someWAL: log, "member/snap": nil}, []string{"/member/snap", "not a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := plant(t, tc.files)
			got, err := DataDir{Dir: dir}.Inspect(t.Context())
			require.NoError(t, err)
			assert.Equal(t, cluster.DataDamaged, got.Kind)
			assert.Zero(t, got.MemberID)
			for _, part := range append(tc.want, dir) {
				assert.Contains(t, got.Reason, part)
			}
		})
	}
}

func TestInspectASeparateLog(t *testing.T) {
	used, log := fixture(t, "used-3.5.16.db.gz"), fixture(t, "used-3.5.16.wal.gz")
	dir, walDir := plant(t, map[string][]byte{database: used}), plant(t, map[string][]byte{filepath.Base(someWAL): log})

	got, err := DataDir{Dir: dir, WALDir: walDir}.Inspect(t.Context())
	require.NoError(t, err)
	assert.Equal(t, voter, got)

	got, err = DataDir{Dir: dir}.Inspect(t.Context())
	require.NoError(t, err)
	assert.Equal(t, cluster.DataDamaged, got.Kind, "whoever forgets WALDir must not be told that the directory is empty")
	assert.Contains(t, got.Reason, "set WALDir")
}

func TestInspectFollowsALinkToTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	link(t, plant(t, map[string][]byte{someWAL: fixture(t, "used-3.5.16.wal.gz")}), dir)
	got, err := DataDir{Dir: dir}.Inspect(t.Context())
	require.NoError(t, err)
	assert.Equal(t, voter, got)
}

func TestInspectCannotLook(t *testing.T) {
	_, err := DataDir{}.Inspect(t.Context())
	require.ErrorContains(t, err, "DataDir.Dir is not set")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = DataDir{Dir: t.TempDir()}.Inspect(ended)
	require.ErrorIs(t, err, context.Canceled)
}

func TestInspectWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything; run as another user to see this")
	}
	dir := plant(t, map[string][]byte{someWAL: nil})
	require.NoError(t, os.Chmod(filepath.Join(dir, "member"), 0))
	t.Cleanup(func() { assert.NoError(t, os.Chmod(filepath.Join(dir, "member"), 0o700)) })
	got, err := DataDir{Dir: dir}.Inspect(t.Context())
	require.NoError(t, err)
	assert.Equal(t, cluster.DataDamaged, got.Kind)
	assert.Contains(t, got.Reason, "permission denied")
}

func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata/datadir", name))
	require.NoError(tb, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(tb, err)
	b, err := io.ReadAll(z)
	require.NoError(tb, err)
	return b
}

// plant makes a directory with these files; a name with a slash at its end is a
// directory.
func plant(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if name[len(name)-1] == '/' {
			require.NoError(t, os.MkdirAll(path, 0o700))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	return dir
}
