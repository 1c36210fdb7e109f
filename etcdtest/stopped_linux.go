package etcdtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// stopped says whether every thread of a process has stopped: a signal is on its way
// for a while, on a busy machine long enough to answer a request.
func stopped(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(stats) == 0 {
		return true // it has ended
	}
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		// pid (name, which may hold anything) state …
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
		if !bytes.HasPrefix(state, []byte("T")) && !bytes.HasPrefix(state, []byte("Z")) {
			return false
		}
	}
	return true
}
