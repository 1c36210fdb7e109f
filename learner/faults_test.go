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

	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/member/membertest"
)

const (
	a, b, c, d = "http://10.0.0.1:2380", "http://10.0.0.2:2380", "http://10.0.0.3:2380", "http://10.0.0.4:2380"
)

// join joins the server on host by the learner's way, as the process of an
// installer would: each call is a new process.
func join(ctx context.Context, cluster *membertest.Cluster, peerURL, name string, change ...func(*member.Config)) (member.Result, error) {
	host := cluster.Host(peerURL)
	config := member.Config{Start: host.Start, Stop: host.Stop, DataDir: host, Rejoin: true}
	for _, f := range change {
		f(&config)
	}
	j, err := learner.NewJoiner(cluster, name, config)
	if err != nil {
		return member.Result{}, err
	}
	return j.Join(ctx, peerURL)
}

// faults are what can happen to one call.
var faults = map[string]func(cancel func()) membertest.Fault{
	"error before": func(func()) membertest.Fault { return membertest.Fault{Before: errors.New("connection refused")} },
	"error after":  func(func()) membertest.Fault { return membertest.Fault{After: errors.New("connection reset")} },
	"hang before":  func(func()) membertest.Fault { return membertest.Fault{Hang: true} },
	"hang after":   func(func()) membertest.Fault { return membertest.Fault{HangAfter: true} },
	"stale":        func(func()) membertest.Fault { return membertest.Fault{Stale: true} },
	"twice":        func(func()) membertest.Fault { return membertest.Fault{Duplicate: true} },
	"late":         func(func()) membertest.Fault { return membertest.Fault{Late: 12 * time.Second} },
	"killed before": func(cancel func()) membertest.Fault {
		return membertest.Fault{OnCall: cancel, Hang: true}
	},
	"killed after": func(cancel func()) membertest.Fault {
		return membertest.Fault{OnDone: cancel, HangAfter: true}
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

func callsOfAGoodJoin(t *testing.T, voters []string) map[membertest.Op]int {
	counts := map[membertest.Op]int{}
	synctest.Test(t, func(t *testing.T) {
		cluster := membertest.New(voters...)
		_, err := join(t.Context(), cluster, d, "new")
		require.NoError(t, err)
		for _, call := range cluster.Calls() {
			counts[call.Op]++
		}
	})
	require.NotEmpty(t, counts)
	return counts
}

func faultAt(t *testing.T, voters []string, op membertest.Op, nth int, fault func(func()) membertest.Fault) {
	cluster := membertest.New(voters...)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cluster.Fault(op, nth, fault(cancel))
	r, err := join(ctx, cluster, d, "new", func(c *member.Config) {
		if ctx.Err() != nil {
			c.OnFailure = member.Keep
		}
	})
	holds(t, cluster)
	if err != nil {
		var join *member.JoinError
		require.ErrorAs(t, err, &join)
		if op == membertest.OpStart {
			require.Equal(t, member.StepStart, join.Step, "a start hook that fails, or hangs for ever, ends the join")
		} else {
			require.ErrorIs(t, err, context.Canceled, "no single fault is final but the caller's death")
		}
	} else {
		assert.False(t, r.Member.Learner)
	}

	cluster.ClearFaults()
	time.Sleep(15 * time.Second) // what was late arrives
	holds(t, cluster)
	again, cancelAgain := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancelAgain()
	r, err = join(again, cluster, d, "new")
	require.NoError(t, err, "the next Join does not converge")
	holds(t, cluster)
	assert.Len(t, cluster.Members(), len(voters)+1)
	assert.Equal(t, len(voters)+1, r.Voters)
}

// holds checks what must hold at any time.
func holds(t *testing.T, cluster *membertest.Cluster) {
	t.Helper()
	assert.False(t, cluster.QuorumLost(), "the quorum was lost")
	assert.Empty(t, cluster.VotesGivenToDead())
	ours := 0
	for _, m := range cluster.Members() {
		if m.PeerURLs[0] == d {
			ours++
		}
	}
	assert.LessOrEqual(t, ours, 1, "more than one entry is ours")
	for id := member.ID(1); int(id) <= len(cluster.LiveVoters()) && id <= 3; id++ {
		m, ok := cluster.Member(id)
		assert.True(t, ok && !m.Learner, "a member of others was touched")
		if len(cluster.Members()) <= 2 {
			break
		}
	}
}
