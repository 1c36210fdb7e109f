package reason

import "errors"

// Told is an error as it is kept in JSON: its reason, its text, its hint. Read back,
// errors.Is and [WordOf] still find the reason.
type Told struct {
	Reason Word   `json:"reason"`
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

// Tell is err as it may be kept; nil for nil. It shows no password.
func Tell(err error) *Told {
	if err == nil {
		return nil
	}
	if told := (*Told)(nil); errors.As(err, &told) && error(told) == err { //nolint:errorlint // the same, not one behind it
		return told
	}
	return &Told{Reason: WordOf(err), Text: Shown(err.Error()), Hint: Hint(err)}
}

// Error is the text.
func (t *Told) Error() string { return t.Text }

// Is finds the reason it was told of.
func (t *Told) Is(target error) bool {
	row := t.Reason.row()
	return row.Err != nil && row.Err == target
} //nolint:errorlint // a sentinel

// Advice is its hint.
func (t *Told) Advice() string { return t.Hint }

// Err is the error behind, nil for nil: an interface that holds no nil pointer.
func (t *Told) Err() error {
	if t == nil {
		return nil
	}
	return t
}
