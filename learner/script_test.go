// The jitter of backoff/v4 comes from math/rand's global source. Only with this
// can that be seeded, so that a run can be repeated.
//
//go:debug randseednop=0

package learner_test

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/member"
)

var update = flag.Bool("update", false, "rewrite what the scripts in testdata come to")

// The scripts in testdata are stories: a comment in plain words, commands (those
// of script_commands_test.go), a line of dashes, and what they came to: the events
// of each process, the calls that change something, and the outcome.
// go test ./learner -run Scripts -update rewrites the latter; the diff is the review.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(files), 60)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			story, want, _ := strings.Cut(string(raw), "----\n")
			got, wrong := play(t, story)
			assert.Empty(t, wrong)
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(story+"----\n"+got), 0o600))
				return
			}
			assert.Equal(t, want, got)
		})
	}
}

// play runs a script in a bubble of its own. The bubble's end is a check, too: it
// panics if a goroutine of the script, or of the library, is left behind.
func play(t *testing.T, story string) (out string, wrong []string) {
	seed(1)
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t, began: time.Now(), then: map[string][]string{}, startedAs: map[string]cluster.ID{}}
		for line := range strings.Lines(story) {
			s.do(strings.TrimSpace(line))
		}
		out, wrong = s.out.String(), s.wrong
	})
	return out, wrong
}

func seed(n int64) {
	rand.Seed(n) //nolint:staticcheck // nothing else can reach the source that backoff/v4 uses
}

// script is a story while it is told.
type script struct {
	t         *testing.T
	out       strings.Builder
	wrong     []string // what holds for every story, and did not in this one
	began     time.Time
	cluster   *clustertest.Cluster
	process   *process              // that runs now
	then      map[string][]string   // by kind of event: what is to happen when it comes
	startedAs map[string]cluster.ID // by peer URL
	usurped   sync.Map              // the members in whose place another cluster's server answers
	calls     int                   // of the cluster, so many were told
	topics    map[member.Kind]string
	held      []member.Event // the last of those on a topic that was told already
}

// do is one line of a story.
func (s *script) do(line string) {
	f := strings.Fields(line)
	switch {
	case len(f) == 0 || f[0] == "#":
	case acts[f[0]] != nil:
		fmt.Fprintf(&s.out, "> %s\n", line)
		s.calls, s.topics = len(s.cluster.Calls()), map[member.Kind]string{}
		acts[f[0]](s, f[1:])
	case world[f[0]] != nil:
		world[f[0]](s, f[1:])
	default:
		s.t.Fatalf("no such command: %s", line)
	}
}

// tell writes a line of the outcome, under the time that has passed.
func (s *script) tell(format string, args ...any) {
	s.flush()
	s.out.WriteString(s.line(time.Now(), format, args...))
}

func (s *script) line(at time.Time, format string, args ...any) string {
	return fmt.Sprintf("%8.2fs  %s\n", at.Sub(s.began).Seconds(), rounded(fmt.Sprintf(format, args...)))
}

// event tells of an event. Of several of a kind on one topic, the first and the
// last are told.
func (s *script) event(e member.Event) {
	s.writes()
	s.held = slices.DeleteFunc(s.held, func(old member.Event) bool { return old.Kind == e.Kind })
	if topic := topicOf(e); topic != s.topics[e.Kind] {
		s.flush()
		s.topics[e.Kind] = topic
		s.out.WriteString(s.replay(e))
		return
	}
	s.held = append(s.held, e)
}

func (s *script) flush() {
	for _, e := range s.held {
		s.out.WriteString(s.replay(e))
	}
	s.held = nil
}

// replay is an event as text.
func (s *script) replay(e member.Event) string {
	text := string(e.Kind)
	if e.Member != nil {
		text += ": " + e.Member.String()
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return s.line(e.At, "%s", text)
}

func topicOf(e member.Event) string {
	about, _, _ := strings.Cut(numbers.ReplaceAllString(e.Text, ""), ",")
	return string(e.Kind) + about
}

var (
	numbers   = regexp.MustCompile(`[0-9.]+(ms|µs|s|m|h)?`)
	durations = regexp.MustCompile(`\b([0-9]+h)?([0-9]+m)?[0-9]+(\.[0-9]+)?(ms|µs|s)\b`)
)

// rounded cuts durations to what a reader wants to know.
func rounded(text string) string {
	return durations.ReplaceAllStringFunc(text, func(match string) string {
		d, err := time.ParseDuration(match)
		switch {
		case err != nil:
			return match
		case d >= 10*time.Second:
			return d.Round(time.Second).String()
		case d >= time.Second:
			return d.Round(100 * time.Millisecond).String()
		}
		return d.Round(time.Millisecond).String()
	})
}

// writes tells of the calls that change something and were made since it last did.
func (s *script) writes() {
	all := s.cluster.Calls()
	for _, c := range all[s.calls:] {
		if _, changes := kindOf[c.Op]; changes {
			s.flush()
			s.out.WriteString(s.line(c.When, "  call %s%s", c, s.process.spec(c)))
		}
	}
	s.calls = len(all)
}
