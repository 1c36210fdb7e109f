package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Holder is a learner that holds the slot.
type Holder struct {
	Member
	Lag  uint64        // entries behind the leader, where Known
	Seen time.Duration // for how long this call has seen it
	Lags bool          // whether Lag is known
}

// SlotError names who holds the learner slot.
type SlotError struct{ Holders []Holder }

func (e *SlotError) Error() string {
	var b strings.Builder
	b.WriteString(reason.ErrSlotTaken.Error())
	for _, h := range e.Holders {
		fmt.Fprintf(&b, ": %s, seen for %s", h.Member, h.Seen.Round(time.Millisecond))
		if h.Lags {
			fmt.Fprintf(&b, ", %d entries behind", h.Lag)
		}
	}
	return b.String()
}

// Is finds ErrSlotTaken.
func (e *SlotError) Is(target error) bool { return target == reason.ErrSlotTaken }
