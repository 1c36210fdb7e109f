//go:build !linux && !windows

package manifest

import (
	"errors"
	"syscall"
)

// childAttributes give the child a process group of its own, which the terminal's
// signals do not reach.
func childAttributes(endWithParent bool) (*syscall.SysProcAttr, error) {
	if endWithParent {
		return nil, errors.New("Process.EndWithParent: this system cannot")
	}
	return &syscall.SysProcAttr{Setpgid: true}, nil
}
