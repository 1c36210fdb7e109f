package manifest

import (
	"errors"
	"os"
	"syscall"
)

func childAttributes(endWithParent bool) (*syscall.SysProcAttr, error) {
	if endWithParent {
		return nil, errors.New("Process.EndWithParent: this system cannot")
	}
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}, nil
}

// terminate ends a process: there is no gentler way here.
func terminate(p *os.Process) { _ = p.Kill() }

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
