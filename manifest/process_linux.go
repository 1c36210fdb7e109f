package manifest

import "syscall"

// childAttributes give the child a process group of its own, which the terminal's
// signals do not reach.
func childAttributes(endWithParent bool) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if endWithParent {
		attributes.Pdeathsig = syscall.SIGKILL
	}
	return attributes, nil
}
