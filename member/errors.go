package member

import (
	"encoding/json"
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
	StepRemove  Step = "remove"   // a remove was sent: the member may or may not be in the list
)

var steps = []Step{StepCheck, StepRemove, StepAdd, StepStart, StepCatchUp, StepPromote, StepServe}

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

// Verb is what was asked for.
type Verb string

const (
	VerbJoin    Verb = "join" // by Join or by Step
	VerbPlan    Verb = "plan"
	VerbAdd     Verb = "add"
	VerbAbort   Verb = "abort"
	VerbPromote Verb = "promote"
	VerbRemove  Verb = "remove"
	VerbLeave   Verb = "leave"

	VerbMoveLeader Verb = "move leader"
)

// leaves reports whether the verb takes a member out.
func (v Verb) leaves() bool { return v == VerbRemove || v == VerbLeave || v == VerbAbort }

// JoinError is every error of an operation on a member. errors.Is and errors.As find
// the reason, the context's error and the server's last one behind it; [ReasonOf] is
// the reason as a word.
type JoinError struct {
	Verb     Verb
	PeerURL  string
	Name     string
	Step     Step       // the furthest that was reached
	MemberID cluster.ID // our entry, 0 while there is none
	Changed  bool       // a membership write was sent by this call and may have been applied
	Undone   string     // what was undone, or what could not be; empty: nothing was tried
	Err      error      // the reason
	Last     error      // the last real error of a server or a hook beside it, or nil
	Doubts   []string   // what was told before the first write, and may explain it
	Hint     string     // what a person should do; never empty
}

// hinted fills in the hint.
func (e *JoinError) hinted() *JoinError {
	e.Hint = reason.Hint(e.Err)
	return e
}

// Error is one line for a person.
func (e *JoinError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "etcdjoin: %s %s: %s: %v", e.Verb, e.whom(), e.Step, e.Err)
	if e.Last != nil && !errors.Is(e.Err, e.Last) {
		fmt.Fprintf(&b, "; last error: %v", e.Last)
	}
	switch {
	case e.Undone != "":
		fmt.Fprintf(&b, "; %s", e.Undone)
	case !e.Changed:
		b.WriteString("; the cluster was not changed")
	}
	if e.explained() {
		fmt.Fprintf(&b, "; told before: %s", strings.Join(e.Doubts, "; "))
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return reason.Shown(b.String())
}

// explained reports whether the doubts that were told may be the cause.
func (e *JoinError) explained() bool {
	return len(e.Doubts) > 0 && (errors.Is(e.Err, reason.ErrNotLive) || errors.Is(e.Err, reason.ErrStalled) || errors.Is(e.Err, reason.ErrUnhealthy))
}

// whom is the member as far as it is known: URL, name, ID.
func (e *JoinError) whom() string {
	var parts []string
	if e.PeerURL != "" {
		parts = append(parts, e.PeerURL)
	}
	if e.Name != "" {
		parts = append(parts, "("+e.Name+")")
	}
	if e.MemberID != 0 {
		parts = append(parts, "member "+e.MemberID.String())
	}
	return strings.Join(parts, " ")
}

// joinErrorJSON is a JoinError as it is kept.
type joinErrorJSON struct {
	Verb     Verb         `json:"verb"`
	PeerURL  string       `json:"peerURL,omitempty"`
	Name     string       `json:"name,omitempty"`
	Step     Step         `json:"step"`
	MemberID cluster.ID   `json:"memberID,omitempty"`
	Changed  bool         `json:"changed"`
	Undone   string       `json:"undone,omitempty"`
	Err      *reason.Told `json:"error,omitempty"`
	Last     *reason.Told `json:"last,omitempty"`
	Doubts   []string     `json:"doubts,omitempty"`
	Hint     string       `json:"hint,omitempty"`
}

// MarshalJSON keeps the error with its reason, text and hint; it shows no password.
func (e *JoinError) MarshalJSON() ([]byte, error) {
	return json.Marshal(joinErrorJSON{e.Verb, reason.Shown(e.PeerURL), e.Name, e.Step, e.MemberID, e.Changed,
		reason.Shown(e.Undone), reason.Tell(e.Err), reason.Tell(e.Last), shownAll(e.Doubts), e.Hint})
}

// UnmarshalJSON reads what MarshalJSON writes: errors.Is and [ReasonOf] find the reason
// as before.
func (e *JoinError) UnmarshalJSON(raw []byte) error {
	var k joinErrorJSON
	if err := json.Unmarshal(raw, &k); err != nil {
		return err
	}
	*e = JoinError{k.Verb, k.PeerURL, k.Name, k.Step, k.MemberID, k.Changed, k.Undone, k.Err.Err(), k.Last.Err(), k.Doubts, k.Hint}
	return nil
}

// Unwrap yields the reason and the last error beside it.
func (e *JoinError) Unwrap() []error {
	if e.Last == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Last}
}

func shownAll(lines []string) (shown []string) {
	for _, line := range lines {
		shown = append(shown, reason.Shown(line))
	}
	return shown
}
