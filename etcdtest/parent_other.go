//go:build !linux

package etcdtest

import "syscall"

// dieWithParent does nothing: only Linux can do it. A test process that is
// killed leaves its servers behind here.
func dieWithParent(*syscall.SysProcAttr) {}
