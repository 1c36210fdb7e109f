package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// What is wrong with a setting or a version; find them with [errors.Is].
var (
	// ErrUnsupported: the etcd that will run cannot be told this setting, or not
	// in this form.
	ErrUnsupported = errors.New("not supported by this etcd version")
	// ErrUnknownVersion: no table here knows this etcd version. [Spec.TreatAs]
	// says which known one to take instead.
	ErrUnknownVersion = errors.New("unknown etcd version")
	// ErrShell: the container starts etcd through a shell, whose words only the
	// shell can split.
	ErrShell = errors.New("etcd is started through a shell")
)

// A FieldError is one fault of a [Spec]: the field, named as in Go, and the rule
// it breaks.
type FieldError struct {
	Field string // "ListenPeerURLs[0]", `Settings["max-learners"]`
	Rule  string
	Err   error // what there is for errors.Is, or nil
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Rule }

// Unwrap is e.Err.
func (e *FieldError) Unwrap() error { return e.Err }

// Faults are all faults of a [Spec] at once, in the order of its fields.
type Faults []*FieldError

func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i, fault := range f {
		texts[i] = fault.Error()
	}
	return "manifest: " + strings.Join(texts, "; ")
}

// Unwrap lets [errors.Is] and [errors.As] look into each fault.
func (f Faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i, fault := range f {
		errs[i] = fault
	}
	return errs
}

// add notes a fault; rule and args are as for [fmt.Sprintf].
func (f *Faults) add(field, rule string, args ...any) {
	*f = append(*f, &FieldError{Field: field, Rule: fmt.Sprintf(rule, args...)})
}

// addErr is add with something for [errors.Is].
func (f *Faults) addErr(err error, field, rule string, args ...any) {
	*f = append(*f, &FieldError{Field: field, Rule: fmt.Sprintf(rule, args...), Err: err})
}

// err is the faults as an error, nil if there are none.
func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// A SourceError is the fault that keeps a file from being read or edited: the
// file if its name was given, the line where it is known, the rule.
type SourceError struct {
	File string
	Line int // from 1; 0 if the fault has no line
	Rule string
	Err  error // what there is for errors.Is, or nil
}

func (e *SourceError) Error() string {
	where := e.File
	if where == "" {
		where = "input"
	}
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
	}
	return where + ": " + e.Rule
}

// Unwrap is e.Err.
func (e *SourceError) Unwrap() error { return e.Err }

// fault is a SourceError without its file, which the entry points fill in.
func fault(line int, rule string, args ...any) *SourceError {
	return &SourceError{Line: line, Rule: fmt.Sprintf(rule, args...)}
}

// inFile puts the file's name into a SourceError that has none.
func inFile(err error, file string) error {
	var source *SourceError
	if errors.As(err, &source) && source.File == "" {
		source.File = file
	}
	return err
}
