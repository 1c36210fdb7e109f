package etcdtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// failing is a test that has failed, as far as it is asked.
type failing struct {
	testing.TB
	logged []string
}

func (f *failing) Failed() bool { return true }
func (f *failing) Logf(format string, a ...any) {
	f.logged = append(f.logged, fmt.Sprintf(format, a...))
}

func TestAFailedTestShowsTheLogs(t *testing.T) {
	for _, version := range []string{"", "3.7.3"} {
		f := &failing{}
		t.Run("etcd "+version, func(t *testing.T) {
			f.TB = t
			Start(f, 1, WithVersion(version))
		})
		require.Len(t, f.logged, 1)
		assert.Contains(t, f.logged[0], "voter-1")
		assert.Contains(t, f.logged[0], "ready to serve client requests")
		assert.LessOrEqual(t, strings.Count(f.logged[0], "\n"), shownLines+1)
	}
}

func TestAFailedTestShowsTheLogsOfTheServerConcernedOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		do     func(*Cluster, *Server)
		shows  string
		leaves string // out
	}{
		"the one that gave up": {func(c *Cluster, s *Server) {
			require.NoError(c.tb, s.StartArgs(c.InitialCluster(s), "--no-such-flag"))
			<-s.Exited()
			require.NoError(c.tb, c.NewServer("killed").Start(c.InitialCluster(s)))
			c.servers[2].Kill() // by the test, and after it
		}, "joiner", "voter-1, killed"},
		"the one that runs": {func(*Cluster, *Server) {}, "voter-1", ""},
		"the joiner": {func(c *Cluster, s *Server) {
			c.AddLearner(s)
			require.NoError(c.tb, s.Start(c.InitialCluster(s)))
			require.NoError(c.tb, s.WaitServing(c.tb.Context()))
		}, "joiner", "voter-1"},
	} {
		f := &failing{}
		t.Run(name, func(t *testing.T) {
			f.TB = t
			c := Start(f, 1, WithVersion("3.7.3"))
			tc.do(c, c.NewServer("joiner"))
		})
		require.NotEmpty(t, f.logged)
		assert.Contains(t, f.logged[0], "lines of "+tc.shows)
		if tc.leaves != "" {
			assert.Equal(t, "etcdtest: not shown: the logs of "+tc.leaves, f.logged[len(f.logged)-1])
		}
		assert.LessOrEqual(t, len(f.logged), 2)
	}
}
