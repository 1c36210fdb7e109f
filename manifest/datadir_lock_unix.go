//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package manifest

import (
	"errors"
	"os"
	"syscall"
)

// locked reports whether another process has the database at path locked, as
// bbolt does it. A file that cannot be opened is locked by nobody we could
// wait for.
func locked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // and with it the lock
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
