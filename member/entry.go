package member

import (
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
)

// entry is our entry in the member list, as far as this call knows it.
type entry struct {
	id       cluster.ID // as last seen; 0: it has not been
	author   author     // who added it
	started  bool       // Start was called for it
	given    string     // the initial cluster that start got
	starts   int        // how often it was called
	asked    bool       // a vote was asked for
	voted    bool       // and that was answered with success
	voteless time.Time  // since when its own raft calls our voter a learner; zero: it does not
}

// author says who added an entry: only what this call has added is its own to undo.
type author string

const (
	nobody  author = ""        // there is none, or nobody knows
	adopted author = "adopted" // it was there when this call first looked
	others  author = "others"  // somebody else added it while this call was at it
	us      author = "us"      // its ID came as the answer to our add, or it came after one that nobody answered
)

// doubt is an add that was sent, and that no server has answered for good.
type doubt struct {
	open   bool
	via    cluster.Target
	on     cluster.Carrier
	voting bool
}

// startedAs is the entry Start was called for, 0 if there is none.
func (e entry) startedAs() cluster.ID {
	if e.started {
		return e.id
	}
	return 0
}

// own is what this call may undo. The policy Undo covers an entry that was there
// before as well, once this call has had it started.
func (r *run) own() (own decide.Own, any bool) {
	own = decide.Own{Doubt: r.doubt.open, On: r.doubt.on, Voting: r.doubt.voting, Asked: r.entry.asked}
	if r.entry.author == us || r.entry.author == adopted && r.entry.started && r.config.OnFailure == decide.Undo {
		own.ID, own.Doubt = r.entry.id, false
	}
	return own, own.ID != 0 || own.Doubt
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
	id       cluster.ID // 0: nobody, or that was seen done
	at       time.Time
	answered bool // by a server: it is done, or there is no such member
}

// note takes up what a look has found of our entry. It asks nothing. An entry with
// another ID than ours has taken its place: what was known is of that one no more.
func (r *run) note(ours cluster.Seen) {
	first := !r.greeted
	if first {
		r.emit(Event{Kind: Found, Member: &ours.Member})
	}
	r.greeted = true
	switch {
	case r.entry.id == ours.ID:
	case r.doubt.open:
		r.entry, r.doubt = entry{id: ours.ID, author: us}, doubt{}
	default:
		r.forget()
		r.entry = entry{id: ours.ID, author: others}
		if first {
			r.entry.author = adopted
		}
	}
	if r.entry.author == us && r.result.Added.IsZero() {
		r.result.Added = time.Now()
		r.emit(Event{Kind: Added, Member: &ours.Member})
	}
	if r.entry.asked && !ours.Learner && r.result.Promoted.IsZero() {
		r.result.Promoted = time.Now()
		r.emit(Event{Kind: GotVote, Member: &ours.Member})
	}
	if !ours.Learner {
		r.reached(StepServe)
	}
}

// missing is a list without our entry.
func (r *run) missing() {
	if !r.greeted {
		r.emit(Event{Kind: Found, Text: "no member has our peer URL"})
	}
	r.greeted = true
}

// departed reports whether the member that this call removes is gone: a server said so
// and the list agrees, or its absence was proven.
func (r *run) departed(s cluster.Snapshot) (id cluster.ID, gone bool) {
	id = r.removal.id
	if _, listed := s.ByID(id); id == 0 || listed || s.NoQuorum {
		return 0, false
	}
	if r.removal.answered {
		r.absent[id] = decide.Absence{Told: true}
	}
	if !r.absent[id].Proven() {
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
