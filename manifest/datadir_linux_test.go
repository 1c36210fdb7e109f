package manifest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// A pod's data directory often is a volume, which cannot be renamed.
func TestArchiveOnAVolume(t *testing.T) {
	d := DataDir{Dir: tmpfs(t)}
	withData(t, Spec{DataDir: d.Dir})
	require.NoError(t, d.Archive(t.Context()))
	assert.Equal(t, cluster.DataEmpty, kind(t, d))
	assert.Len(t, unstamped(t, d.Dir), 1)
}

// A log that is a volume itself cannot be moved, nor can etcd make it anew; it
// goes on saying whose it is.
func TestArchiveOfALogThatIsAVolume(t *testing.T) {
	d := DataDir{Dir: t.TempDir(), WALDir: tmpfs(t)}
	log := fixture(t, "used-3.5.16.wal.gz")
	require.NoError(t, os.WriteFile(filepath.Join(d.WALDir, filepath.Base(someWAL)), log, 0o600))
	err := d.Archive(t.Context())
	require.ErrorIs(t, err, syscall.EBUSY)
	require.ErrorContains(t, err, d.WALDir)
	assert.Equal(t, cluster.DataMember, kind(t, d))
}
