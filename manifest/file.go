package manifest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// What [WriteFile] refuses; each is inside an [fs.PathError] with the path.
var (
	ErrLink         = errors.New("refused: it is a symbolic link")
	ErrNotRegular   = errors.New("refused: it is not a regular file")
	ErrForeignOwner = errors.New("refused: it belongs to another user")
)

// fileMode is the mode of all files written here: they name keys.
const fileMode fs.FileMode = 0o600

// WriteFile makes data the content of the file at path, with mode 0600, and
// reports whether it had to write. Content that is there already is not written
// again, so nobody who watches the file restarts anything.
//
// Whatever ends the process or the machine, the old file or the new one is at
// path, whole: data goes to a file beside it whose name begins with a dot (the
// kubelet ignores those), and only once that is on disk it takes the name. After
// success the new name is on disk, too. A killed call leaves such a dot-file
// behind and nothing else; it may be removed.
//
// It never writes through a symbolic link at path, and replaces only a regular
// file that belongs to the user it runs as; the directory must exist. Every
// error is an [fs.PathError] and leaves the old file untouched, unless changed is
// true: then only that the new name is on disk could not be made sure of.
func WriteFile(path string, data []byte) (changed bool, err error) {
	if err := refuseTarget(path); err != nil {
		return false, err
	}
	same, err := hasContent(path, data)
	if err != nil {
		return false, err
	}
	if !same {
		if err := replaceFile(path, data); err != nil {
			return false, withPath("write", path, err)
		}
	}
	// Also if nothing was written: it may be what an earlier call, killed before
	// it got here, has left.
	return !same, syncDir(filepath.Dir(path))
}

// removeFile removes what WriteFile has written, durably. A file that is
// missing has been removed before.
func removeFile(path string) error {
	if err := refuseTarget(path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// refuseTarget is the reason not to touch what is at path, nil if nothing is.
func refuseTarget(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return withPath("write", path, refuseInfo(info))
}

func refuseInfo(info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return ErrLink
	case !info.Mode().IsRegular():
		return ErrNotRegular
	case !ours(info):
		return ErrForeignOwner
	default:
		return nil
	}
}

// hasContent reports whether the file at path is as WriteFile would leave it. A
// mode that is too wide counts as other content.
func hasContent(path string, data []byte) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.Mode().Perm() != fileMode || info.Size() != int64(len(data)) {
		return false, nil
	}
	old, err := os.ReadFile(path)
	return bytes.Equal(old, data), err
}

// syncDir puts the names in dir on disk. Some file systems have no such thing
// for directories and say EINVAL; there is nothing more to do on them.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// withPath is err as an error of path, whichever file it happened to.
func withPath(op, path string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
