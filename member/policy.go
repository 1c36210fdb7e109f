package member

import (
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// InputError is a wrong argument, refused before anything was asked or written:
// Field names it, Rule is what it breaks.
type InputError = reason.InputError

// Do is what an act does.
type Do = decide.Do

// The acts.
const (
	DoRefuse     = decide.DoRefuse
	DoProve      = decide.DoProve
	DoWait       = decide.DoWait
	DoAddLearner = decide.DoAddLearner
	DoAddVoter   = decide.DoAddVoter
	DoRemove     = decide.DoRemove
	DoUpdate     = decide.DoUpdate
	DoArchive    = decide.DoArchive
	DoStart      = decide.DoStart
	DoPromote    = decide.DoPromote
	DoMoveLeader = decide.DoMoveLeader
	DoDone       = decide.DoDone
)

// OnFailure is a policy for the entry of a join that failed. No policy removes a voter,
// an entry whose vote was asked for and is undecided, or one that somebody else added
// while the call was at it.
type OnFailure = decide.OnFailure

const (
	UndoUnstarted = decide.UndoUnstarted // remove what this call added and what never published itself
	Keep          = decide.Keep          // touch nothing; the next Join goes on from it
	Undo          = decide.Undo          // remove our learner, started or not; also one that was there before, once this call had it started
)

// SameName is a policy for another entry that has our name.
type SameName = decide.SameName

const (
	Refuse        = decide.Refuse        // refuse, naming it
	ReplaceIfDead = decide.ReplaceIfDead // remove it if it is dead and quorum allows
)

// Slot is a policy for a learner slot that another member holds.
type Slot = decide.Slot

const (
	SlotWait     = decide.SlotWait     // wait, and report the holder
	SlotFail     = decide.SlotFail     // refuse at once
	EvictStalled = decide.EvictStalled // remove a holder that never ran and is older than Config.EvictAfter
)

// Moment is a point of a join that Join can return at.
type Moment = decide.Moment

const (
	Serving  = decide.Serving  // the new voter answers clients
	Promoted = decide.Promoted // the member votes; its client port may be silent still
)

// Memory is what a joiner must remember from one Step to the next. It is plain
// data: an operator may keep it in its own object, or lose it. Without it nothing
// goes wrong; the clocks begin anew, and the Start hook is called once more.
type Memory = decide.Memory
