package classify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/reason"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Class is what an error of a server means for the join. It never says that a
// write did not happen: after any write the list is read again.
type Class string

const (
	LookAgain Class = "look again" // the list decides what this answer meant
	Retry     Class = "retry"      // can heal by itself
	SlotFull  Class = "wait for slot"
	Fatal     Class = "fatal" // no wait heals it
)

// meaning is what an answer means, and the releases that give it.
type meaning struct {
	class Class
	by    string // a version.Range
}

// classes is the whole classification: etcd's answers to membership calls and
// reads, 3.3 to 3.8, by text. An error is compared by its text alone: codes
// differ between versions and between the wire and the client ("not enough
// started members" comes as Unknown from every server, the learner's refusal as
// Unavailable up to 3.5 and FailedPrecondition from 3.6), and one text is the
// prefix of another ("can only promote a learner member").
var classes = map[string]meaning{
	text(rpctypes.ErrPeerURLExist):     {LookAgain, "3.3+"}, // our own add may have landed
	text(rpctypes.ErrMemberExist):      {LookAgain, "3.3+"}, // the same, within one second
	text(rpctypes.ErrMemberNotFound):   {LookAgain, "3.3+"}, // gone; on add: removed within this second
	text(rpctypes.ErrMemberNotLearner): {LookAgain, "3.4+"}, // somebody promoted it; or etcd #21694

	text(rpctypes.ErrMemberLearnerNotReady):      {Retry, "3.4+"}, // also said of a voter that lags
	text(rpctypes.ErrUnhealthy):                  {Retry, "3.3+"}, // connected for less than 5 s, or a voter is down
	text(rpctypes.ErrMemberNotEnoughStarted):     {Retry, "3.3+"}, // heals when another join goes on
	text(rpctypes.ErrNoLeader):                   {Retry, "3.3+"},
	text(rpctypes.ErrNotLeader):                  {Retry, "3.3+"},
	text(rpctypes.ErrLeaderChanged):              {Retry, "3.3+"},
	text(rpctypes.ErrStopped):                    {Retry, "3.3+"},
	text(rpctypes.ErrTimeout):                    {Retry, "3.3+"},
	text(rpctypes.ErrTimeoutDueToLeaderFail):     {Retry, "3.3+"},
	text(rpctypes.ErrTimeoutDueToConnectionLost): {Retry, "3.3+"},
	text(rpctypes.ErrTimeoutWaitAppliedIndex):    {Retry, "3.4.24+, 3.5.7+, 3.6+"},
	text(rpctypes.ErrNotCapable):                 {Retry, "3.3+"}, // the cluster version is not decided yet
	text(rpctypes.ErrGRPCNotSupportedForLearner): {Retry, "3.4+"}, // asked a learner: the next look knows it
	text(rpctypes.ErrTooManyRequests):            {Retry, "3.3+"},
	text(rpctypes.ErrBadLeaderTransferee):        {Retry, "3.4+"},
	text(rpctypes.ErrAuthOldRevision):            {Retry, "3.3+"}, // auth changed under the token
	text(rpctypes.ErrInvalidAuthToken):           {Retry, "3.3+"}, // the adapter fetches another

	text(rpctypes.ErrTooManyLearners): {SlotFull, "3.4+"},

	text(rpctypes.ErrMemberBadURLs):    {Fatal, "3.3+"},
	text(rpctypes.ErrPermissionDenied): {Fatal, "3.3+"},
	text(rpctypes.ErrUserEmpty):        {Fatal, "3.3+"},
	text(rpctypes.ErrUserNotFound):     {Fatal, "3.3+"},
	text(rpctypes.ErrAuthFailed):       {Fatal, "3.3+"},
	text(rpctypes.ErrAuthNotEnabled):   {Fatal, "3.3+"},
	text(rpctypes.ErrCorrupt):          {Fatal, "3.3+"},
}

// text is what an error of etcd says, without the code in front.
func text(err error) string { return rpctypes.ErrorDesc(err) }

// Of looks up what err, or anything it wraps, means. What etcd did not say
// (a refused connection, a broken stream, a deadline) can heal; refused TLS can
// not, and the caller's own reasons can not.
func Of(err error) Class {
	err = counts(err)
	c, known := Retry, false
	walk(err, func(e error) {
		if m, ok := classes[text(e)]; ok && !known {
			c, known = m.class, true
		}
	})
	switch {
	case known:
		return c
	case errors.Is(err, reason.ErrClosed), TLSRefused(err), misdirected(err):
		return Fatal
	}
	return Retry
}

// Decided reports whether a write that was answered with err was refused for good:
// nothing of it is on its way any more. Whatever etcd refuses before it proposes
// anything, or when it applies it, is; an answer that only gives up is not.
func Decided(err error) bool {
	decided := false
	walk(err, func(e error) { decided = decided || refusals[text(e)] })
	return decided
}

var refusals = map[string]bool{}

func init() {
	for _, err := range []error{
		rpctypes.ErrPeerURLExist, rpctypes.ErrMemberExist, rpctypes.ErrMemberNotFound, rpctypes.ErrMemberNotLearner,
		rpctypes.ErrMemberLearnerNotReady, rpctypes.ErrUnhealthy, rpctypes.ErrMemberNotEnoughStarted, rpctypes.ErrTooManyLearners,
		rpctypes.ErrMemberBadURLs, rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound,
		rpctypes.ErrAuthFailed, rpctypes.ErrAuthNotEnabled, rpctypes.ErrAuthOldRevision, rpctypes.ErrInvalidAuthToken,
		rpctypes.ErrNotCapable, rpctypes.ErrGRPCNotSupportedForLearner, rpctypes.ErrTooManyRequests,
	} {
		refusals[text(err)] = true
	}
}

// walk visits err and all that it wraps, outermost first.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch e := err.(type) { //nolint:errorlint // this is the unwrapping itself
	case interface{ Unwrap() error }:
		walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			walk(inner, visit)
		}
	}
}

// TLSRefused finds a TLS failure by words: gRPC flattens the handshake's error
// into text, so there is no type left to look for.
func TLSRefused(err error) bool {
	err = counts(err)
	found := false
	walk(err, func(e error) {
		for _, words := range []string{"authentication handshake failed", "x509:", "remote error: tls:"} {
			found = found || strings.Contains(e.Error(), words)
		}
	})
	// A server that stops in the middle of a handshake, or one too slow for it,
	// fails it too; that can heal.
	return found && !strings.Contains(err.Error(), "EOF") &&
		!strings.Contains(err.Error(), "connection reset") && !IsDeadline(err) &&
		!strings.Contains(err.Error(), context.DeadlineExceeded.Error())
}

// CertificateAsked reports whether the other side has refused our certificate, or that
// we have none. The alerts are told apart by words, as crypto/tls gives them.
func CertificateAsked(err error) bool {
	found := false
	walk(err, func(e error) {
		_, alert, ok := strings.Cut(e.Error(), "remote error: tls: ")
		found = found || ok && (strings.Contains(alert, "certificate") || strings.Contains(alert, "access denied") ||
			strings.HasPrefix(alert, "handshake failure")) // TLS 1.2 says no more to who has none
	})
	return found
}

// Refused finds a connection that was refused, by words: gRPC keeps no type.
func Refused(err error) bool {
	return err != nil && strings.Contains(err.Error(), "connection refused")
}

func IsDeadline(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// Reason names the reason behind a server's answer; nil where it has none, or heals by
// looking again.
func Reason(err error) error {
	err = counts(err)
	switch {
	case errors.Is(err, reason.ErrClosed):
		return reason.ErrClosed
	case misdirected(err):
		return reason.ErrEndpoint
	case TLSRefused(err):
		return reason.ErrTLS
	case errors.Is(err, rpctypes.ErrMemberBadURLs):
		return reason.ErrBadURL
	case errors.Is(err, rpctypes.ErrCorrupt):
		return reason.ErrCorrupt
	case errors.Is(err, rpctypes.ErrUnhealthy), errors.Is(err, rpctypes.ErrMemberNotEnoughStarted):
		return reason.ErrUnhealthy
	case Of(err) == Fatal:
		return reason.ErrDenied
	}
	return nil
}

// Normalise makes etcd's errors comparable with rpctypes' client-side values,
// and keeps the context's own error findable beside a server's.
func Normalise(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	err = rpctypes.Error(err)
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
