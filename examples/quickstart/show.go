package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/etcdjoin/etcdjoin/member"
)

// A screen shows what happens, a line each, and on a terminal a bar below them
// while a member catches up.
type screen struct {
	terminal bool
	began    time.Time

	mu  sync.Mutex
	out io.Writer
	bar *mpb.Progress // nil: there is none
}

func newScreen(out io.Writer) *screen {
	file, ok := out.(*os.File)
	return &screen{out: out, began: time.Now(), terminal: ok && term.IsTerminal(int(file.Fd()))}
}

// say prints a line with its time.
func (s *screen) say(format string, args ...any) {
	s.print("%6.2fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// print prints as it is, above the bar if there is one.
func (s *screen) print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	if s.bar != nil {
		if _, err := io.WriteString(s.bar, text); err == nil {
			return
		}
	}
	_, _ = io.WriteString(s.out, text) // nowhere is left to say it
}

// A view shows one join.
type view struct {
	*screen
	joiner, leader *node
	bar            *mpb.Bar
	wait           *time.Timer // nil, or shows a wait unless it ends before
	waited         string      // what was waited for last
	votes          bool
}

// worthTelling is how long a wait must last to be shown. Most are over before
// anybody could read of them.
const worthTelling = 300 * time.Millisecond

func (s *screen) newView(joiner, leader *node) *view {
	return &view{screen: s, joiner: joiner, leader: leader}
}

// observe shows an event of the join, but for those that announce what the next
// one reports, the error, which Join returns too, and a warning that is true of
// every cluster on one machine.
func (v *view) observe(e member.Event) {
	if e.Kind == member.Warned && strings.Contains(e.Text, "the same host") {
		return
	}
	switch e.Kind {
	case member.Adding, member.Starting, member.Removing, member.Failed:
	case member.Waiting, member.Slotted:
		v.waits(e)
	case member.Progressed:
		v.progressed(e)
	default:
		v.happened(e)
	}
}

// waits shows once what is repeated all the time, such as that etcd refuses to
// add. While the learner catches up its progress says more.
func (v *view) waits(e member.Event) {
	learner := e.Member != nil && e.Member.Learner && e.Kind == member.Waiting
	text := fmt.Sprintf("%s: %s: %s", e.Name, e.Kind, e.Text)
	switch {
	case strings.Contains(e.Text, "unhealthy cluster"):
		text += " (it adds nobody until its voters have been connected for 5 s)"
	case v.votes:
		text = e.Name + ": waiting: for its client port, which etcd opens up to 7 s after a start with much data"
	}
	if text == v.waited || learner {
		return
	}
	v.waited = text
	v.endWait()
	v.wait = time.AfterFunc(worthTelling, func() { v.say("%s", text) })
}

func (v *view) endWait() {
	if v.wait != nil {
		v.wait.Stop()
	}
}

func (v *view) happened(e member.Event) {
	v.endWait()
	switch e.Kind {
	case member.Found:
		v.say("%s: found: a cluster of %d; %s", e.Name, e.Voters, e.Text)
	case member.Added:
		v.say("%s: added: %s", e.Name, e.Member)
	case member.Started:
		v.say("%s: started", e.Name)
		v.follow()
	case member.Promoting:
		v.unfollow()
		v.say("%s: caught up: %s; it gets its vote", e.Name, v.position())
	case member.GotVote:
		v.votes = true
		v.say("%s: promoted: one of %d voters", e.Name, e.Voters)
	case member.Served:
		v.say("%s: serving: %d of %d voters may fail", e.Name, e.Margin, e.Voters)
	case member.Undone:
		v.undone(e)
	default:
		v.say("%s: %s: %s", e.Name, e.Kind, e.Text)
	}
}

// undone tells what was left of a join that ended early: a vote is never taken
// back.
func (v *view) undone(e member.Event) {
	what := "undone"
	if v.votes {
		what = "kept"
	}
	v.say("%s: %s: %s", e.Name, what, e.Text)
}

// progressed is a line where no bar shows the same, and ends with the vote.
func (v *view) progressed(e member.Event) {
	if v.bar == nil && !v.votes {
		v.say("%s: catching up: %s", e.Name, v.position())
	}
}

// follow shows a bar until unfollow, on a terminal.
func (v *view) follow() {
	if !v.terminal || v.bar != nil {
		return
	}
	progress := mpb.New(mpb.WithOutput(v.out))
	v.bar = progress.AddBar(0,
		mpb.BarWidth(30),
		mpb.BarFillerMiddleware(v.fill),
		mpb.PrependDecorators(decor.Name(v.joiner.name)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + v.position().String() })),
		mpb.BarRemoveOnComplete())
	v.swap(progress)
}

// fill has the bar drawn to where the joiner is, so that nothing has to push it.
func (v *view) fill(base mpb.BarFiller) mpb.BarFiller {
	return mpb.BarFillerFunc(func(w io.Writer, st decor.Statistics) error {
		st.Total, st.Current = 1000, v.position().permille()
		return base.Fill(w, st)
	})
}

func (v *view) unfollow() {
	if v.bar == nil {
		return
	}
	v.bar.SetTotal(-1, true)
	v.swap(nil).Wait()
	v.bar = nil
}

func (v *view) close() {
	v.endWait()
	v.unfollow()
}

func (s *screen) swap(progress *mpb.Progress) *mpb.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.bar
	s.bar = progress
	return old
}

// position is how far the joiner is. An installer that is not in one process
// with the server gives the joiner its MetricsURL and finds the index in the
// events; of embedded servers the metrics are the whole process's.
func (v *view) position() position {
	return position{index: v.joiner.index(), leader: v.leader.index(), bytes: v.joiner.dbBytes(), of: v.leader.dbBytes()}
}

// position is how far a joiner is, in raft's entries and in what it has
// received of the leader's database.
type position struct {
	index, leader uint64
	bytes, of     int64
}

func (p position) lag() uint64 { return p.leader - min(p.leader, p.index) }

// String tells the bytes for as long as nothing is applied: then a snapshot is
// on its way.
func (p position) String() string {
	text := fmt.Sprintf("index %d of %d, lag %d", p.index, p.leader, p.lag())
	if p.index == 0 && p.of >= 1<<20 {
		text += fmt.Sprintf(", %.1f of %.1f MiB", float64(p.bytes)/(1<<20), float64(p.of)/(1<<20))
	}
	return text
}

// permille is the further of the two.
func (p position) permille() int64 {
	if p.leader == 0 || p.of == 0 {
		return 0
	}
	return min(1000, max(int64(1000*min(p.index, p.leader)/p.leader), 1000*p.bytes/p.of))
}
