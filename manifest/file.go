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

// fileMode is the mode of files that WriteFile writes: they say where keys are.
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
	return ownFile{path, data, fileMode}.write()
}

// An ownFile is what is to be at a path.
type ownFile struct {
	path string
	data []byte
	mode fs.FileMode
}

func (f ownFile) write() (changed bool, err error) {
	same, err := f.there()
	if err != nil {
		return false, err
	}
	if !same {
		if err := replaceFile(f); err != nil {
			return false, withPath("write", f.path, err)
		}
	}
	// Also if nothing was written: it may be what an earlier call, killed before
	// it got here, has left.
	return !same, syncDir(filepath.Dir(f.path))
}

// there reports whether the file is as write would leave it; a mode that is too
// wide counts as other content. The error is the reason not to write.
func (f ownFile) there() (bool, error) {
	info, err := lookAt(f.path)
	if err != nil || info == nil {
		return false, err
	}
	if info.Mode().Perm() != f.mode || info.Size() != int64(len(f.data)) {
		return false, nil
	}
	old, err := os.ReadFile(f.path)
	return bytes.Equal(old, f.data), err
}

// removeFile removes what WriteFile has written, durably. A file that is
// missing has been removed before.
func removeFile(path string) error {
	info, err := lookAt(path)
	if err != nil || info == nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// lookAt is what is at path, nil if nothing is. The error is the reason not to
// touch it.
func lookAt(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return info, withPath("write", path, refuseInfo(info))
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

// syncDir puts the names in dir on disk. Some file systems have no such thing
// for directories and say EINVAL; there is nothing more to do on them.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written to it
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
