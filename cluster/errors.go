package cluster

import (
	"fmt"
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// The facts about a cluster that end an operation, or keep it waiting; find them
// with errors.Is.
var (
	ErrNoQuorum     = reason.ErrNoQuorum
	ErrUnreachable  = reason.ErrUnreachable
	ErrWrongCluster = reason.ErrWrongCluster
	ErrTLS          = reason.ErrTLS
	ErrDenied       = reason.ErrDenied
	ErrDiverged     = reason.ErrDiverged
	ErrClosed       = reason.ErrClosed
	ErrEndpoint     = reason.ErrEndpoint
	ErrUnhealthy    = reason.ErrUnhealthy
)

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
