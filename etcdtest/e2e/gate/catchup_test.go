package gate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// calm is the longest that a write may stand still while a learner is let in, beside
// three times what it stood still on the same machine with nobody joining: promoted at
// the first moment that etcd allows, a million keys made it 3 to 6 seconds.
const calm = time.Second

// Small keys are received long before they are applied. Etcd's own test counts what
// was received.
func TestALearnerThatHasNotAppliedItsDataStallsNobody(t *testing.T) {
	keys := 150_000
	if kit.All() {
		keys = 1_000_000
	}
	during := func(c *etcdtest.Cluster, do func()) *etcdtest.Writers {
		w := c.WritersEvery(2, 2*time.Millisecond)
		time.Sleep(time.Second) // of writes before
		do()
		time.Sleep(time.Second) // and after
		return w
	}
	loaded := func(t *testing.T) *etcdtest.Cluster {
		c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
		c.PutSmall(keys)
		return c
	}
	t.Run("promoted through the gate", func(t *testing.T) {
		c := loaded(t)
		alone := kit.CheckWrites(t, during(c, func() {})).LongestStall
		gated := kit.CheckWrites(t, during(c, func() {
			_, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, c.NewServer("second"))
			require.NoError(t, err)
		})).LongestStall
		t.Logf("longest write stall: %s with nobody joining, %s with the gate", alone, gated)
		assert.Less(t, gated, calm+3*alone, "the gate spares the clients too little")
	})
	t.Run("for contrast, at the first moment the server allows", func(t *testing.T) {
		kit.NotInEveryRun(t)
		c := loaded(t)
		w := during(c, func() {
			s := c.NewServer("second")
			id := c.AddLearner(s)
			require.NoError(t, s.Start(c.InitialCluster(s)))
			c.Promote(id)
			require.NoError(t, s.WaitServing(kit.Within(t, 2*time.Minute)))
		})
		report, err := w.Check(kit.Within(t, time.Minute))
		t.Logf("writes: %+v (%v)", report, err)
	})
}

func TestAJoinerBySnapshotVotesBeforeItServes(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		load    bool
		opts    []etcdtest.Option
	}{
		"3.6, idle":             {version: "3.6.16"},
		"3.6, under load, mTLS": {version: "3.6.16", load: true, opts: []etcdtest.Option{etcdtest.WithTLS()}},
		"3.7, idle, mTLS":       {version: "3.7.3", opts: []etcdtest.Option{etcdtest.WithTLS()}},
		"3.7, under load":       {version: "3.7.3", load: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.Needs(t, tc.version)
			c := etcdtest.Start(t, 1, append(tc.opts, etcdtest.WithVersion(tc.version))...)
			c.PutIndex(6_000)
			s := c.NewServer("second")
			if tc.load {
				w := c.WritersEvery(2, 5*time.Millisecond)
				defer kit.CheckWrites(t, w)
			}
			r, err := kit.JoinLearner(t, kit.Within(t, 2*time.Minute), c, s)
			require.NoError(t, err)
			t.Logf("promoted %s after its start, serving %s after", r.Promoted.Sub(r.Started), r.Serving.Sub(r.Started))
			assert.False(t, r.Serving.Before(r.Promoted))
			assert.False(t, kit.MemberOf(t, c, s).IsLearner)
			require.NoError(t, s.WaitServing(kit.Within(t, 10*time.Second)), "it was reported as serving")
		})
	}
}

// Where the peer port may not be asked, nothing but the client port is left, and
// on an idle cluster that may stay silent for ever.
func TestTheNudgeFreesASilentPort(t *testing.T) {
	for _, version := range []string{"3.6.16", "3.7.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			kit.Needs(t, version)
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(version))
			c.PutIndex(6_000)
			s := c.NewServer("second")
			events := &kit.Recorder{}
			cfg := kit.Config(t, s)
			log := cfg.Observe
			cfg.Observe = func(e member.Event) { log(e); events.Observe(e) }
			client := cluster.NewClient(c.Client(), cluster.ClientConfig{SkipPeer: true})
			j, err := learner.NewJoiner(client, s.Name, cfg)
			require.NoError(t, err)
			r, err := j.Join(kit.Within(t, 2*time.Minute), s.PeerURL)
			require.NoError(t, err)
			assert.False(t, r.Member.Learner)
			t.Log("events:", events.Kinds())
		})
	}
}

// A snapshot on its way moves neither index nor size, and the name is in the list
// before any of it: the link is slow, but it always moves.
func TestASlowSnapshotIsNoStallAndANameIsNotCaughtUp(t *testing.T) {
	t.Parallel()
	c, s := slowLink(t)
	named := false
	r, err := kit.JoinLearner(t, kit.Within(t, 3*time.Minute), c, s, func(cfg *member.Config) {
		log := cfg.Observe
		cfg.StallTimeout, cfg.MetricsURL = 6*time.Second, s.MetricsURL
		cfg.Observe = func(e member.Event) {
			log(e)
			if e.Kind == member.Progressed && e.Member.Started() && e.Progress.Phase != cluster.InSync {
				named = true
			}
		}
	})
	require.NoError(t, err)
	assert.True(t, named, "its name was never seen in the list before its data")
	assert.Greater(t, r.Promoted.Sub(r.Started), 10*time.Second, "16 MiB at 1 MiB/s: it cannot have been caught up")
}

func TestASnapshotThatStopsIsAStallWithNumbers(t *testing.T) {
	t.Parallel()
	c, s := slowLink(t)
	_, err := kit.JoinLearner(t, kit.Within(t, 3*time.Minute), c, s, func(cfg *member.Config) {
		log := cfg.Observe
		cfg.StallTimeout, cfg.MetricsURL, cfg.OnFailure = 6*time.Second, s.MetricsURL, member.Undo
		cfg.Observe = func(e member.Event) {
			log(e)
			if e.Progress != nil && e.Progress.Receiving {
				c.Servers()[0].Link().Freeze()
				s.Link().Freeze()
			}
		}
	})
	require.ErrorIs(t, err, member.ErrStalled)
	var stall *cluster.StallError
	require.ErrorAs(t, err, &stall)
	assert.NotZero(t, stall.Progress.LeaderIndex)
	assert.GreaterOrEqual(t, stall.Progress.Still, 6*time.Second)
	assert.Nil(t, kit.MemberOf(t, c, s), "it was not undone")
	kit.TakesWrites(t, c)
}

func slowLink(t *testing.T) (*etcdtest.Cluster, *etcdtest.Server) {
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"), etcdtest.WithLinks(),
		etcdtest.WithArgs("--snapshot-count=200", "--snapshot-catchup-entries=100")) // the log does not reach back
	c.PutMiB(16)
	s := c.NewServer("slow")
	c.Servers()[0].Link().Throttle(1 << 20)
	s.Link().Throttle(1 << 20)
	return c, s
}
