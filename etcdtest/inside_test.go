package etcdtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersionsAreOrdered(t *testing.T) {
	assert.True(t, slices.IsSortedFunc(Versions(), compareVersions))
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"3.5.9", "3.5.10", -1},
		{"3.6.0", "3.5.35", 1},
		{"3.8.0-alpha.0", "3.8.0", -1},
		{"3.8.0-alpha.0", "3.7.3", 1},
		{"3.8.0-alpha.0", "3.8.0-beta.0", -1},
		{"3.6.0", "3.6.0", 0},
	} {
		assert.Equal(t, tc.want, compareVersions(tc.a, tc.b), "%s, %s", tc.a, tc.b)
		assert.Equal(t, -tc.want, compareVersions(tc.b, tc.a), "%s, %s", tc.b, tc.a)
	}
	assert.Equal(t, 8, minor("3.8.0-alpha.0"))
}

func TestAnUnknownVersionNamesTheKnownOnes(t *testing.T) {
	for _, version := range []string{"3.6.99", "", "*", "3.6.*", "../servers/3.6.16"} {
		_, err := build(t.Context(), version)
		require.Error(t, err, version)
		for _, known := range Versions() {
			assert.ErrorContains(t, err, known)
		}
	}
}

func TestAProgramThatDoesNotCompileSaysWhere(t *testing.T) {
	_, err := recipe{version: "3.7.3", source: "package main\n\nfunc main() { return 1 }\n"}.build(t.Context())
	require.ErrorContains(t, err, "build program of etcd 3.7.3")
	assert.ErrorContains(t, err, "main.go:3")
}

func TestManyBuildersBuildOnceAndLeaveNothingElse(t *testing.T) {
	kept, err := exec.Command("go", "env", "GOCACHE", "GOPATH").Output()
	require.NoError(t, err)
	goCache, goPath, _ := strings.Cut(strings.TrimSpace(string(kept)), "\n")
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("HOME", home)       // where other systems keep caches
	t.Setenv("GOCACHE", goCache) // these would move along
	t.Setenv("GOPATH", goPath)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = build(ended, "3.7.3")
	require.ErrorIs(t, err, context.Canceled)

	var paths [4]string
	var errs [4]error
	var wg sync.WaitGroup
	for i := range paths {
		wg.Go(func() { paths[i], errs[i] = build(t.Context(), "3.7.3") })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	said, err := exec.Command(paths[0], "--version").Output()
	require.NoError(t, err)
	assert.Contains(t, string(said), "etcd Version: 3.7.3")
	dir := filepath.Dir(paths[0])
	left, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	var names []string
	for _, f := range left {
		names = append(names, f.Name())
	}
	assert.Equal(t, []string{filepath.Base(dir), filepath.Base(dir) + ".lock"}, names)
	for _, p := range paths {
		assert.Equal(t, paths[0], p)
	}
}

func TestTheTailIsBounded(t *testing.T) {
	var log tail
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50_000 {
				fmt.Fprintf(&log, "writer %d line %d\n", w, i)
			}
		})
	}
	wg.Wait()
	fmt.Fprintln(&log, "last but one")
	fmt.Fprintln(&log, "last")
	assert.LessOrEqual(t, len(log.String()), tailBytes)
	assert.LessOrEqual(t, cap(log.data), 4*tailBytes)
	assert.Equal(t, "last but one\nlast", log.lastLines(2))
	assert.Equal(t, 100, strings.Count(log.lastLines(100), "\n")+1)
}

func TestReservedPortsAreOursAlone(t *testing.T) {
	held := map[int]bool{}
	for range 50 {
		p, err := reservePorts("127.0.0.1")
		require.NoError(t, err)
		defer p.release()
		for i := range usablePorts {
			assert.False(t, held[p.first+i])
			held[p.first+i] = true
		}
		lis, err := net.Listen("tcp", p.addr(0))
		require.NoError(t, err, "free to listen on")
		lis.Close()
		_, err = tryPorts(p.host, p.first-1)
		assert.Error(t, err, "taken")
	}
}

func TestABlockWithAForeignPortIsPassedOver(t *testing.T) {
	p, err := reservePorts("127.0.0.1")
	require.NoError(t, err)
	lis, err := net.Listen("tcp", p.addr(2))
	require.NoError(t, err)
	defer lis.Close()
	p.release()
	_, err = tryPorts(p.host, p.first-1)
	assert.Error(t, err)
}

func TestAReportCountsByWriter(t *testing.T) {
	failed := errors.New("no answer")
	var r WriteReport
	r.add([]Write{
		{Begin: 0, End: 1 * time.Second},
		{Begin: 1 * time.Second, End: 3 * time.Second, Err: failed},
		{Begin: 3 * time.Second, End: 5 * time.Second},
	})
	r.add([]Write{
		{Begin: 0, End: 2 * time.Second},
		{Begin: 2 * time.Second, End: 5 * time.Second, Err: failed},
	})
	assert.Equal(t, WriteReport{Acknowledged: 3, Failed: 2, LongestStall: 4 * time.Second}, r)
}

func TestRaftIsToldByTheFirstRequest(t *testing.T) {
	for head, want := range map[string]struct{ raft, known bool }{
		"":                            {false, false},
		"GET /ra":                     {false, false},
		"POST /raf":                   {false, false},
		"GET /raft/stream/message/1 ": {true, true},
		"POST /raft HTTP/1.1":         {true, true},
		"GET /version":                {false, true},
		"GET /members":                {false, true},
		"PUT /raft":                   {false, true},
		"\x16\x03\x01":                {false, true},
	} {
		raft, known := carriesRaft([]byte(head))
		assert.Equal(t, want.raft, raft, "%q", head)
		assert.Equal(t, want.known, known, "%q", head)
	}
}

func TestPausesOfWhatWasHeldAreKeptUpToASecond(t *testing.T) {
	var p pauses
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	assert.Zero(t, p.before(at(0)), "nothing was held")
	assert.Zero(t, p.before(at(50)))
	p.thaw(at(5000)) // the one of 50 was held
	assert.Equal(t, 300*time.Millisecond, p.before(at(350)))
	assert.Equal(t, 700*time.Millisecond, p.before(at(4000)), "a second in all")
	assert.Zero(t, p.before(at(4900)))
	assert.Zero(t, p.before(at(6000)), "was not held")
	p.thaw(at(7000))
	assert.Equal(t, 500*time.Millisecond, p.before(at(6500)), "held again")
}

func TestSettingsThatCannotHoldAreRefused(t *testing.T) {
	for name, opts := range map[string][]ServerOption{
		"flags for an embedded server":     {WithArgs("--x")},
		"variables for an embedded server": {WithEnv("X=1")},
		"a scheme etcd has not":            {WithSchemes("https", "unix")},
		"no scheme":                        {WithSchemes("", "http")},
		"a host that is a name":            {WithHost("node-1.example")},
		"a host with brackets":             {WithHost("[::1]")},
		"configuration for a process":      {WithVersion("3.7.3"), WithConfig(nil)},
	} {
		_, err := defaults().with(opts)
		assert.Error(t, err, name)
	}
	process := defaults()
	process.version, process.args, process.fsync = "3.6.16", []string{"--max-learners=2"}, true
	same, err := process.with([]ServerOption{WithArgs("--more")})
	require.NoError(t, err)
	assert.Equal(t, []string{"--max-learners=2", "--more"}, same.args)
	assert.True(t, same.fsync)
	other, err := process.with([]ServerOption{WithVersion("3.5.35")})
	require.NoError(t, err)
	assert.Empty(t, other.args, "another version may not know the flag")
	_, err = process.with([]ServerOption{WithConfig(nil)})
	assert.ErrorContains(t, err, "embedded")
}

func TestServersGetNoProxyOfTheTestsEnvironment(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "https_proxy", "NO_PROXY", "ALL_PROXY", "ETCD_NAME"} {
		t.Setenv(name, "of-the-test")
	}
	t.Setenv("PROXY_OF_ANOTHER_KIND", "kept")
	env := strings.Join(serverEnv(), "\n")
	assert.NotContains(t, env, "of-the-test")
	assert.Contains(t, env, "PROXY_OF_ANOTHER_KIND=kept")

	s := Start(t, 1, WithVersion("3.7.3"), WithEnv("HTTP_PROXY=http://127.0.0.1:1", "X=1")).Servers()[0]
	assert.Equal(t, []string{"HTTP_PROXY=http://127.0.0.1:1", "X=1"}, s.run.(*process).cmd.Env[len(s.run.(*process).cmd.Env)-2:])
}

func TestNoProcessOutlivesItsTest(t *testing.T) {
	var pids []int
	var servers []*Server
	t.Run("a test", func(t *testing.T) {
		c := Start(t, 1, WithVersion("3.7.3"))
		joiner := c.NewServer("joiner")
		c.AddLearner(joiner)
		require.NoError(t, joiner.Start(c.InitialCluster(joiner)))
		joiner.Pause() // a stopped process must end too
		servers = append(c.Servers(), joiner)
		for _, s := range servers {
			pids = append(pids, s.run.(*process).cmd.Process.Pid)
		}
	})
	for i, pid := range pids {
		assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
		assert.NoDirExists(t, servers[i].Dir)
		assert.ErrorContains(t, servers[i].Start(""), "its test is over")
	}
}

// orphanEnv makes the test process the parent that TestNoProcessOutlivesAKilledTest kills.
const orphanEnv = "ETCDTEST_ORPHAN"

func TestNoProcessOutlivesAKilledTest(t *testing.T) {
	if os.Getenv(orphanEnv) != "" {
		s := Start(t, 1, WithVersion("3.7.3")).Servers()[0]
		fmt.Printf("pid %d\n", s.run.(*process).cmd.Process.Pid)
		time.Sleep(time.Minute) // killed before
		return
	}
	bin := Binary(t, "3.7.3")
	parent := exec.Command(os.Args[0], "-test.run=^TestNoProcessOutlivesAKilledTest$")
	parent.Env = append(os.Environ(), orphanEnv+"=1", "TMPDIR="+t.TempDir())
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), "pid "); ok {
			pid, err = strconv.Atoi(n)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, pid, "the child said no pid")
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	require.Eventually(t, func() bool { return !runs(pid, bin) }, 10*time.Second, 20*time.Millisecond)
}

// runs says whether pid is a live process of this binary: who reaps an orphan,
// and when, is not ours to say.
func runs(pid int, bin string) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && exe == bin
}
