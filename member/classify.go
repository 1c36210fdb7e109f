package member

import (
	"context"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// class is what an error of a server means for the join. It never says that a
// write did not happen: after any write the list is read again.
type class string

const (
	lookAgain class = "look again" // the list decides what this answer meant
	retry     class = "retry"      // can heal by itself
	slotFull  class = "wait for slot"
	fatal     class = "fatal" // no wait heals it
)

// meaning is what an answer means, and the releases that give it.
type meaning struct {
	class class
	by    string // a version.Range
}

// classes is the whole classification: etcd's answers to membership calls and
// reads, 3.3 to 3.8, by text. An error is compared by its text alone: codes
// differ between versions and between the wire and the client ("not enough
// started members" comes as Unknown from every server, the learner's refusal as
// Unavailable up to 3.5 and FailedPrecondition from 3.6), and one text is the
// prefix of another ("can only promote a learner member").
var classes = map[string]meaning{
	text(rpctypes.ErrPeerURLExist):     {lookAgain, "3.3+"}, // our own add may have landed
	text(rpctypes.ErrMemberExist):      {lookAgain, "3.3+"}, // the same, within one second
	text(rpctypes.ErrMemberNotFound):   {lookAgain, "3.3+"}, // gone; on add: removed within this second
	text(rpctypes.ErrMemberNotLearner): {lookAgain, "3.4+"}, // somebody promoted it; or etcd #21694

	text(rpctypes.ErrMemberLearnerNotReady):      {retry, "3.4+"}, // also said of a voter that lags
	text(rpctypes.ErrUnhealthy):                  {retry, "3.3+"}, // connected for less than 5 s, or a voter is down
	text(rpctypes.ErrMemberNotEnoughStarted):     {retry, "3.3+"}, // heals when another join goes on
	text(rpctypes.ErrNoLeader):                   {retry, "3.3+"},
	text(rpctypes.ErrNotLeader):                  {retry, "3.3+"},
	text(rpctypes.ErrLeaderChanged):              {retry, "3.3+"},
	text(rpctypes.ErrStopped):                    {retry, "3.3+"},
	text(rpctypes.ErrTimeout):                    {retry, "3.3+"},
	text(rpctypes.ErrTimeoutDueToLeaderFail):     {retry, "3.3+"},
	text(rpctypes.ErrTimeoutDueToConnectionLost): {retry, "3.3+"},
	text(rpctypes.ErrTimeoutWaitAppliedIndex):    {retry, "3.4.24+, 3.5.7+, 3.6+"},
	text(rpctypes.ErrNotCapable):                 {retry, "3.3+"}, // the cluster version is not decided yet
	text(rpctypes.ErrGRPCNotSupportedForLearner): {retry, "3.4+"}, // asked a learner: the next look knows it
	text(rpctypes.ErrTooManyRequests):            {retry, "3.3+"},
	text(rpctypes.ErrBadLeaderTransferee):        {retry, "3.4+"},
	text(rpctypes.ErrAuthOldRevision):            {retry, "3.3+"}, // auth changed under the token
	text(rpctypes.ErrInvalidAuthToken):           {retry, "3.3+"}, // the adapter fetches another

	text(rpctypes.ErrTooManyLearners): {slotFull, "3.4+"},

	text(rpctypes.ErrMemberBadURLs):    {fatal, "3.3+"},
	text(rpctypes.ErrPermissionDenied): {fatal, "3.3+"},
	text(rpctypes.ErrUserEmpty):        {fatal, "3.3+"},
	text(rpctypes.ErrUserNotFound):     {fatal, "3.3+"},
	text(rpctypes.ErrAuthFailed):       {fatal, "3.3+"},
	text(rpctypes.ErrAuthNotEnabled):   {fatal, "3.3+"},
	text(rpctypes.ErrCorrupt):          {fatal, "3.3+"},
}

// text is what an error of etcd says, without the code in front.
func text(err error) string { return rpctypes.ErrorDesc(err) }

// classify looks up what err, or anything it wraps, means. What etcd did not say
// (a refused connection, a broken stream, a deadline) can heal; refused TLS can
// not, and the caller's own reasons can not.
func classify(err error) class {
	c, known := retry, false
	walk(err, func(e error) {
		if m, ok := classes[text(e)]; ok && !known {
			c, known = m.class, true
		}
	})
	switch {
	case known:
		return c
	case tlsRefused(err):
		return fatal
	}
	return retry
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

// tlsRefused finds a TLS failure by words: gRPC flattens the handshake's error
// into text, so there is no type left to look for.
func tlsRefused(err error) bool {
	found := false
	walk(err, func(e error) {
		for _, words := range []string{"authentication handshake failed", "x509:", "remote error: tls:"} {
			found = found || strings.Contains(e.Error(), words)
		}
	})
	// A server that stops in the middle of a handshake, or one too slow for it,
	// fails it too; that can heal.
	return found && !strings.Contains(err.Error(), "EOF") &&
		!strings.Contains(err.Error(), "connection reset") && !isDeadline(err) &&
		!strings.Contains(err.Error(), context.DeadlineExceeded.Error())
}

func isDeadline(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// sentinelFor names the reason behind a server's fatal answer.
func sentinelFor(err error) error {
	switch {
	case tlsRefused(err):
		return ErrTLS
	case errors.Is(err, rpctypes.ErrMemberBadURLs):
		return ErrBadURL
	case errors.Is(err, rpctypes.ErrCorrupt):
		return ErrCorrupt
	}
	return ErrDenied
}
