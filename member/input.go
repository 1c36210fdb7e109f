package member

import "fmt"

// InputError is a wrong argument, refused before anything was asked or written.
type InputError struct {
	Field string // the argument or knob
	Value string
	Rule  string // what it breaks
}

func (e *InputError) Error() string {
	return fmt.Sprintf("etcdjoin: %s %q %s", e.Field, e.Value, e.Rule)
}

func badInput(field, value, rule string) error {
	return &InputError{Field: field, Value: value, Rule: rule}
}
