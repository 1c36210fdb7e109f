package reason

import (
	"errors"
	"slices"
)

// Word is a reason as a stable word: for conditions, metric labels and exit codes.
type Word string

// Retry says who can end this reason.
func (w Word) Retry() Retry { return w.row().Retry }

// Hint is what a person should do where nothing more is known.
func (w Word) Hint() string { return w.row().Hint }

func (w Word) row() Row {
	if i := slices.IndexFunc(table, func(r Row) bool { return r.Word == w }); i >= 0 {
		return table[i]
	}
	if w == badInput.Word {
		return badInput
	}
	return unknown
}

// WordOf is the reason of an error, empty for nil. The outermost counts: it is what
// was decided, those behind it are how that was found. The end of a context is the
// reason only where there is no other.
func WordOf(err error) Word {
	if err == nil {
		return ""
	}
	return find(err).Word
}

// Hint is what a person should do about an error: what the error itself advises, else
// what the table says of its reason. It is empty for nil alone.
func Hint(err error) string {
	if err == nil {
		return ""
	}
	hint := ""
	walk(err, func(e error) bool {
		if advice, ok := e.(interface{ Advice() string }); ok {
			hint = advice.Advice()
		}
		return hint != ""
	})
	if hint != "" {
		return hint
	}
	return find(err).Hint
}

func find(err error) Row {
	found := unknown
	walk(err, func(e error) bool {
		row, ok := rowOf(e)
		if ok && !row.ended() {
			found = row
			return true
		}
		return false
	})
	for _, row := range table {
		if found.Err == nil && found.Word == unknown.Word && row.ended() && errors.Is(err, row.Err) {
			return row
		}
	}
	return found
}

// ended reports whether the row is a context's end.
func (r Row) ended() bool { return r.Err != nil && (r.Err == errDeadline || r.Err == errCanceled) } //nolint:errorlint // the rows themselves

// rowOf is the row of this very error, whatever it wraps.
func rowOf(err error) (Row, bool) {
	switch e := err.(type) { //nolint:errorlint // the chain is walked outside
	case *InputError:
		return badInput, true
	case *Told:
		return e.Reason.row(), true
	}
	same, _ := err.(interface{ Is(error) bool }) //nolint:errorlint // see above
	for _, row := range table {
		if err == row.Err || same != nil && same.Is(row.Err) { //nolint:errorlint // see above
			return row, true
		}
	}
	return Row{}, false
}

// walk visits err and all that it wraps, outermost first, until visit is content.
func walk(err error, visit func(error) bool) bool {
	if err == nil {
		return false
	}
	if visit(err) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // this is the unwrapping itself
	case interface{ Unwrap() error }:
		return walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(inner error) bool { return walk(inner, visit) })
	}
	return false
}

// Advise gives an error a hint of its own: one reason may have several causes.
func Advise(err error, hint string) error { return &advised{err, hint} }

type advised struct {
	error
	hint string
}

func (a *advised) Unwrap() error  { return a.error }
func (a *advised) Advice() string { return a.hint }
