package learner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

const (
	a, b, c, d = "http://10.0.0.1:2380", "http://10.0.0.2:2380", "http://10.0.0.3:2380", "http://10.0.0.4:2380"
)

// join joins the server on host by the learner's way, as the process of an
// installer would: each call is a new process.
func join(ctx context.Context, fake *clustertest.Cluster, peerURL, name string, change ...func(*member.Config)) (member.Result, error) {
	host := fake.Host(peerURL)
	config := member.Config{Start: host.Start, Stop: host.Stop, DataDir: host, Rejoin: true}
	for _, f := range change {
		f(&config)
	}
	j, err := learner.NewJoiner(fake, name, config)
	if err != nil {
		return member.Result{}, err
	}
	return j.Join(ctx, peerURL)
}

// faults are what can happen to one call.
var faults = map[string]func(cancel func()) clustertest.Fault{
	"error before": func(func()) clustertest.Fault { return clustertest.Fault{Before: errors.New("connection refused")} },
	"error after":  func(func()) clustertest.Fault { return clustertest.Fault{After: errors.New("connection reset")} },
	"hang before":  func(func()) clustertest.Fault { return clustertest.Fault{Hang: true} },
	"hang after":   func(func()) clustertest.Fault { return clustertest.Fault{HangAfter: true} },
	"stale":        func(func()) clustertest.Fault { return clustertest.Fault{Stale: true} },
	"twice":        func(func()) clustertest.Fault { return clustertest.Fault{Duplicate: true} },
	"late":         func(func()) clustertest.Fault { return clustertest.Fault{Late: 12 * time.Second} },
	"late, on a lost connection": func(func()) clustertest.Fault {
		return clustertest.Fault{Late: 12 * time.Second, Reconnect: true}
	},
	"killed before": func(cancel func()) clustertest.Fault {
		return clustertest.Fault{OnCall: cancel, Hang: true}
	},
	"killed after": func(cancel func()) clustertest.Fault {
		return clustertest.Fault{OnDone: cancel, HangAfter: true}
	},
}

// The calls of a join that goes well are recorded, and each of them then goes
// wrong in each way. Whatever happens, the invariants hold, and the next Join
// converges.
func TestAnyFaultAtAnyCallIsSurvived(t *testing.T) {
	for _, voters := range [][]string{{a}, {a, b, c}} {
		counts := callsOfAGoodJoin(t, voters)
		for op, n := range counts {
			for nth := 1; nth <= min(n, 6); nth++ {
				for kind, fault := range faults {
					t.Run(fmt.Sprintf("%d voters/%s %d/%s", len(voters), op, nth, kind), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { faultAt(t, voters, op, nth, fault) })
					})
				}
			}
		}
	}
}

func callsOfAGoodJoin(t *testing.T, voters []string) map[clustertest.Op]int {
	counts := map[clustertest.Op]int{}
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New(voters...)
		_, err := join(t.Context(), fake, d, "new")
		require.NoError(t, err)
		for _, call := range fake.Calls() {
			counts[call.Op]++
		}
	})
	require.NotEmpty(t, counts)
	return counts
}

func faultAt(t *testing.T, voters []string, op clustertest.Op, nth int, fault func(func()) clustertest.Fault) {
	fake := clustertest.New(voters...)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	fake.Fault(op, nth, fault(cancel))
	r, err := join(ctx, fake, d, "new", func(c *member.Config) {
		if ctx.Err() != nil {
			c.OnFailure = member.Keep
		}
	})
	holds(t, fake)
	if err != nil {
		var join *member.JoinError
		require.ErrorAs(t, err, &join)
		if op == clustertest.OpStart {
			require.Equal(t, member.StepStart, join.Step, "a start hook that fails, or hangs for ever, ends the join")
		} else {
			require.ErrorIs(t, err, context.Canceled, "no single fault is final but the caller's death")
		}
	} else {
		assert.False(t, r.Member.Learner)
	}

	fake.ClearFaults()
	time.Sleep(15 * time.Second) // what was late arrives
	holds(t, fake)
	again, cancelAgain := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancelAgain()
	r, err = join(again, fake, d, "new")
	require.NoError(t, err, "the next Join does not converge")
	holds(t, fake)
	assert.Len(t, fake.Members(), len(voters)+1)
	assert.Equal(t, len(voters)+1, r.Voters)
}

// holds checks what must hold at any time.
func holds(t *testing.T, fake *clustertest.Cluster) {
	t.Helper()
	assert.False(t, fake.QuorumLost(), "the quorum was lost")
	assert.Empty(t, fake.VotesGivenToDead())
	ours := 0
	for _, m := range fake.Members() {
		if m.PeerURLs[0] == d {
			ours++
		}
	}
	assert.LessOrEqual(t, ours, 1, "more than one entry is ours")
	for id := cluster.ID(1); int(id) <= len(fake.LiveVoters()) && id <= 3; id++ {
		m, ok := fake.Member(id)
		assert.True(t, ok && !m.Learner, "a member of others was touched")
		if len(fake.Members()) <= 2 {
			break
		}
	}
}
