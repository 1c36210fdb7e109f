package decide

import (
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// Memory is what a joiner must remember from one Step to the next. It is plain
// data: an operator may keep it in its own object, or lose it. Without it nothing
// goes wrong; the clocks begin anew, and the Start hook is called once more.
type Memory struct {
	Started   cluster.ID               `json:"started,omitempty"` // the entry Start was called for
	StartedAt time.Time                `json:"startedAt,omitzero"`
	Moved     time.Time                `json:"moved,omitzero"` // when its server last moved
	Phase     cluster.Phase            `json:"phase,omitempty"`
	Index     uint64                   `json:"index,omitempty"`
	DBSize    int64                    `json:"dbSize,omitempty"`
	Received  uint64                   `json:"received,omitempty"`
	Absent    map[cluster.ID]Absence   `json:"absent,omitempty"`    // whose absence was shown, at least once
	Ours      cluster.ID               `json:"ours,omitempty"`      // our entry, as last seen
	Removing  cluster.ID               `json:"removing,omitempty"`  // whom this joiner removes
	RemovedAt time.Time                `json:"removedAt,omitzero"`  // when it last did
	Answered  bool                     `json:"answered,omitempty"`  // a server said that this is done
	SlotLimit int                      `json:"slotLimit,omitempty"` // learners there were at etcd's last "too many"
	SlotAt    time.Time                `json:"slotAt,omitzero"`     // when that was
	Since     map[cluster.ID]time.Time `json:"since,omitempty"`     // when each member was first seen
	Looked    time.Time                `json:"looked,omitzero"`     // the last look at all
	// Silences are what is held against members that somebody would have removed.
	Silences map[cluster.ID]cluster.Silence `json:"silences,omitempty"`
	Voted    cluster.ID                     `json:"voted,omitempty"`   // the entry this joiner gave a vote
	Voteless time.Time                      `json:"voteless,omitzero"` // since when its own raft calls our voter a learner
}

// mostUnwatched is how much a time in which nobody looked counts for, at most. A clock
// that jumps, or an operator that was away, makes no entry older than it was seen to be.
const mostUnwatched = time.Minute

// Ages is when each member was first seen, as of now.
func (m Memory) Ages(now time.Time) map[cluster.ID]time.Time {
	gap := now.Sub(m.Looked)
	if m.Looked.IsZero() || gap <= mostUnwatched {
		return m.Since
	}
	since := map[cluster.ID]time.Time{}
	for id, at := range m.Since {
		since[id] = at.Add(gap - mostUnwatched)
	}
	return since
}
