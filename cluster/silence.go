package cluster

import (
	"fmt"
	"time"
)

const (
	// DeadAfter is how long a member must have been silent to be called dead, or not
	// running: two dozen times what a heartbeat's answer takes, even where
	// --heartbeat-interval is a second.
	DeadAfter = 30 * time.Second
	// UnseenAfter is how long a member must be listed without a sign of life, where
	// its own host's directory is not ours to look into. It may be on its way: an
	// image is pulled, a machine boots.
	UnseenAfter = 15 * time.Minute
	// longestGap is how far apart two looks may be for one unbroken silence.
	longestGap = 5 * time.Second
	// fewestLooks is how often a member that never ran must have been looked for.
	fewestLooks = 3
)

// Silence is what is held against a member that does not answer us, kept from one look
// to the next. That it does not answer us is nothing: a firewall on our way does that.
// What counts is the leader's word, and of that one thing alone, the bytes that came
// from the member. A voter that lives answers each heartbeat; one that nobody can dial
// does so over connections of its own, while every other voter calls it disconnected
// and every write needs its vote (etcd_network_active_peers was 0 for 36 s, and a
// write that waited for that member took 7 ms). A follower hears little of another
// follower, so its byte counts say nothing; nor does a metric that cannot be read.
type Silence struct {
	Began  time.Time `json:"began,omitzero"`  // the first look
	Since  time.Time `json:"since,omitzero"`  // of an unbroken silence, looks at most five seconds apart; zero: there is none
	Still  time.Time `json:"still,omitzero"`  // since when that leader has received nothing, however far apart the looks
	Newest time.Time `json:"newest,omitzero"` // the last look that could listen
	Looks  int       `json:"looks,omitempty"` // in Still
	Leader ID        `json:"leader,omitempty"`
	Term   uint64    `json:"term,omitempty"`
	Bytes  uint64    `json:"bytes,omitempty"` // that this leader has received from the member
	Sign   string    `json:"sign,omitempty"`  // what the newest look has heard of the member; empty: nothing
	Deaf   string    `json:"deaf,omitempty"`  // why the newest look could not listen; empty: it could
}

// Listening is what one look has heard of a silent member.
type Listening struct {
	At     time.Time
	Leader ID     // who commits: a linearizable list was answered in this look
	Term   uint64 // of its leadership: with another, its counts begin anew
	Bytes  uint64 // that it has received from the member in all; without a series none
	Sign   string // that the member, or anybody in its place, has answered; empty: nobody
	Deaf   string // why the leader's word cannot be had; empty: it can
}

// Hear is the silence after one more look. Any answer, and any byte that the leader has
// received, ends it; so does another leader, whose count tells nothing of before. A look
// that could not listen ends nothing, but those around it must be near enough.
func (s Silence) Hear(l Listening) Silence {
	if s.Began.IsZero() || l.At.Before(s.Newest) { // a clock that went back
		s = Silence{Began: l.At}
	}
	switch s.Deaf = l.Deaf; {
	case s.Deaf != "" && l.Sign == "":
		return s
	case s.Deaf != "":
		l.Leader = 0 // its count is not known
	}
	known := s.Leader == l.Leader && s.Term == l.Term && !s.Newest.IsZero()
	gap := l.At.Sub(s.Newest)
	s.Sign = l.Sign
	if s.Sign == "" && known && l.Bytes != s.Bytes {
		s.Sign = fmt.Sprintf("the leader %s has heard from it within %s", l.Leader, gap.Round(time.Millisecond))
	}
	s.Newest, s.Leader, s.Term, s.Bytes = l.At, l.Leader, l.Term, l.Bytes
	switch {
	case s.Sign != "":
		s.Since, s.Still, s.Looks = time.Time{}, time.Time{}, 0
		return s
	case !known || s.Still.IsZero():
		s.Since, s.Still, s.Looks = l.At, l.At, 0
	case gap > longestGap:
		s.Since = l.At
	}
	s.Looks++
	return s
}

// Unbroken is for how long the silence has lasted at a moment, looks at most five
// seconds apart.
func (s Silence) Unbroken(at time.Time) time.Duration {
	if s.Since.IsZero() || at.Sub(s.Newest) > longestGap {
		return 0
	}
	return s.Newest.Sub(s.Since)
}

// Unheard reports whether nothing can be learned: half a minute of looks has not once
// had the leader's word.
func (s Silence) Unheard(at time.Time) bool {
	return s.Deaf != "" && at.Sub(s.Began) >= DeadAfter && (s.Newest.IsZero() || at.Sub(s.Newest) >= DeadAfter)
}

// Dead reports whether m is known to be dead: the host says so, or for half a minute
// without a break one and the same leader has committed without a byte from it, and
// nobody has answered in its place. A leader is not dead.
func (s Snapshot) Dead(m Seen) bool {
	if m.Liveness != Unknown {
		return m.Liveness == Dead
	}
	q := m.Silence
	return !s.NoQuorum && q.Leader == s.Leader && q.Leader != m.ID && q.Unbroken(s.At) >= DeadAfter
}

// NotRunning reports whether m, which has never published itself, is known not to run
// either. An empty name alone says little: a publish waits behind the snapshot on a slow
// link. With hostSeen its own host's directory was looked into and does not hold its
// data; else it must have been unseen for much longer.
func (s Snapshot) NotRunning(m Seen, hostSeen bool) bool {
	if m.Liveness != Unknown {
		return m.Liveness == Dead
	}
	q := m.Silence
	still := !m.Started() && !s.NoQuorum && q.Leader == s.Leader && !q.Still.IsZero() &&
		s.At.Sub(q.Newest) <= longestGap && q.Newest.Sub(q.Still) >= DeadAfter
	return still && (hostSeen || s.At.Sub(m.Since) >= UnseenAfter && q.Looks >= fewestLooks)
}

// SilenceError is a wait for the proof that a member is dead, or does not run.
type SilenceError struct {
	Why    error // what waits for it
	Member Member
	For    time.Duration // the silence so far
	Needs  time.Duration // in all
}

func (e *SilenceError) Error() string {
	return fmt.Sprintf("%v: it has been silent for %s, and %s are a proof", e.Why, e.For.Round(time.Millisecond), e.Needs)
}

func (e *SilenceError) Unwrap() error { return e.Why }
