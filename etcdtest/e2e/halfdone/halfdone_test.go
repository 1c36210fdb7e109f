package halfdone_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
)

// onDisk plugs the server's real data directory and process into the config.
func onDisk(s *etcdtest.Server) func(*member.Config) {
	return func(c *member.Config) {
		c.DataDir = manifest.DataDir{Dir: s.Dir}
		c.Stop = func(context.Context) error { s.Kill(); return nil }
		c.Exited = func(context.Context) *cluster.ExitError {
			if s.Running() || s.ExitCode() < 0 {
				return nil
			}
			return &cluster.ExitError{Code: s.ExitCode(), Output: s.Log()}
		}
	}
}

func rejoin(c *member.Config) { c.Rejoin = true }

// The states a join may find, made on real servers, and what becomes of them.
func TestHalfDoneStatesOnRealServers(t *testing.T) {
	type scene struct {
		c *etcdtest.Cluster
		s *etcdtest.Server // ours
	}
	joined := func(t *testing.T, w scene) uint64 {
		_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), w.c, w.s, onDisk(w.s))
		require.NoError(t, err)
		return kit.MemberOf(t, w.c, w.s).ID
	}
	for name, tc := range map[string]struct {
		voters int
		before func(*testing.T, scene) uint64 // makes the state; the ID that must be gone, if any
		policy func(*member.Config)
		err    error // instead of a join
		total  int   // members at the end
	}{
		"a voter that never ran becomes a learner": {voters: 3, total: 4,
			before: func(t *testing.T, w scene) uint64 { return w.c.AddVoter(w.s) }},
		"a learner whose disk is lost is refused": {voters: 1, total: 2, err: member.ErrDataLost,
			before: func(t *testing.T, w scene) uint64 { wipedLearner(t, w.c, w.s); return 0 }},
		"a learner whose disk is lost joins anew": {voters: 1, total: 2, policy: rejoin,
			before: func(t *testing.T, w scene) uint64 { return wipedLearner(t, w.c, w.s) }},
		"a voter whose disk is lost is refused": {voters: 3, total: 4, err: member.ErrDataLost,
			before: func(t *testing.T, w scene) uint64 { joined(t, w); w.s.Kill(); w.s.Wipe(); return 0 }},
		"a voter whose disk is lost joins anew": {voters: 3, total: 4, policy: rejoin,
			before: func(t *testing.T, w scene) uint64 { id := joined(t, w); w.s.Kill(); w.s.Wipe(); return id }},
		"the data of a removed member is refused": {voters: 1, total: 1, err: member.ErrRemoved,
			before: func(t *testing.T, w scene) uint64 { removedWithData(t, w.c, w.s, joined(t, w)); return 0 }},
		"the data of a removed member is moved aside": {voters: 1, total: 2, policy: rejoin,
			before: func(t *testing.T, w scene) uint64 {
				id := joined(t, w)
				removedWithData(t, w.c, w.s, id)
				return id
			}},
		"a voter that stopped is started again": {voters: 3, total: 4,
			before: func(t *testing.T, w scene) uint64 { joined(t, w); w.s.Kill(); return 0 }},
		"our learner runs under another name": {voters: 1, total: 2, err: member.ErrOtherName,
			policy: func(c *member.Config) { c.DataDir = nil }, // which would prove that it is ours
			before: func(t *testing.T, w scene) uint64 {
				w.c.AddLearner(w.s)
				w.s.Name = "else"
				require.NoError(t, w.s.Start(w.c.InitialCluster(w.s)))
				require.NoError(t, w.s.WaitServing(kit.Within(t, 30*time.Second)))
				w.s.Name = "ours"
				return 0
			}},
		"data that cannot be read is refused": {voters: 1, total: 1, err: member.ErrDataDamaged,
			before: func(t *testing.T, w scene) uint64 {
				wal := filepath.Join(w.s.Dir, "member", "wal")
				require.NoError(t, os.MkdirAll(wal, 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(wal, "0000000000000000-0000000000000000.wal"), []byte("no log at all, but long enough for one"), 0o600))
				return 0
			}},
		"the data of another cluster is refused": {voters: 1, total: 1, err: member.ErrForeignData,
			before: func(t *testing.T, w scene) uint64 {
				other := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
				_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), other, w.s)
				require.NoError(t, err)
				w.s.Kill()
				return 0
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, tc.voters, etcdtest.WithVersion("3.7.3"))
			w := scene{c, c.NewServer("ours")}
			gone := tc.before(t, w)
			time.Sleep(1100 * time.Millisecond) // an ID is a hash of the second too
			policy := tc.policy
			if policy == nil {
				policy = func(*member.Config) {}
			}
			r, err := kit.JoinLearner(t, kit.Within(t, 3*time.Minute), c, w.s, onDisk(w.s), policy) // half a minute proves a death
			require.ErrorIs(t, err, tc.err)
			list, lerr := c.Client().MemberList(kit.Within(t, 20*time.Second))
			require.NoError(t, lerr)
			assert.Len(t, list.Members, tc.total)
			if tc.err == nil {
				assert.Equal(t, tc.total, r.Voters)
				assert.NotEqual(t, cluster.ID(gone), r.Member.ID, "an old entry came back")
			}
			kit.TakesWrites(t, c)
		})
	}
}

func wipedLearner(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server) uint64 {
	id := c.AddLearner(s)
	require.NoError(t, s.Start(c.InitialCluster(s)))
	require.NoError(t, s.WaitServing(kit.Within(t, 30*time.Second)))
	s.Kill()
	s.Wipe()
	return id
}

func removedWithData(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server, id uint64) {
	require.NoError(t, member.Remove(kit.Within(t, time.Minute), kit.NewClient(c), cluster.ID(id), member.Config{}))
	s.Kill()
}

// A supervisor restarts a learner on a disk that is emptied each time. Its list of
// members on the peer port looks right for ever.
func TestALearnerThatPanicsOverItsLostLogIsReplaced(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	s := c.NewServer("ours")
	old := wipedLearner(t, c, s)
	// Nobody looks into the directory: only the process tells.
	blind := func(cfg *member.Config) { onDisk(s)(cfg); cfg.DataDir = nil }
	_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, blind)
	require.ErrorIs(t, err, member.ErrDataLost)

	s.Wipe()
	r, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, blind, rejoin, func(cfg *member.Config) {
		cfg.Stop = func(context.Context) error { s.Kill(); s.Wipe(); return nil } // a host that gives each start a new disk
	})
	require.NoError(t, err)
	assert.NotEqual(t, cluster.ID(old), r.Member.ID)
	kit.TakesWrites(t, c)
}

func TestADeadMemberOfOurNameIsReplacedWhereThatIsAllowed(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"))
	old, s := c.Servers()[2], c.NewServer("voter-3")
	require.Equal(t, old.Name, s.Name)
	replace := func(cfg *member.Config) { cfg.SameName = member.ReplaceIfDead }
	_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s, replace)
	kit.Unwritten(t, err, member.ErrNameTaken) // it lives

	old.Kill()
	r, err := kit.JoinLearner(t, kit.Within(t, 3*time.Minute), c, s, replace)
	require.NoError(t, err)
	assert.Equal(t, 3, r.Voters)
	assert.Equal(t, 1, r.Margin)
	assert.Nil(t, kit.MemberOf(t, c, old))
	kit.TakesWrites(t, c)
}

func TestAMemberWhoseAddressChangedKeepsItsData(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"))
	s := c.NewServer("ours")
	_, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s)
	require.NoError(t, err)
	id := kit.MemberOf(t, c, s).ID
	s.Kill()

	moved := c.NewServer("ours")
	moved.Dir = s.Dir
	_, err = kit.JoinLearner(t, kit.Within(t, time.Minute), c, moved, onDisk(moved))
	kit.Unwritten(t, err, member.ErrAddress)
	r, err := kit.JoinLearner(t, kit.Within(t, 3*time.Minute), c, moved, onDisk(moved), func(cfg *member.Config) { cfg.UpdateAddress = true })
	require.NoError(t, err)
	assert.Equal(t, cluster.ID(id), r.Member.ID)
	assert.Equal(t, 4, r.Voters)
	kit.TakesWrites(t, c)
}
