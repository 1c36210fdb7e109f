//go:build !windows

package manifest

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// replaceFile puts the file in place of what is at its path in one step.
// renameio names its temporary file .NAME and a number, and syncs it before the
// rename.
func replaceFile(f ownFile) error {
	pending, err := renameio.NewPendingFile(f.path,
		renameio.WithTempDir(filepath.Dir(f.path)), renameio.WithStaticPermissions(f.mode))
	if err != nil {
		return err
	}
	defer pending.Cleanup() //nolint:errcheck // nothing to do about a temporary file that stays
	if _, err := pending.Write(f.data); err != nil {
		return err
	}
	return pending.CloseAtomicallyReplace()
}

// ours reports whether the file belongs to the user that this process runs as.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
