package member

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/version"
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
	Step     Step   // the furthest that was reached
	MemberID ID     // our entry, 0 while there is none
	Changed  bool   // a membership write was sent by this call and may have been applied
	Undone   string // what was undone, or what could not be; empty: nothing was tried
	Err      error  // the reason
	Last     error  // the last real error of a server or a hook beside it, or nil
	Hint     string // what a person should do
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
	return shown(b.String())
}

// userInfo is who a URL names before its host.
var userInfo = regexp.MustCompile(`//[^\s"]*@`)

// shown is a text as anybody may see it: on one line, and without the users and
// passwords of URLs, which servers list and dialers quote.
func shown(text string) string {
	return userInfo.ReplaceAllString(strings.ReplaceAll(text, "\n", "; "), "//xxxxx@")
}

// Unwrap yields the reason and the last error beside it.
func (e *JoinError) Unwrap() []error {
	if e.Last == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Last}
}

// The reasons a join ends for; find them with errors.Is.
var (
	ErrUnsupported   = version.ErrLearnerUnsupported
	ErrSkew          = version.ErrSkew
	ErrHazard        = version.ErrHazard
	ErrNameTaken     = errors.New("another member has this name")
	ErrOtherName     = errors.New("our member runs under another name")
	ErrBadURL        = errors.New("the server refuses the peer URL")
	ErrURLTaken      = errors.New("another member has this peer URL")
	ErrVoter         = errors.New("the member votes")
	ErrOtherWay      = errors.New("this member was added by the other strategy")
	ErrDataLost      = errors.New("the data of a started member is lost")
	ErrDataDamaged   = errors.New("the data directory is damaged")
	ErrForeignData   = errors.New("the data directory belongs to another cluster")
	ErrRemoved       = errors.New("the data directory belongs to a removed member")
	ErrAddress       = errors.New("our data belongs to a member with other peer URLs")
	ErrDiverged      = errors.New("the voters' member lists differ")
	ErrDowngrading   = errors.New("a downgrade of the cluster is under way")
	ErrQuorumAtRisk  = errors.New("quorum at risk")
	ErrNoQuorum      = errors.New("no quorum")
	ErrUnreachable   = errors.New("no endpoint answers")
	ErrSlotTaken     = errors.New("another learner holds the slot")
	ErrStalled       = errors.New("no movement")
	ErrNotLive       = errors.New("not live")
	ErrDenied        = errors.New("permission denied")
	ErrTLS           = errors.New("TLS refused")
	ErrCorrupt       = errors.New("CORRUPT alarm")
	ErrWrongCluster  = errors.New("another cluster answered")
	ErrGone          = errors.New("our member was removed by somebody else")
	ErrRoleDisagrees = errors.New("the list and the server disagree about the role")
)

// hints answer "what now?" for each reason; the first that matches is given.
var hints = []struct {
	reason error
	hint   string
}{
	{version.ErrNoVersion, "check that this host reaches the members' client URLs"},
	{ErrUnsupported, "upgrade every member to etcd 3.4 or later, or use VotingJoiner"},
	{ErrSkew, "start the same minor version as the cluster, or one above it"},
	{ErrHazard, "upgrade as the hazard says, or name it in Config.AcceptHazards"},
	{ErrNameTaken, "choose another name, remove the old member, or set Config.SameName to ReplaceIfDead"},
	{ErrOtherName, "use that name, or remove the member first"},
	{ErrBadURL, "check the address that was given, and the server's version"},
	{ErrURLTaken, "check the address that was given"},
	{ErrVoter, "remove it by Remove if that is meant"},
	{ErrOtherWay, "join with the strategy named, or remove the entry first"},
	{ErrDataLost, "never start it under its old entry; remove the member, or set Config.Rejoin"},
	{ErrDataDamaged, "look at the directory; move it aside to join as a new member"},
	{ErrForeignData, "check the directory and the endpoints; move the data aside to join as a new member"},
	{ErrRemoved, "move the data aside, or set Config.Rejoin"},
	{ErrAddress, "start it under its old URLs, or set Config.UpdateAddress"},
	{ErrDiverged, "compare each voter's own list; see etcd #19557 and #20793 before anything is changed"},
	{ErrDowngrading, "finish or cancel the downgrade first: a member of this version could not start"},
	{ErrQuorumAtRisk, "bring dead members back or remove them first"},
	{ErrNoQuorum, "bring back enough voters; nothing can be changed before"},
	{ErrDenied, "membership needs the root role"},
	{ErrTLS, "check the CA, the certificates and their host names"},
	{ErrSlotTaken, "finish or remove that learner; etcd allows one at a time by default"},
	{ErrNotLive, "look at the server's log on the joining host, and at the network between"},
	{ErrStalled, "look at the joiner's disk and network"},
	{ErrCorrupt, "repair the corrupt member before any membership change"},
	{ErrWrongCluster, "check the endpoints"},
	{ErrGone, "ask who removed it; Join again adds it anew"},
	{ErrRoleDisagrees, "etcd #21694: remove the member and join again"},
	{ErrUnreachable, "check the endpoints and the network to them"},
}

func hintFor(err error) string {
	for _, h := range hints {
		if errors.Is(err, h.reason) {
			return h.hint
		}
	}
	return ""
}

// reason wraps one of the reasons with its particulars.
func reason(why error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", why, fmt.Sprintf(format, args...))
}

// because wraps one of the reasons and the error that shows it.
func because(why, err error) error { return fmt.Errorf("%w: %w", why, err) }

// Unready is the error of [Client.Read] when the member's process itself
// answered, but could not read: it has no contact with the leader, or is still
// restoring or applying what it received.
type Unready struct {
	Status int    // HTTP
	Text   string // the server's words
}

func (e *Unready) Error() string {
	return fmt.Sprintf("the server runs but cannot read yet (%d %s)", e.Status, strings.TrimSpace(e.Text))
}

// WrongServerError says that another member answered in a member's place: its
// client URLs lead elsewhere.
type WrongServerError struct {
	Want, Got       ID
	Cluster, GotOne ID // cluster IDs
}

func (e *WrongServerError) Error() string {
	if e.Cluster != e.GotOne {
		return fmt.Sprintf("a server of cluster %s answered for member %s of cluster %s", e.GotOne, e.Want, e.Cluster)
	}
	return fmt.Sprintf("member %s answered in the place of %s: their client URLs lead to one server", e.Got, e.Want)
}

// ExitError says how a server process ended.
type ExitError struct {
	Code   int
	Output string // the last of what it logged
}

// exitMeanings are etcd's exit codes as a joiner meets them (3.3 to 3.7, run).
var exitMeanings = map[int]string{
	0: "it was told that its member is removed",
	1: "it refused to start: initial cluster, URLs, version or a stale peer",
	2: "a wrong flag, or a panic: data lost under its old entry",
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("the server process ended with code %d", e.Code)
	if m := exitMeanings[e.Code]; m != "" {
		text += " (" + m + ")"
	}
	if out := strings.TrimSpace(e.Output); out != "" {
		text += ": " + out
	}
	return text
}

// Is makes an ended process count as not live.
func (e *ExitError) Is(target error) bool { return target == ErrNotLive }

// Holder is a learner that holds the slot.
type Holder struct {
	Member
	Lag  uint64        // entries behind the leader, where Known
	Seen time.Duration // for how long this call has seen it
	Lags bool          // whether Lag is known
}

// SlotError names who holds the learner slot.
type SlotError struct{ Holders []Holder }

func (e *SlotError) Error() string {
	var b strings.Builder
	b.WriteString(ErrSlotTaken.Error())
	for _, h := range e.Holders {
		fmt.Fprintf(&b, ": %s, seen for %s", h.Member, h.Seen.Round(time.Millisecond))
		if h.Lags {
			fmt.Fprintf(&b, ", %d entries behind", h.Lag)
		}
	}
	return b.String()
}

// Is finds ErrSlotTaken.
func (e *SlotError) Is(target error) bool { return target == ErrSlotTaken }

// StallError says what a server that showed no movement was doing last.
type StallError struct{ Progress Progress }

func (e *StallError) Error() string { return e.Progress.String() }

// Is finds ErrStalled, and ErrNotLive where the process did not answer.
func (e *StallError) Is(target error) bool {
	return target == ErrStalled || target == ErrNotLive && !e.Progress.Phase.answers()
}
