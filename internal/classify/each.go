package classify

import (
	"errors"
	"strings"
)

// Each joins what several servers said to one question. It is as hopeless as the most
// hopeful of them: one bad certificate says nothing of a server that restarts.
func Each(errs ...error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return each(errs)
}

type each []error

func (e each) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "\n")
}

func (e each) Unwrap() []error { return e }

// hopeful is the answer that counts: one that can heal, else the first.
func (e each) hopeful() error {
	for _, err := range e {
		if Of(err) != Fatal {
			return err
		}
	}
	return e[0]
}

// counts is the part of err that its meaning depends on.
func counts(err error) error {
	var several each
	if errors.As(err, &several) {
		return several.hopeful()
	}
	return err
}
