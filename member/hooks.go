package member

import (
	"fmt"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// hookError is what a hook of the caller said. Its own reason counts, if it has one;
// else it is [ErrHook].
type hookError struct {
	what string
	err  error
}

func hookFailed(err error, what string, args ...any) error {
	return &hookError{fmt.Sprintf(what, args...), err}
}

func (e *hookError) Error() string   { return e.what + ": " + e.err.Error() }
func (e *hookError) Unwrap() []error { return []error{e.err, reason.ErrHook} }
