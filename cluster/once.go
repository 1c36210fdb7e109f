package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/pace"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Look reads the cluster once: the member list, and what each member says of itself.
// Every endpoint has one EndpointTimeout, all together. It writes nothing and proposes
// nothing. A snapshot with NoQuorum is no error: it is what there is.
//
// On it, [Foresee] computes what a change would do.
func Look(ctx context.Context, client Client) (Snapshot, error) {
	l := NewLooker(ctx, client, nil, "", func() {})
	defer l.Close()
	return l.Look(ctx, true)
}

// Await is [Look], again until somebody answers: for a host that comes up beside its
// cluster. It ends with ctx, whose error then has the last one of a server beside it,
// or at once where no wait helps: refused TLS, no permission, another cluster, two histories of one.
func Await(ctx context.Context, client Client) (Snapshot, error) {
	pauses := pace.Faults()
	for {
		s, err := Look(ctx, client)
		if err == nil || hopeless(err) {
			return s, err
		}
		timer := time.NewTimer(pauses.NextBackOff())
		select {
		case <-ctx.Done():
			timer.Stop()
			return Snapshot{}, fmt.Errorf("%w, last: %w", ctx.Err(), err)
		case <-timer.C:
		}
	}
}

// hopeless reports whether no wait heals the error.
func hopeless(err error) bool {
	return classify.Of(err) == classify.Fatal || errors.Is(err, reason.ErrWrongCluster) || errors.Is(err, reason.ErrDiverged)
}
