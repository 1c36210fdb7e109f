package manifest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/member"
)

var _ = member.Config{Stop: (&Process{}).Stop, Exited: (&Process{}).Exited}

// newShell is a Process that runs scripts.
func newShell(t *testing.T) *Process {
	t.Helper()
	p := &Process{Program: "/bin/sh", Log: filepath.Join(t.TempDir(), "log"), EndWithParent: true}
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	return p
}

func (p *Process) script(t *testing.T, script string) {
	t.Helper()
	require.NoError(t, p.Start(t.Context(), "-c", script))
}

// logged waits until the child has said something.
func (p *Process) logged(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(read(t, p.Log), text) }, time.Minute, time.Millisecond)
}

// ended waits until the child has ended by itself.
func (p *Process) ended(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return !p.Running() }, time.Minute, time.Millisecond)
}

const forever = "echo ready; while :; do sleep 0.01; done"

func TestProcessOutlivesTheContextOfItsStart(t *testing.T) {
	p := newShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, p.Start(ctx, "-c", "trap 'echo ended; exit 0' TERM; "+forever))
	cancel()
	p.logged(t, "ready")
	assert.True(t, p.Running())
	assert.Nil(t, p.Exited(t.Context()))
	assert.Equal(t, fileMode, mode(t, p.Log))

	pid := p.child.Load().process.Pid
	require.NoError(t, p.Stop(t.Context()))
	assert.Contains(t, read(t, p.Log), "ended", "it was asked before it was killed")
	assert.Nil(t, p.Exited(t.Context()), "it did not end by itself")
	require.NoError(t, p.Stop(t.Context()), "once more")
	assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "neither it nor a zombie is left")

	require.ErrorIs(t, p.Start(ctx, "-c", forever), context.Canceled)
	assert.False(t, p.Running())
}

func TestProcessStartsOnce(t *testing.T) {
	p := newShell(t)
	p.script(t, forever)
	first := p.child.Load()
	p.script(t, forever)
	assert.Same(t, first, p.child.Load(), "the same again")
	p.script(t, forever+" # other")
	assert.False(t, first.running())
	assert.True(t, p.Running())

	second := p.child.Load()
	require.NoError(t, p.start(t.Context(), true, second.args))
	assert.False(t, second.running(), "a restart is one")
}

func TestProcessSaysHowItEnded(t *testing.T) {
	p := newShell(t)
	require.NoError(t, os.WriteFile(p.Log, []byte("of yesterday\n"), 0o644))
	for _, tc := range []struct {
		script, output string
		code           int
	}{
		{"echo it is removed", "it is removed", 0},
		{"echo no such flag >&2; exit 2", "no such flag", 2},
		{"echo killed; kill -9 $$", "killed", 137},
		{"head -c 100000 /dev/zero | tr '\\0' x; echo; echo end; exit 1", "end", 1},
	} {
		p.script(t, tc.script)
		p.ended(t)
		exit := p.Exited(t.Context())
		require.NotNil(t, exit)
		assert.Equal(t, tc.code, exit.Code)
		assert.LessOrEqual(t, len(exit.Output), lastOutput)
		assert.True(t, strings.HasSuffix(exit.Output, tc.output), exit.Output)
		assert.NotContains(t, exit.Output, "yesterday")
	}
	assert.Contains(t, read(t, p.Log), "yesterday")
	assert.Equal(t, fileMode, mode(t, p.Log))

	before := p.child.Load()
	p.script(t, "exit 3")
	p.ended(t)
	p.script(t, "exit 3")
	assert.NotSame(t, before, p.child.Load(), "one that has ended is started anew, the same or not")
	require.NoError(t, p.Stop(t.Context()))
	assert.Nil(t, p.Exited(t.Context()))
}

// A child that does not hear SIGTERM, or that is paused, ends all the same.
func TestProcessStopsWhatDoesNotListen(t *testing.T) {
	p := newShell(t)
	p.StopWithin = time.Millisecond
	p.script(t, "trap '' TERM; "+forever)
	p.logged(t, "ready")
	require.NoError(t, p.Stop(t.Context()))
	assert.False(t, p.Running())

	patient := newShell(t)
	patient.StopWithin = time.Hour
	patient.script(t, "trap '' TERM; "+forever)
	patient.logged(t, "ready")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.NoError(t, patient.Stop(ctx), "the end of the context is the end of patience")
	assert.False(t, patient.Running())

	patient.script(t, forever)
	require.NoError(t, patient.child.Load().process.Signal(syscall.SIGSTOP))
	require.NoError(t, patient.Stop(t.Context()))
}

func TestProcessOfManyCallers(t *testing.T) {
	p := newShell(t)
	p.StopWithin = time.Millisecond
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 5 {
				assert.NoError(t, p.Start(t.Context(), "-c", "exec sleep "+strconv.Itoa(1000+i*j)))
				p.Exited(t.Context())
				assert.NoError(t, p.Stop(t.Context()))
			}
		})
	}
	all.Wait()
	assert.False(t, p.Running())
	require.NoError(t, p.Stop(t.Context()))
}

func TestProcessThatCannotStart(t *testing.T) {
	p := newShell(t)
	p.Program = filepath.Join(t.TempDir(), "no-etcd")
	require.ErrorContains(t, p.Start(t.Context()), "no-etcd")
	assert.Nil(t, p.Exited(t.Context()))

	linked := newShell(t)
	link(t, touch(t, filepath.Join(t.TempDir(), "other")), linked.Log)
	require.ErrorIs(t, linked.Start(t.Context()), ErrLink)
}

// parentOf, in the environment, makes a run of this test a parent that ends.
const parentOf = "MANIFEST_TEST_PARENT_OF"

// A child outlives its parent, unless that wants it otherwise.
func TestProcessAndItsParent(t *testing.T) {
	if log := os.Getenv(parentOf); log != "" {
		p := &Process{Program: "/bin/sh", Log: log, EndWithParent: strings.HasSuffix(log, "end")}
		p.script(t, "echo $$; exec sleep 1000")
		p.logged(t, "\n")
		os.Exit(0)
	}
	for _, name := range []string{"end", "outlive"} {
		log := filepath.Join(t.TempDir(), name)
		parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcessAndItsParent$")
		parent.Env = append(os.Environ(), parentOf+"="+log)
		out, err := parent.CombinedOutput()
		require.NoError(t, err, "%s", out)
		pid, err := strconv.Atoi(strings.TrimSpace(read(t, log)))
		require.NoError(t, err)
		if name == "end" {
			require.Eventually(t, func() bool { return !alive(pid) }, time.Minute, time.Millisecond)
			continue
		}
		assert.True(t, alive(pid), "it went with its parent")
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// alive is false for a zombie that nobody has waited for yet.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// A variable of the parent's would be a setting of etcd's.
func TestProcessEnvironment(t *testing.T) {
	t.Setenv("ETCD_NAME", "the-parents")
	t.Setenv("ETCD_UNSUPPORTED_ARCH", "arm64")
	p := newShell(t)
	p.Env = []string{"ETCD_QUOTA=ours"}
	p.script(t, "env")
	p.ended(t)
	env := p.Exited(t.Context()).Output
	assert.NotContains(t, env, "ETCD_NAME")
	assert.Contains(t, env, "ETCD_UNSUPPORTED_ARCH=arm64")
	assert.Contains(t, env, "ETCD_QUOTA=ours")
}

// An etcd that an earlier run has left behind is no reason to start a second one on
// its data, nor ours to stop; if its file is as it should be, it is what was asked for.
func TestProcessHostFindsOneLeftBehind(t *testing.T) {
	spec := hookSpec(t)
	path := filepath.Join(t.TempDir(), "etcd.yaml")
	p := &Process{Program: "/bin/false"}
	config := spec.Process(path, p)

	db := spec.dataDir().database()
	require.NoError(t, os.MkdirAll(filepath.Dir(db), 0o700))
	release := lock(t, touch(t, db))
	require.ErrorIs(t, config.Start(t.Context(), startOf(twoMembers)), ErrInUse)
	require.ErrorIs(t, config.Start(t.Context(), startOf(twoMembers)), ErrInUse, "the restart is still due")
	require.ErrorIs(t, config.Stop(t.Context()), ErrInUse)
	release()
	require.NoError(t, config.Start(t.Context(), startOf(twoMembers)))
	require.Eventually(t, func() bool { return config.Exited(t.Context()) != nil }, time.Minute, time.Millisecond)
	assert.Equal(t, 1, config.Exited(t.Context()).Code)
	require.NoError(t, config.Stop(t.Context()))

	release = lock(t, db)
	require.NoError(t, config.Start(t.Context(), startOf(twoMembers)), "the file says the same")
	assert.False(t, p.Running())
	require.ErrorIs(t, config.Stop(t.Context()), ErrInUse)
	release()
	require.NoError(t, config.Stop(t.Context()))
}

// lock holds a file as a running etcd holds its database.
func lock(t *testing.T, path string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	return func() { assert.NoError(t, f.Close()) }
}
