package member

import (
	"fmt"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// hookFailed is what a hook of the caller said. Its own reason counts, if it has one;
// else it is [ErrHook].
func hookFailed(err error, what string, args ...any) error {
	return reason.Within(reason.ErrHook, fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), err))
}
