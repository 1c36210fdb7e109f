package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// A Process is an etcd that this program starts itself, as a child: no kubelet, no
// systemd. It is one child at most. Methods may be called from any goroutine; the
// fields must not change after the first call.
//
// The child lives until [Process.Stop], or until it ends by itself. The context of
// the call that started it is only that call's, a signal from the terminal does
// not reach it, and it outlives this program, unless EndWithParent. It is not
// started again when it ends: [Process.Exited] says how it did.
type Process struct {
	// Program is etcd's path, looked up as [exec.Command] does. Required.
	Program string
	// Log is the file that the child's output is added to, with mode 0600. Empty:
	// the output is lost, and with it the reason why etcd gave up.
	Log string
	// Env is added to the environment of this program, from which etcd's settings
	// are taken out: beside a flag of the same name each makes etcd exit.
	Env []string
	// StopWithin is for how long Stop waits between SIGTERM and SIGKILL. A leader
	// hands over meanwhile, and etcd gives open streams seven seconds. Zero means
	// 30 seconds.
	StopWithin time.Duration
	// EndWithParent has the kernel kill the child when this program ends, however
	// it ends (Linux only; elsewhere Start refuses it).
	EndWithParent bool

	change sync.Mutex           // held while a child is started or stopped
	child  atomic.Pointer[aRun] // the last one, nil if there was none or it was stopped
}

const defaultStopWithin = 30 * time.Second

// Start has Program run with these arguments. While it runs with them nothing is
// done; with others it is stopped first, as by [Process.Stop]. A child that has
// ended is started anew.
//
// It returns once the child is under way: one that gives up shows it by Exited.
func (p *Process) Start(ctx context.Context, args ...string) error {
	return p.start(ctx, false, args)
}

func (p *Process) start(ctx context.Context, restart bool, args []string) error {
	p.change.Lock()
	defer p.change.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if run := p.child.Load(); run.running() {
		if !restart && slices.Equal(run.args, args) {
			return nil
		}
		run.stop(ctx, orElse(p.StopWithin, defaultStopWithin))
	}
	run, err := p.fork(args)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Program, err)
	}
	p.child.Store(run)
	return nil
}

// Stop ends the child: SIGTERM, then SIGKILL after StopWithin or when ctx ends,
// whichever is first. It returns when the child is gone; where none runs, at once.
// A start that is under way is waited for and then stopped.
func (p *Process) Stop(ctx context.Context) error {
	p.change.Lock()
	defer p.change.Unlock()
	if run := p.child.Load(); run.running() {
		run.stop(ctx, orElse(p.StopWithin, defaultStopWithin))
	}
	p.child.Store(nil)
	return nil
}

// Exited is how the child ended by itself, with the last of what it logged: the
// hook of [member.Config]. It is nil while it runs, and where it was stopped or
// never started.
func (p *Process) Exited(context.Context) *cluster.ExitError {
	run := p.child.Load()
	if run == nil || run.running() {
		return nil
	}
	return &cluster.ExitError{Code: run.code, Output: run.output()}
}

// Running reports whether the child runs.
func (p *Process) Running() bool { return p.child.Load().running() }

// aRun is one life of the child.
type aRun struct {
	args    []string
	process *os.Process
	log     string
	from    int64         // where its part of the log begins
	done    chan struct{} // closed when it has ended, and code is set
	code    int
}

// running is false for a run that there is none of.
func (r *aRun) running() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

func (p *Process) fork(args []string) (*aRun, error) {
	attributes, err := childAttributes(p.EndWithParent)
	if err != nil {
		return nil, err
	}
	run := &aRun{args: slices.Clone(args), log: p.Log, done: make(chan struct{})}
	cmd := exec.Command(p.Program, args...)
	cmd.Env = append(withoutSettings(os.Environ()), p.Env...)
	cmd.SysProcAttr = attributes
	if p.Log != "" {
		log, from, err := openLog(p.Log)
		if err != nil {
			return nil, err
		}
		defer log.Close() //nolint:errcheck // the child has its own
		cmd.Stdout, cmd.Stderr, run.from = log, log, from
	}
	return run, run.begin(cmd)
}

// begin forks and waits on one thread: the kernel's "kill it when its parent
// ends" watches the thread that forked, and the runtime ends threads as it likes.
// Waiting is what leaves no zombie, whoever asks or does not ask for the child.
func (r *aRun) begin(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		r.process = cmd.Process
		started <- err
		if err != nil {
			return
		}
		defer close(r.done)
		_ = cmd.Wait() // the code says it
		r.code = exitCode(cmd.ProcessState)
	}()
	return <-started
}

// stop returns when the run has ended.
func (r *aRun) stop(ctx context.Context, within time.Duration) {
	patience := time.NewTimer(within)
	defer patience.Stop()
	terminate(r.process) // one that has ended meanwhile is done at once
	select {
	case <-r.done:
		return
	case <-patience.C:
	case <-ctx.Done():
	}
	_ = r.process.Kill()
	<-r.done
}

// lastOutput is how much of the log goes into an ExitError.
const lastOutput = 16 << 10

// output is the last of what the run has logged.
func (r *aRun) output() string {
	if r.log == "" {
		return ""
	}
	f, err := os.Open(r.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close() //nolint:errcheck // it was only read
	from := r.from
	if info, err := f.Stat(); err == nil {
		if from > info.Size() { // rotated by somebody
			from = 0
		}
		from = max(from, info.Size()-lastOutput)
	}
	text, err := io.ReadAll(io.NewSectionReader(f, from, lastOutput))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// openLog opens the log to add to it, and says where the next line will be. Logs
// name paths of keys and addresses: others need not read them.
func openLog(path string) (*os.File, int64, error) {
	if _, err := lookAt(path); err != nil {
		return nil, 0, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, fileMode)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm() != fileMode {
		err = f.Chmod(fileMode)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// withoutSettings is an environment without etcd's settings.
func withoutSettings(env []string) []string {
	return slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "ETCD_") && !slices.Contains(notFlags, name)
	})
}
