//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package manifest

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// running is a data directory in use: its database is locked as bbolt locks it.
func running(t *testing.T) (d DataDir, stop func()) {
	t.Helper()
	d.Dir = plant(t, map[string][]byte{someWAL: fixture(t, "used-3.5.16.wal.gz"), database: nil})
	f, err := os.OpenFile(filepath.Join(d.Dir, database), os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	return d, func() { f.Close() }
}

func TestArchiveWaitsForTheServerToEnd(t *testing.T) {
	d, stop := running(t)
	time.AfterFunc(50*time.Millisecond, stop)
	require.NoError(t, d.Archive(t.Context()))
	assert.Equal(t, cluster.DataEmpty, kind(t, d))
}

func TestArchiveRefusesARunningServersData(t *testing.T) {
	d, stop := running(t)
	defer stop()
	d.Release = 20 * time.Millisecond
	before := tree(t, d.Dir)
	err := d.Archive(t.Context())
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, "/member/snap/db is locked: an etcd process still uses the data after 20ms: stop it first")
	assert.Equal(t, before, tree(t, d.Dir))
}

func TestArchiveEndsWithItsContext(t *testing.T) {
	d, stop := running(t)
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, d.Archive(ctx), context.DeadlineExceeded)
}
