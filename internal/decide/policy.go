package decide

import (
	"time"

	"github.com/etcdjoin/etcdjoin/version"
)

// Policy is what the caller wants, as plain values.
type Policy struct {
	ServerVersion  version.Version // of the joiner's server; zero: unknown
	OnFailure      OnFailure
	SameName       SameName
	Slot           Slot
	EvictAfter     time.Duration
	AcceptNoMargin bool
	AcceptHazards  []string
	UpdateAddress  bool
	Rejoin         bool
	ReadWithin     time.Duration
	StallTimeout   time.Duration
	ReturnAt       Moment
}

// OnFailure is a policy for the entry of a join that failed. No policy removes a voter,
// an entry whose vote was asked for and is undecided, or one that somebody else added
// while the call was at it.
type OnFailure string

const (
	UndoUnstarted OnFailure = ""     // remove what this call added and what never published itself
	Keep          OnFailure = "keep" // touch nothing; the next Join goes on from it
	Undo          OnFailure = "undo" // remove our learner, started or not; also one that was there before, once this call had it started
)

// SameName is a policy for another entry that has our name.
type SameName string

const (
	Refuse        SameName = ""                // refuse, naming it
	ReplaceIfDead SameName = "replace-if-dead" // remove it if it is dead and quorum allows
)

// Slot is a policy for a learner slot that another member holds.
type Slot string

const (
	SlotWait     Slot = ""              // wait, and report the holder
	SlotFail     Slot = "fail"          // refuse at once
	EvictStalled Slot = "evict-stalled" // remove a holder that never ran and is older than EvictAfter
)

// Moment is a point of a join that Join can return at.
type Moment string

const (
	Serving  Moment = ""         // the new voter answers clients
	Promoted Moment = "promoted" // the member votes; its client port may be silent still
)
