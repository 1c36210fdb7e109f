package etcdtest

import "syscall"

// dieWithParent has the kernel kill the child when this process ends, however
// it ends: a panic, a timeout of go test and SIGKILL run no cleanup.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
