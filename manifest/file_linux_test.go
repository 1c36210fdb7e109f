package manifest

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFullFileSystem(t *testing.T) {
	path := filepath.Join(tmpfs(t), "etcd.yaml")
	touch(t, path)
	changed, err := WriteFile(path, make([]byte, 1<<20))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.EqualError(t, err, "write "+path+": no space left on device")
	assert.False(t, changed)
	assert.Equal(t, map[string]string{".": "d---------", "etcd.yaml": "old"}, tree(t, filepath.Dir(path)))
}

func TestReadOnlyFileSystem(t *testing.T) {
	dir := tmpfs(t)
	path := touch(t, filepath.Join(dir, "etcd.yaml"))
	require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	changed, err := WriteFile(path, []byte("new"))
	require.ErrorIs(t, err, syscall.EROFS)
	require.EqualError(t, err, "write "+path+": read-only file system")
	assert.False(t, changed)
	assert.Equal(t, "old", read(t, path))

	changed, err = WriteFile(path, []byte("old"))
	require.NoError(t, err, "what is there already needs no writing")
	assert.False(t, changed)
}

// tmpfs is an empty file system of 64 KiB.
func tmpfs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting a file system is not permitted here: %v; TestFileSizeLimit fails a write without one", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

const limitEnv = "ETCDJOIN_TEST_LIMIT"

// A write that fails in the middle, which needs no privilege: in a child,
// because the limit is the process's.
func TestFileSizeLimit(t *testing.T) {
	path := touch(t, filepath.Join(t.TempDir(), "etcd.yaml"))
	child := exec.Command(os.Args[0], "-test.run=^TestFileSizeLimitChild$")
	child.Env = append(os.Environ(), limitEnv+"="+path)
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, map[string]string{".": "d---------", "etcd.yaml": "old"}, tree(t, filepath.Dir(path)))
}

// TestFileSizeLimitChild is the process that TestFileSizeLimit starts.
func TestFileSizeLimitChild(t *testing.T) {
	path := os.Getenv(limitEnv)
	if path == "" {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}))
	changed, err := WriteFile(path, make([]byte, 1<<20))
	require.ErrorIs(t, err, syscall.EFBIG)
	require.ErrorContains(t, err, path)
	assert.False(t, changed)
}

func TestForeignOwner(t *testing.T) {
	path := touch(t, filepath.Join(t.TempDir(), "etcd.yaml"))
	if err := os.Chown(path, os.Geteuid()+1, -1); err != nil {
		t.Skipf("giving a file away is not permitted here: %v", err)
	}
	changed, err := WriteFile(path, []byte("new"))
	require.ErrorIs(t, err, ErrForeignOwner)
	require.EqualError(t, err, "write "+path+": refused: it belongs to another user")
	assert.False(t, changed)
	assert.Equal(t, "old", read(t, path))
}
