package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// asProgram has this test binary be the program, for the tests that send it
// signals or give it a terminal.
const asProgram = "QUICKSTART_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/etcdjoin/etcdjoin/etcdtest.init.func1.1"))
}

// program is this binary as the program, with a temporary directory of its own.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, tmp string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd, tmp = exec.CommandContext(ctx, os.Args[0], args...), t.TempDir()
	cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+tmp)
	return cmd, tmp
}

// outcome is what a run printed and how it ended.
type outcome struct {
	code        int
	out, errOut string
}

// runFor runs the program in this process. Its output passes through watch, which
// is called with each piece of it and may end the context as Ctrl-C would.
func runFor(t *testing.T, watch func(text string, interrupt func()), args ...string) outcome {
	t.Helper()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	var out, errOut bytes.Buffer
	code := run(ctx, args, watched{&out, func(text string) { watch(text, interrupt) }}, &errOut)
	t.Logf("exit code %d\n%s%s", code, out.String(), errOut.String())
	assertEmpty(t, tmp)
	return outcome{code, out.String(), errOut.String()}
}

func nothing(string, func()) {}

// assertEmpty is that the program left nothing in its temporary directory.
func assertEmpty(t *testing.T, tmp string) {
	t.Helper()
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	assert.Empty(t, left)
}

type watched struct {
	io.Writer
	seen func(string)
}

func (w watched) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.seen(string(b))
	return n, err
}

// interruptAt is a Ctrl-C as soon as a line about member-2 has the text. Events
// are shown on the joining goroutine, so the join has not gone on by then.
func interruptAt(text string) func(string, func()) {
	return func(line string, interrupt func()) {
		if strings.Contains(line, "member-2: "+text) {
			interrupt()
		}
	}
}

var lastLine = regexp.MustCompile(`\nwrites: [1-9]\d* acknowledged, 0 lost\n$`)

// row is a voter in the table: ID, name, role, peer URL, raft index, margin.
var row = regexp.MustCompile(`(?m)^[0-9a-f]+ +(member-\d) +voter +http://127\.0\.0\.1:\d+ +\d+ +(\d)$`)

// voters are the names in the table and the margin, which is the same for all.
func (o outcome) voters(t *testing.T) (names, margin string) {
	t.Helper()
	assert.NotContains(t, o.out, "learner http")
	for _, r := range row.FindAllStringSubmatch(o.out, -1) {
		names, margin = names+" "+r[1], r[2]
	}
	return strings.TrimSpace(names), margin
}

func TestJoinsTwoMembersUnderLoad(t *testing.T) {
	o := runFor(t, nothing)
	assert.Equal(t, exitDone, o.code)
	assert.Empty(t, o.errOut)
	assert.Regexp(t, lastLine, o.out)
	names, margin := o.voters(t)
	assert.Equal(t, "member-1 member-2 member-3", names)
	assert.Equal(t, "1", margin)
	for _, name := range []string{"member-2", "member-3"} {
		rest := o.out
		for _, event := range []string{"found: ", "added: learner ", "started", "catching up: index ", "caught up: ", "promoted: ", "serving: "} {
			_, after, ok := strings.Cut(rest, name+": "+event)
			require.True(t, ok, "%s is not %q, in this order", name, event)
			rest = after
		}
	}
	assert.NotContains(t, o.out, "\x1b", "escape sequences without a terminal")
}

func TestOneVoterNeedsNoJoin(t *testing.T) {
	o := runFor(t, nothing, "-voters", "1")
	assert.Equal(t, exitDone, o.code)
	assert.Regexp(t, lastLine, o.out)
	names, margin := o.voters(t)
	assert.Equal(t, "member-1", names)
	assert.Equal(t, "0", margin)
}

func TestRefusesWrongFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"no voter":          {[]string{"-voters=0"}, "-voters 0: a cluster has at least one member"},
		"negative voters":   {[]string{"-voters=-3"}, "-voters -3: a cluster has at least one member"},
		"too many voters":   {[]string{"-voters=8"}, "-voters 8: etcd advises against more than 7"},
		"voters, no":        {[]string{"-voters=many"}, `invalid value "many" for flag -voters`},
		"negative size":     {[]string{"-size=-1"}, "-size -1: must not be negative"},
		"size of a disk":    {[]string{"-size=1000000"}, "-size 1000000: at most 2048 MiB"},
		"unknown flag":      {[]string{"-learners=1"}, "flag provided but not defined: -learners"},
		"flag with no dash": {[]string{"voters=3"}, `"voters=3"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := runFor(t, nothing, tc.args...)
			assert.Equal(t, exitUsage, o.code)
			assert.Empty(t, o.out)
			assert.Contains(t, o.errOut, "quickstart: ")
			assert.Contains(t, o.errOut, tc.says)
		})
	}
}

func TestHelpIsNoError(t *testing.T) {
	o := runFor(t, nothing, "-h")
	assert.Equal(t, exitDone, o.code)
	assert.Contains(t, o.errOut, "-size")
	assert.Contains(t, o.errOut, "-voters")
}

func TestInterruptedJoinIsUndone(t *testing.T) {
	for _, at := range []string{"added", "started", "catching up"} {
		t.Run("when "+at, func(t *testing.T) {
			o := runFor(t, interruptAt(at), "-size=4")
			assert.Equal(t, exitInterrupted, o.code)
			assert.Empty(t, o.errOut)
			assert.Contains(t, o.out, "member-2: undone: the entry was removed")
			assert.Regexp(t, lastLine, o.out)
			names, margin := o.voters(t)
			assert.Equal(t, "member-1", names)
			assert.Equal(t, "0", margin)
		})
	}
}

func TestInterruptedBeforeTheAddAddsNobody(t *testing.T) {
	o := runFor(t, interruptAt("found"))
	assert.Equal(t, exitInterrupted, o.code)
	assert.NotContains(t, o.out, "member-2: added")
	assert.Regexp(t, lastLine, o.out)
	names, _ := o.voters(t)
	assert.Equal(t, "member-1", names)
}

func TestInterruptedPreload(t *testing.T) {
	o := runFor(t, func(line string, interrupt func()) {
		if strings.Contains(line, "preloading") {
			interrupt()
		}
	}, "-size=64")
	assert.Equal(t, exitInterrupted, o.code)
	assert.True(t, strings.HasSuffix(o.out, "\nwrites: 0 acknowledged, 0 lost\n"))
	names, _ := o.voters(t)
	assert.Equal(t, "member-1", names)
}

// A vote is never taken back: the new voter stays, and the cluster is whole.
func TestInterruptedAfterTheVoteKeepsTheVoter(t *testing.T) {
	o := runFor(t, interruptAt("promoted"))
	assert.Equal(t, exitInterrupted, o.code)
	assert.Contains(t, o.out, "member-2: kept: voter ")
	assert.Regexp(t, lastLine, o.out)
	names, margin := o.voters(t)
	assert.Equal(t, "member-1 member-2", names)
	assert.Equal(t, "0", margin)
}

func TestOneSignalUndoes(t *testing.T) {
	cmd, tmp := program(t, "-size=16")
	out, wait := signalAt(t, cmd, "member-2: added", os.Interrupt)
	assert.Equal(t, exitInterrupted, wait())
	assert.Contains(t, out(), "interrupted: a join in flight is undone")
	assert.Contains(t, out(), "member-2: undone: the entry was removed")
	assert.Regexp(t, lastLine, out())
	names, _ := outcome{out: out()}.voters(t)
	assert.Equal(t, "member-1", names)
	assertEmpty(t, tmp)
}

func TestTwoSignalsEndAtOnce(t *testing.T) {
	cmd, tmp := program(t, "-size=16")
	// Two different ones, for the kernel may make one of two that are the same.
	out, wait := signalAt(t, cmd, "member-1: preloading", os.Interrupt, syscall.SIGTERM)
	began := time.Now()
	assert.Equal(t, exitInterrupted, wait())
	assert.Less(t, time.Since(began), 20*time.Second)
	assert.NotContains(t, out(), "writes: ")
	assertEmpty(t, tmp)
}

// signalAt starts cmd and sends it the signals when it has printed text.
func signalAt(t *testing.T, cmd *exec.Cmd, text string, signals ...os.Signal) (out func() string, wait func() int) {
	t.Helper()
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	var all strings.Builder
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), text) {
			break
		}
	}
	for _, s := range signals {
		require.NoError(t, cmd.Process.Signal(s))
	}
	return all.String, func() int {
		for lines.Scan() {
			all.WriteString(lines.Text() + "\n")
		}
		_ = cmd.Wait() // the exit code says it
		t.Logf("exit code %d\n%s", cmd.ProcessState.ExitCode(), all.String())
		return cmd.ProcessState.ExitCode()
	}
}

func TestShowsABarOnATerminal(t *testing.T) {
	cmd, tmp := program(t, "-voters=2", "-size=16")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	require.NoError(t, err)
	defer terminal.Close()
	var out bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(&out, terminal) }) // ends with an error when the program does
	require.NoError(t, cmd.Wait())
	wg.Wait()
	assert.Regexp(t, `member-2 \[=*>?-*\]  index \d+ of \d+, lag \d+`, out.String())
	assert.NotContains(t, out.String(), "catching up: ")
	assert.Contains(t, out.String(), "member-1: preloaded 16 MiB")
	assertEmpty(t, tmp)
	assert.Regexp(t, lastLine, strings.ReplaceAll(out.String(), "\r\n", "\n"))
}
