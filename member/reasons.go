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
	ErrCorrupt       = reason.ErrCorrupt
	ErrGone          = reason.ErrGone
	ErrRoleDisagrees = reason.ErrRoleDisagrees
)
