package member

import (
	"errors"
	"fmt"
	"strings"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Step is how far a join got, over all its passes: it tells whether the cluster
// may have been changed.
type Step string

const (
	StepCheck   Step = "check"    // nothing was written
	StepAdd     Step = "add"      // the member may or may not be in the list
	StepStart   Step = "start"    // the member is in the list, its server is being started
	StepCatchUp Step = "catch up" // the server was started, it has no vote yet
	StepPromote Step = "promote"  // the vote was asked for
	StepServe   Step = "serve"    // a voter is in the list, not yet seen to serve
)

var steps = []Step{StepCheck, StepAdd, StepStart, StepCatchUp, StepPromote, StepServe}

// furthest is the later of two steps: a list that times out after an add must
// not claim that nothing was changed.
func furthest(a, b Step) Step {
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i] == a || steps[i] == b {
			return steps[i]
		}
	}
	return StepCheck
}

// JoinError is every error of a joiner. errors.Is and errors.As find the reason,
// the context's error and the server's last one behind it.
type JoinError struct {
	PeerURL  string
	Name     string
	Step     Step       // the furthest that was reached
	MemberID cluster.ID // our entry, 0 while there is none
	Changed  bool       // a membership write was sent by this call and may have been applied
	Undone   string     // what was undone, or what could not be; empty: nothing was tried
	Err      error      // the reason
	Last     error      // the last real error of a server or a hook beside it, or nil
	Hint     string     // what a person should do
}

// Error is one line for a person.
func (e *JoinError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "etcdjoin: join %s (%s): %s", e.PeerURL, e.Name, e.Step)
	if e.MemberID != 0 {
		fmt.Fprintf(&b, ": member %s", e.MemberID)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Last != nil && !errors.Is(e.Err, e.Last) {
		fmt.Fprintf(&b, "; last error: %v", e.Last)
	}
	switch {
	case e.Undone != "":
		fmt.Fprintf(&b, "; %s", e.Undone)
	case !e.Changed:
		b.WriteString("; the cluster was not changed")
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return reason.Shown(b.String())
}

// Unwrap yields the reason and the last error beside it.
func (e *JoinError) Unwrap() []error {
	if e.Last == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Last}
}
