package member

import "github.com/etcdjoin/etcdjoin/internal/reason"

// The reasons an operation ends for; find them with errors.Is. Those that are
// facts about a cluster are package cluster's.
var (
	ErrUnsupported   = reason.ErrUnsupported
	ErrSkew          = reason.ErrSkew
	ErrHazard        = reason.ErrHazard
	ErrNameTaken     = reason.ErrNameTaken
	ErrOtherName     = reason.ErrOtherName
	ErrBadURL        = reason.ErrBadURL
	ErrURLTaken      = reason.ErrURLTaken
	ErrURLInUse      = reason.ErrURLInUse
	ErrVoter         = reason.ErrVoter
	ErrOtherWay      = reason.ErrOtherWay
	ErrDataLost      = reason.ErrDataLost
	ErrDataDamaged   = reason.ErrDataDamaged
	ErrForeignData   = reason.ErrForeignData
	ErrRemoved       = reason.ErrRemoved
	ErrAddress       = reason.ErrAddress
	ErrDowngrading   = reason.ErrDowngrading
	ErrQuorumAtRisk  = reason.ErrQuorumAtRisk
	ErrSlotTaken     = reason.ErrSlotTaken
	ErrStalled       = reason.ErrStalled
	ErrNotLive       = reason.ErrNotLive
	ErrOneWay        = reason.ErrOneWay
	ErrCorrupt       = reason.ErrCorrupt
	ErrGone          = reason.ErrGone
	ErrUndecided     = reason.ErrUndecided
	ErrRoleDisagrees = reason.ErrRoleDisagrees
	ErrHook          = reason.ErrHook
	ErrNotShown      = reason.ErrNotShown
	ErrNotListed     = reason.ErrNotListed
	ErrNoVersion     = reason.ErrNoVersion
)

// Reason is a reason as a stable word, for conditions, metric labels and exit codes:
// "QuorumAtRisk" is that of [ErrQuorumAtRisk]. Beside those of the variables here and in
// package cluster there are BadInput (an [*InputError]), DeadlineExceeded, Canceled and
// Unknown. Its Retry says who can end it, its Hint what a person should do; docs/runbook.md
// begins with the table.
type Reason = reason.Word

// Retry says who can end a reason.
type Retry = reason.Retry

const (
	RetryAgain  = reason.Again  // it can heal by itself: worth an automatic retry
	RetryPerson = reason.Person // a person must mend something, or set a policy
	RetryCaller = reason.Caller // the calling program's own mistake
)

// ReasonOf is the reason of an error of this library, also of one that was read back
// from JSON; empty for nil.
func ReasonOf(err error) Reason { return reason.WordOf(err) }
