package member

import (
	"encoding/json"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Kind is what an event tells.
type Kind string

const (
	Found      Kind = "found"         // the cluster was read, our entry is as Member says
	Waiting    Kind = "waiting"       // nothing can be done now; Text says why
	Adding     Kind = "adding"        // an add is sent
	Added      Kind = "added"         // our entry is in the list
	Removing   Kind = "removing"      // a remove is sent
	Removed    Kind = "removed"       // an entry is gone from the list
	Updating   Kind = "updating"      // a change of our peer URLs is sent
	Moving     Kind = "moving leader" // leadership is moved away from a member to be removed
	Stopped    Kind = "stopped"       // the Stop hook returned
	Archived   Kind = "archived"      // the data directory was moved aside
	Starting   Kind = "starting"      // the Start hook is called
	Started    Kind = "started"       // the Start hook returned
	Progressed Kind = "progressed"    // Progress says how far
	Promoting  Kind = "promoting"     // the gate is open, the vote is asked for
	GotVote    Kind = "promoted"      // the list says voter
	Served     Kind = "serving"       // the new voter answers clients
	Slotted    Kind = "slot taken"    // Text names the holder
	NoMargin   Kind = "no margin"     // no voter may fail now
	OneWay     Kind = "one way"       // the others cannot dial the member; Text names its URLs
	Nudged     Kind = "nudged"        // an entry without state was committed to free a silent port
	Warned     Kind = "warning"       // Text says of what; the join goes on
	Undone     Kind = "undone"        // what this call did was undone
	Kept       Kind = "kept"          // the join failed, and its entry stays; Text says why
	UndoFailed Kind = "undo failed"   // Text says what is left
	Proving    Kind = "proving"       // a barrier is committed: Text says whose absence it is to show
	Undecided  Kind = "undecided"     // an add that was given up may still be done; Text says what to look at
	Failed     Kind = "failed"        // the join ends with Text
)

// Event is one thing that happened in a join. It holds no secret and is ready
// for JSON.
type Event struct {
	At       time.Time         `json:"at"`
	Kind     Kind              `json:"kind"`
	Verb     Verb              `json:"verb"`
	Step     Step              `json:"step"`
	PeerURL  string            `json:"peerURL"`
	Name     string            `json:"name"`
	Member   *cluster.Member   `json:"member,omitempty"` // whom it concerns
	Progress *cluster.Progress `json:"progress,omitempty"`
	Voters   int               `json:"voters,omitempty"`
	Margin   int               `json:"margin"`
	Text     string            `json:"text,omitempty"`
	// Err is what is waited for, or what the operation ended with; find the reason
	// with errors.Is or [ReasonOf]. In JSON it is its word, text and hint.
	Err error `json:"-"`
}

// MarshalJSON is the event for a log or a stream.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	return json.Marshal(struct {
		plain
		Err *reason.Told `json:"error,omitempty"`
	}{plain(e), reason.Tell(e.Err)})
}

// UnmarshalJSON reads what MarshalJSON writes; the reason is found as before.
func (e *Event) UnmarshalJSON(raw []byte) error {
	type plain Event
	var kept struct {
		*plain
		Err *reason.Told `json:"error"`
	}
	kept.plain = (*plain)(e)
	err := json.Unmarshal(raw, &kept)
	e.Err = kept.Err.Err()
	return err
}
