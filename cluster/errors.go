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
	ErrWrongServer  = reason.ErrWrongServer
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

// WrongServerError says that somebody else answered in a member's place: its URLs
// lead elsewhere. It is [ErrWrongServer], and of another cluster [ErrWrongCluster].
type WrongServerError struct {
	Want, Got       ID // Got is 0 where it is not told
	Cluster, GotOne ID // cluster IDs; GotOne is 0 where it cannot be read
	URL             string
	Who             Identity
}

func (e *WrongServerError) Error() string {
	at := ""
	if e.URL != "" {
		at = " at " + e.URL
	}
	switch {
	case e.Who == NoEtcd:
		return fmt.Sprintf("what answers%s in the place of member %s is not its etcd server, or not the port that was meant", at, e.Want)
	case e.Cluster != e.GotOne:
		return fmt.Sprintf("a server of cluster %s answered%s for member %s of cluster %s", e.GotOne, at, e.Want, e.Cluster)
	case e.Got == 0:
		return fmt.Sprintf("another member answered%s in the place of %s", at, e.Want)
	}
	return fmt.Sprintf("member %s answered%s in the place of %s: their URLs lead to one server", e.Got, at, e.Want)
}

// Is finds the reasons.
func (e *WrongServerError) Is(target error) bool {
	return target == reason.ErrWrongServer && e.Cluster == e.GotOne || target == reason.ErrWrongCluster && e.Cluster != e.GotOne
}
