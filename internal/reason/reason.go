package reason

import "fmt"

// Of wraps one of the reasons with its particulars.
func Of(why error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", why, fmt.Sprintf(format, args...))
}

// Because wraps one of the reasons and the error that shows it.
func Because(why, err error) error { return fmt.Errorf("%w: %w", why, err) }

// Within is err, whose words are enough, as one for that reason. A reason that err has
// itself goes before it.
func Within(why, err error) error { return &within{err, why} }

type within struct {
	error
	why error
}

func (w *within) Unwrap() []error { return []error{w.error, w.why} }
