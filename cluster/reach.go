package cluster

import (
	"cmp"
	"context"
	"time"
)

// endpointTimeout is what zero means.
const endpointTimeout = 2 * time.Second

// Reach is what a [Client] knows of how its members are reached, beyond asking
// them. A client tells it by a method Reach() Reach; one without has the zero Reach.
type Reach struct {
	// EndpointTimeout bounds one read of one endpoint. Zero: 2 s.
	EndpointTimeout time.Duration
	// ClusterID is the cluster that is meant; 0: whichever answers.
	ClusterID ID
	// Alive is the host's own word on a member that cannot be dialled. Nil: such a
	// member is unknown.
	Alive func(context.Context, Member) (Liveness, error)
}

// ReachOf is how the members of a client's cluster are reached, with what zero
// means filled in.
func ReachOf(c Client) Reach {
	var r Reach
	if told, ok := c.(interface{ Reach() Reach }); ok {
		r = told.Reach()
	}
	r.EndpointTimeout = cmp.Or(r.EndpointTimeout, endpointTimeout)
	return r
}
