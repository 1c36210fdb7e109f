package refuse_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
)

// exitedHook tells how the server's process ended, and the end of its log: of a
// wrong flag etcd says so before it prints its usage.
func exitedHook(s *etcdtest.Server) func(context.Context) *cluster.ExitError {
	return func(context.Context) *cluster.ExitError {
		if code := s.ExitCode(); code >= 0 {
			log := s.Log()
			return &cluster.ExitError{Code: code, Output: log[max(0, len(log)-2000):]}
		}
		return nil
	}
}

func TestAStartThatFailsIsToldApartAndUndone(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	broken := errors.New("no disk left for the manifest")
	killed := func(s *etcdtest.Server, initial string) error {
		defer s.Kill()
		return s.Start(initial)
	}
	wrongFlag := func(s *etcdtest.Server, initial string) error {
		return s.StartArgs(initial, "--no-such-flag")
	}
	for _, tc := range []struct {
		name  string
		start func(s *etcdtest.Server, initial string) error
		tells bool // the host tells how the process ended
		check func(*testing.T, *member.JoinError)
	}{
		{"the hook fails", func(*etcdtest.Server, string) error { return broken }, true, func(t *testing.T, e *member.JoinError) {
			assert.ErrorIs(t, e, broken)
			assert.NotErrorIs(t, e, member.ErrNotLive)
			assert.Equal(t, member.StepStart, e.Step)
			assert.Contains(t, e.Error(), "the start hook failed")
		}},
		{"the hook starts nothing", func(*etcdtest.Server, string) error { return nil }, true, phaseIs(cluster.NotStarted)},
		{"the process dies at once", killed, true, exitedWith(137, "the server process ended with code 137")},
		{"it refuses to start", func(s *etcdtest.Server, _ string) error { return s.Start("elsewhere=http://127.0.0.1:1") }, true,
			exitedWith(1, "it refused to start")},
		{"a wrong flag", wrongFlag, true, exitedWith(2, "-no-such-flag")},
		{"it dies and nobody tells", killed, false, phaseIs(cluster.NotStarted)},
		{"its port stays silent", func(s *etcdtest.Server, _ string) error {
			kit.HungAt(t, s.PeerURL)
			return nil
		}, false, phaseIs(cluster.Unreachable)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := kit.Entries(t, c.Client())
			s := c.NewServer("failing")
			defer func() {
				if m := kit.MemberOf(t, c, s); m != nil { // or all that follow wait for the slot
					kit.Remove(t, c, cluster.ID(m.ID))
				}
			}()
			_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, func(cfg *member.Config) {
				cfg.StallTimeout = 3 * time.Second
				cfg.Start = func(_ context.Context, spec member.StartSpec) error { return tc.start(s, spec.InitialCluster) }
				if tc.tells {
					cfg.Exited = exitedHook(s)
				}
			})
			var e *member.JoinError
			require.ErrorAs(t, err, &e)
			t.Log(e)
			tc.check(t, e)
			assert.True(t, e.Changed)
			assert.NotZero(t, e.MemberID)
			assert.Contains(t, e.Undone, "the entry was removed")
			assert.Equal(t, before, kit.Entries(t, c.Client()), "the entry is still there")
			kit.TakesWrites(t, c)
		})
	}
	good := c.NewServer("good")
	_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, good)
	require.NoError(t, err)
	assert.Len(t, kit.Entries(t, c.Client()), 2)
}

func exitedWith(code int, says string) func(*testing.T, *member.JoinError) {
	return func(t *testing.T, e *member.JoinError) {
		t.Helper()
		var exit *cluster.ExitError
		require.ErrorAs(t, e, &exit)
		assert.Equal(t, code, exit.Code)
		assert.ErrorIs(t, e, member.ErrNotLive)
		assert.NotEmpty(t, e.Hint)
		assert.Contains(t, e.Error(), says)
	}
}

func phaseIs(phase cluster.Phase) func(*testing.T, *member.JoinError) {
	return func(t *testing.T, e *member.JoinError) {
		t.Helper()
		var stall *cluster.StallError
		require.ErrorAs(t, e, &stall)
		assert.Equal(t, phase, stall.Progress.Phase)
		assert.ErrorIs(t, e, member.ErrStalled)
		assert.ErrorIs(t, e, member.ErrNotLive)
		assert.NotEmpty(t, e.Hint)
		assert.Contains(t, e.Error(), string(phase))
		assert.Equal(t, member.StepCatchUp, e.Step)
	}
}

func TestAnEntryKeptAfterAFailedStartIsAdoptedByTheNextJoin(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	s := c.NewServer("kept")
	keep := func(c *member.Config) { c.OnFailure = member.Keep }
	_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, keep, func(cfg *member.Config) {
		cfg.Exited = exitedHook(s)
		cfg.Start = func(_ context.Context, spec member.StartSpec) error {
			return s.StartArgs(spec.InitialCluster, "--no-such-flag")
		}
	})
	var e *member.JoinError
	require.ErrorAs(t, err, &e)
	require.Equal(t, e.MemberID.String(), cluster.ID(kit.MemberOf(t, c, s).ID).String())
	assert.Empty(t, e.Undone)
	assert.False(t, strings.Contains(e.Error(), "not changed"))
	kit.TakesWrites(t, c)

	r, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, func(cfg *member.Config) {
		cfg.MayAdd = func(context.Context, cluster.Member) error { return errors.New("it was there already") }
	})
	require.NoError(t, err)
	assert.Equal(t, e.MemberID, r.Member.ID)
	assert.True(t, r.Added.IsZero())
	assert.False(t, r.Promoted.IsZero())
	assert.Len(t, kit.Entries(t, c.Client()), 2)
}
