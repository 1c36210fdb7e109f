package clustertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// Op names what was called: a method of [member.Client], or a hook of a [Host].
type Op string

// The calls, by the names that Fault takes and Calls prints.
const (
	OpList        Op = "list"
	OpListAt      Op = "list-at"
	OpStatus      Op = "status"
	OpWho         Op = "who"
	OpRead        Op = "read"
	OpPeerMembers Op = "peer-members"
	OpEndpoints   Op = "endpoints"
	OpAsk         Op = "ask"
	OpMetrics     Op = "metrics"
	OpMayChange   Op = "may-change"
	OpAdd         Op = "add" // printed as add-learner for a learner
	OpPromote     Op = "promote"
	OpRemove      Op = "remove"
	OpUpdate      Op = "update"
	OpMoveLeader  Op = "move-leader"
	OpBarrier     Op = "barrier"
	OpStart       Op = "start"
	OpStop        Op = "stop"
	OpArchive     Op = "archive"
)

// changesList reports whether the call is a write to the member list.
func (o Op) changesList() bool {
	return o == OpAdd || o == OpPromote || o == OpRemove || o == OpUpdate
}

// Call is one call that was made.
type Call struct {
	Op      Op
	At      cluster.ID // whom it was sent to, 0: the caller's own endpoints
	ID      cluster.ID // the member it is about
	URLs    []string
	Name    string // of a start
	Learner bool   // of an add
	When    time.Time
	Took    time.Duration // 0 while it is pending
	Pending bool          // it has not returned yet
	Reached bool          // a server received it
	Applied bool          // it had its effect, perhaps after it returned
	Err     error         // what it returned
}

// String is the call on one line, as test scripts compare it: its name, what it
// is about, and its error.
func (c Call) String() string {
	var b strings.Builder
	b.WriteString(c.name())
	for _, arg := range c.args() {
		b.WriteString(" " + arg)
	}
	switch {
	case c.Pending:
		b.WriteString(": pending")
	case c.Err != nil:
		fmt.Fprintf(&b, ": %v", c.Err)
	}
	return b.String()
}

func (c Call) name() string {
	if c.Op == OpAdd && c.Learner {
		return "add-learner"
	}
	return string(c.Op)
}

func (c Call) args() []string {
	switch c.Op {
	case OpAdd, OpAsk:
		return []string{strings.Join(c.URLs, ",")}
	case OpUpdate:
		return []string{c.ID.String(), strings.Join(c.URLs, ",")}
	case OpPromote, OpRemove, OpMoveLeader, OpStart, OpStop, OpArchive:
		return []string{c.ID.String()}
	case OpListAt, OpStatus, OpWho, OpRead, OpPeerMembers, OpMetrics:
		return []string{c.At.String()}
	}
	return nil
}

// journal records what was called.
type journal struct{ records []*record }

type record struct{ Call }

// Calls are all calls so far, in the order they were made. Pending ones are among
// them.
func (c *Cluster) Calls() []Call {
	return c.recorded(func(Call) bool { return true })
}

// Writes are the calls to change the member list that have reached the cluster,
// refused ones and those with lost answers too.
func (c *Cluster) Writes() []Call {
	return c.recorded(func(call Call) bool { return call.Op.changesList() && call.Reached })
}

func (c *Cluster) recorded(keep func(Call) bool) []Call {
	var calls []Call
	c.with(func() {
		for _, r := range c.records {
			if keep(r.Call) {
				call := r.Call
				call.URLs = slices.Clone(call.URLs)
				calls = append(calls, call)
			}
		}
	})
	return calls
}

// Count is how often an operation was called so far.
func (c *Cluster) Count(op Op) int {
	return len(c.recorded(func(call Call) bool { return call.Op == op }))
}

// ResetCalls forgets the calls so far, and begins to count them anew for Fault.
func (c *Cluster) ResetCalls() {
	c.with(func() {
		c.records = nil
		c.faults.count = map[Op]int{}
	})
}

// none is the answer of a call that has none.
type none = struct{}
