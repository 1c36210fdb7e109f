package etcdtest

import (
	"slices"
	"strings"
	"syscall"
	"time"
)

// shownLines is how much of a server's log a failed test shows.
const shownLines = 40

// showLogs shows a failed test the end of the logs that matter: those of the
// servers that gave up by themselves, or else that of the one started last, which
// is the joiner wherever there is one. The whole of a log is [Server.Log]'s.
func (c *Cluster) showLogs(servers []*Server) {
	c.tb.Helper()
	if len(servers) == 0 {
		return
	}
	shown := concerned(servers)
	var others []string
	for _, s := range servers {
		switch {
		case s.lastStart().IsZero():
		case slices.Contains(shown, s):
			c.tb.Logf("etcdtest: the last log lines of %s (%s):\n%s", s.Name, s.describe(), s.log.lastLines(shownLines))
		default:
			others = append(others, s.Name)
		}
	}
	if len(others) > 0 {
		c.tb.Logf("etcdtest: not shown: the logs of %s", strings.Join(others, ", "))
	}
}

func concerned(servers []*Server) []*Server {
	if gaveUp := slices.DeleteFunc(slices.Clone(servers), func(s *Server) bool { return !s.gaveUp() }); len(gaveUp) > 0 {
		return gaveUp
	}
	return []*Server{slices.MaxFunc(servers, func(a, b *Server) int { return a.lastStart().Compare(b.lastStart()) })}
}

// gaveUp says whether the server ended by an error, and not by what tests do to it.
func (s *Server) gaveUp() bool {
	code, err := s.ending()
	return err != nil && code != 128+int(syscall.SIGKILL) && code != 128+int(syscall.SIGTERM)
}

// lastStart is when the server was started last, zero if it never was.
func (s *Server) lastStart() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}
