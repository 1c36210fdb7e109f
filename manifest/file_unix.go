//go:build !windows

package manifest

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// replaceFile puts data in place of the file at path in one step. renameio
// names its temporary file .NAME and a number, and syncs it before the rename.
func replaceFile(path string, data []byte) error {
	f, err := renameio.NewPendingFile(path,
		renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(fileMode))
	if err != nil {
		return err
	}
	defer f.Cleanup() //nolint:errcheck // nothing to do about a temporary file that stays
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// ours reports whether the file belongs to the user that this process runs as.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
