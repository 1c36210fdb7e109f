package cluster

import (
	"context"
	"time"
)

// Reach is how the members of a cluster are reached.
type Reach struct {
	Endpoints       func(Member) []string // client URLs to dial
	Alive           func(context.Context, Member) (Liveness, error)
	EndpointTimeout time.Duration // of one read of one endpoint
	MetricsURL      string        // of our own member
}
