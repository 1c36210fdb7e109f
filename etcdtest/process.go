package etcdtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a run as a process of its own.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func startProcess(bin string, args, env []string, log io.Writer) (*process, error) {
	p := &process{cmd: exec.Command(bin, args...), done: make(chan struct{})}
	p.cmd.Env = append(serverEnv(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	dieWithParent(p.cmd.SysProcAttr)
	if err := fork(p.cmd.Start); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // result reads the state it leaves
	}()
	return p, nil
}

// fork runs start on the one thread that starts all children and lives as long
// as this process. The kernel's "signal me when my parent dies" watches the
// thread that forked, and the runtime ends threads as it likes, which would
// take a server down in the middle of a test.
func fork(start func() error) error {
	err := make(chan error)
	forks() <- func() { err <- start() }
	return <-err
}

var forks = sync.OnceValue(func() chan<- func() {
	ch := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range ch {
			f()
		}
	}()
	return ch
})

// serverEnv is our environment without etcd's own variables and those that name
// a proxy: neither a user's ETCD_NAME nor a company's HTTP_PROXY must reach a
// test.
func serverEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "ETCD_") && !namesProxy(kv) {
			env = append(env, kv)
		}
	}
	// Old releases refuse to run on any other machine unless told so.
	if runtime.GOARCH != "amd64" {
		env = append(env, "ETCD_UNSUPPORTED_ARCH="+runtime.GOARCH)
	}
	return env
}

func namesProxy(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	return strings.HasSuffix(strings.ToUpper(name), "_PROXY")
}

// stop continues a paused process first, which could not end otherwise. An
// error means that the process has ended meanwhile.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
}

func (p *process) kill()                  { _ = p.cmd.Process.Kill() }
func (p *process) ended() <-chan struct{} { return p.done }

// signal returns when a signal to stop has been followed.
func (p *process) signal(sig syscall.Signal) error {
	err := p.cmd.Process.Signal(sig)
	for sig == syscall.SIGSTOP && err == nil && running(p) && !stopped(p.cmd.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	return err
}

func (p *process) result() (int, error) {
	state := p.cmd.ProcessState
	code := state.ExitCode()
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		code = 128 + int(w.Signal())
	}
	if code == 0 {
		return 0, nil
	}
	return code, fmt.Errorf("etcd: %s", state)
}
