package faults_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
)

// childDiesAtCall is a call a joining process kills itself at, such as
// "add 1 before" or "list 2 after".
const childDiesAtCall = "ETCDJOIN_E2E_DIES_AT_CALL"

// mortal is a client whose process dies before or after one of its calls.
type mortal struct {
	cluster.Client
	dies string
	mu   sync.Mutex
	n    map[string]int
}

// die counts the call and ends the process where it was told to; what it returns
// is to be called when the call has returned.
func (m *mortal) die(op string) func() {
	m.mu.Lock()
	m.n[op]++
	call := fmt.Sprintf("%s %d", op, m.n[op])
	m.mu.Unlock()
	fmt.Println("call", call)
	end := func(when string) {
		if call+" "+when == m.dies {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	end("before")
	return func() { end("after") }
}

func (m *mortal) List(ctx context.Context, from ...cluster.Target) (cluster.List, error) {
	defer m.die("list")()
	return m.Client.List(ctx, from...)
}

func (m *mortal) ListAt(ctx context.Context, at cluster.Target) (cluster.List, error) {
	defer m.die("list-at")()
	return m.Client.ListAt(ctx, at)
}

func (m *mortal) Status(ctx context.Context, at cluster.Target) (cluster.Status, error) {
	defer m.die("status")()
	return m.Client.Status(ctx, at)
}

func (m *mortal) Read(ctx context.Context, through cluster.Target) (cluster.ReadAnswer, error) {
	defer m.die("read")()
	return m.Client.Read(ctx, through)
}

func (m *mortal) MayChange(ctx context.Context, via cluster.Target) error {
	defer m.die("may-change")()
	return m.Client.MayChange(ctx, via)
}

func (m *mortal) Add(ctx context.Context, via cluster.Target, urls []string, learner bool) (cluster.Member, error) {
	defer m.die("add")()
	return m.Client.Add(ctx, via, urls, learner)
}

func (m *mortal) Promote(ctx context.Context, via cluster.Target, id cluster.ID) error {
	defer m.die("promote")()
	return m.Client.Promote(ctx, via, id)
}

// The calls are taken from a recorded join. Each of them (the first four of a
// kind) is the last thing that a process does, or never does, and the next
// process finds its way.
func TestAJoinKilledAtAnyOfItsCallsConverges(t *testing.T) {
	good := etcdtest.Start(t, 1)
	recorded, err := dieAtCall(t, good, good.NewServer("second"), "none")
	require.NoError(t, err)
	require.Contains(t, recorded, "promote 1")
	for _, call := range recorded {
		if _, nth, _ := strings.Cut(call, " "); nth > "4" || len(nth) > 1 {
			continue
		}
		for _, when := range []string{"before", "after"} {
			t.Run(call+" "+when, func(t *testing.T) {
				t.Parallel()
				c := etcdtest.Start(t, 1)
				s := c.NewServer("second")
				calls, err := dieAtCall(t, c, s, call+" "+when)
				if err == nil {
					t.Logf("this run made no such call: %v", calls)
				}
				r, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s)
				require.NoError(t, err)
				assert.Equal(t, 2, r.Voters)
				voters, learners := kit.Roles(t, c)
				assert.Equal(t, 2, voters, "not exactly one member is ours")
				assert.Zero(t, learners)
				kit.TakesWrites(t, c)
			})
		}
	}
}

// dieAtCall runs a joining process that dies at a call, and returns those it made.
func dieAtCall(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server, dies string) ([]string, error) {
	t.Helper()
	var calls []string
	err := runChild(t, c, s, childDiesAtCall+"="+dies, func(line string) {
		if call, ok := strings.CutPrefix(line, "call "); ok {
			calls = append(calls, call)
		}
	})
	return calls, err
}
