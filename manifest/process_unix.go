//go:build !windows

package manifest

import (
	"os"
	"syscall"
)

// terminate asks a process to end; a paused one is continued, to hear it.
func terminate(p *os.Process) {
	_ = p.Signal(syscall.SIGTERM)
	_ = p.Signal(syscall.SIGCONT)
}

// exitCode is 128 and the signal for a process that a signal ended, as shells count.
func exitCode(state *os.ProcessState) int {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return state.ExitCode()
}
