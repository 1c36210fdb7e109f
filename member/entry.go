package member

import (
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// entry is our entry in the member list, as far as this call knows it.
type entry struct {
	id      cluster.ID // as last seen; 0: it has not been
	author  author     // who added it
	started bool       // Start was called for it
	given   string     // the initial cluster that start got
	starts  int        // how often it was called
	asked   bool       // a vote was asked for
	missed  time.Time  // since when it is not in the list; zero: it is, or nobody looked
}

// author says whether this call added an entry: only then it is ours to undo.
type author string

const (
	others  author = ""        // it was there, or there is none
	perhaps author = "perhaps" // an add was sent, and no list has shown an entry since
	us      author = "us"
)

// startedAs is the entry Start was called for, 0 if there is none.
func (e entry) startedAs() cluster.ID {
	if e.started {
		return e.id
	}
	return 0
}

// mine is the entry if this call added it, 0 else.
func (e entry) mine() cluster.ID {
	if e.author == us {
		return e.id
	}
	return 0
}

// slot is etcd's last "too many learners": how many there were, and when that was.
type slot struct {
	limit int
	at    time.Time
}

// askAgain is how long that answer holds: a slot may have been freed, or the limit
// raised, and no list shows either.
const askAgain = 30 * time.Second

func (s slot) known() int {
	if time.Since(s.at) >= askAgain {
		return 0
	}
	return s.limit
}

// removal is the remove that this call has sent last.
type removal struct {
	id cluster.ID // 0: nobody, or that was seen done
	at time.Time
}

// note takes up what a look has found of our entry. It asks nothing. An entry with
// another ID than ours has taken its place: what was known is of that one no more.
func (r *run) note(ours cluster.Seen) {
	if !r.greeted {
		r.emit(Event{Kind: Found, Member: &ours.Member})
	}
	r.greeted = true
	switch {
	case r.entry.id == ours.ID:
	case r.entry.author == perhaps:
		r.entry = entry{id: ours.ID, author: us}
		r.result.Added = time.Now()
		r.emit(Event{Kind: Added, Member: &ours.Member})
	default:
		r.forget()
		r.entry.id = ours.ID
	}
	r.entry.missed = time.Time{}
	if r.entry.asked && !ours.Learner && r.result.Promoted.IsZero() {
		r.result.Promoted = time.Now()
		r.emit(Event{Kind: GotVote, Member: &ours.Member})
	}
	if !ours.Learner {
		r.reached(StepServe)
	}
}

// missing is a list without our entry. It returns for how long that has been so.
func (r *run) missing() time.Duration {
	if r.entry.missed.IsZero() {
		r.entry.missed = time.Now()
	}
	if !r.greeted {
		r.emit(Event{Kind: Found, Text: "no member has our peer URL"})
	}
	r.greeted = true
	return time.Since(r.entry.missed)
}

// departed reports whether the member that this call removes is gone from the list.
func (r *run) departed(s cluster.Snapshot) (id cluster.ID, gone bool) {
	id = r.removal.id
	if _, listed := s.ByID(id); id == 0 || listed || s.NoQuorum {
		return 0, false
	}
	r.emit(Event{Kind: Removed, Text: "member " + id.String() + " is gone"})
	r.removal.id = 0
	return id, true
}

// forget drops what was known of our entry.
func (r *run) forget() {
	r.watch.stop()
	r.watch, r.entry = nil, entry{}
}
