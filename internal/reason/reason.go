package reason

import (
	"errors"
	"fmt"

	"github.com/etcdjoin/etcdjoin/version"
)

// The reasons a join ends for; find them with errors.Is.
var (
	ErrUnsupported   = version.ErrLearnerUnsupported
	ErrSkew          = version.ErrSkew
	ErrHazard        = version.ErrHazard
	ErrNameTaken     = errors.New("another member has this name")
	ErrOtherName     = errors.New("our member runs under another name")
	ErrBadURL        = errors.New("the server refuses the peer URL")
	ErrURLTaken      = errors.New("another member has this peer URL")
	ErrVoter         = errors.New("the member votes")
	ErrOtherWay      = errors.New("this member was added by the other strategy")
	ErrDataLost      = errors.New("the data of a started member is lost")
	ErrDataDamaged   = errors.New("the data directory is damaged")
	ErrForeignData   = errors.New("the data directory belongs to another cluster")
	ErrRemoved       = errors.New("the data directory belongs to a removed member")
	ErrAddress       = errors.New("our data belongs to a member with other peer URLs")
	ErrDiverged      = errors.New("the voters' member lists differ")
	ErrDowngrading   = errors.New("a downgrade of the cluster is under way")
	ErrQuorumAtRisk  = errors.New("quorum at risk")
	ErrNoQuorum      = errors.New("no quorum")
	ErrUnreachable   = errors.New("no endpoint answers")
	ErrSlotTaken     = errors.New("another learner holds the slot")
	ErrStalled       = errors.New("no movement")
	ErrNotLive       = errors.New("not live")
	ErrDenied        = errors.New("permission denied")
	ErrTLS           = errors.New("TLS refused")
	ErrCorrupt       = errors.New("CORRUPT alarm")
	ErrWrongCluster  = errors.New("another cluster answered")
	ErrGone          = errors.New("our member was removed by somebody else")
	ErrRoleDisagrees = errors.New("the list and the server disagree about the role")
)

// Of wraps one of the reasons with its particulars.
func Of(why error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", why, fmt.Sprintf(format, args...))
}

// Because wraps one of the reasons and the error that shows it.
func Because(why, err error) error { return fmt.Errorf("%w: %w", why, err) }
