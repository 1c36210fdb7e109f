package member

import (
	"context"
	"errors"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/initialcluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// A Joiner makes the etcd server that will listen on peerURL a voting member of
// a running cluster. peerURL may be a comma-separated list, as etcd's own flag.
//
// Join blocks until the member votes and serves, ctx ends, or no wait can help. What a
// failed join is to take back may keep it for [Config.UndoWithin] longer.
// It may be called again after any failure, a crash included: it reads the
// member list first and does only what is still missing. After an error the
// member has no vote, or the error's step is [StepPromote] or [StepServe] and
// the list tells. Every error is a [*JoinError].
type Joiner interface {
	Join(ctx context.Context, peerURL string) (Result, error)
}

// Result is what a successful Join leaves behind.
type Result struct {
	Member  cluster.Member `json:"member"`  // a voter
	Voters  int            `json:"voters"`  // in the cluster now
	Quorum  int            `json:"quorum"`  // of them must agree
	Margin  int            `json:"margin"`  // how many of those that answer may fail
	Changed bool           `json:"changed"` // this call wrote to the membership
	// WayBack says whether the others reach the member by dials of their own, as far as
	// was seen by the time Join returned; see also the event [OneWay].
	WayBack cluster.Way `json:"wayBack,omitempty"`
	// Unproven says that nothing shows the member's vote but the list and the server's
	// own word: this call did not give it one, and it was not seen leading. That is so of
	// every healthy voter that never led; it matters where etcd #21694 may have happened.
	Unproven bool `json:"unproven,omitempty"`

	// When this call saw it happen; zero if it was so before.
	Added    time.Time `json:"added,omitzero"`
	Started  time.Time `json:"started,omitzero"`
	Promoted time.Time `json:"promoted,omitzero"`
	Serving  time.Time `json:"serving,omitzero"`
}

// Engine is the one machine behind every joiner: it looks, decides by
// [Decide], does one thing, and looks again.
type Engine struct {
	client   cluster.Client
	name     string
	config   Config
	reach    cluster.Reach
	strategy decide.Strategy
}

var _ Joiner = (*Engine)(nil)

// New makes an engine for the server that will run under this name. Wrong
// arguments are an [*InputError]; nothing is asked of the cluster.
func New(client cluster.Client, name string, config Config, strategy decide.Strategy) (*Engine, error) {
	if e, ok := client.(*cluster.EtcdClient); client == nil || ok && e == nil {
		return nil, reason.Input("client", "nil", "must not be nil")
	}
	if strategy == nil {
		return nil, reason.Input("strategy", "nil", "must not be nil")
	}
	if broken := (*initialcluster.Error)(nil); errors.As(initialcluster.CheckName(name), &broken) {
		return nil, reason.Input("name", name, broken.Rule)
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	return &Engine{client: client, name: name, config: config.withDefaults(), reach: cluster.ReachOf(client), strategy: strategy}, nil
}

// Join implements [Joiner].
func (e *Engine) Join(ctx context.Context, peerURL string) (Result, error) {
	r, err := e.newRun(ctx, VerbJoin, peerURL)
	if err != nil {
		return Result{}, err
	}
	defer r.close()
	if err := r.loop(ctx); err != nil {
		return Result{}, r.fail(ctx, err)
	}
	return r.result, nil
}

// Finish completes somebody's join: it waits for the learner with this ID and
// gives it its vote by the strategy's rules. It starts and undoes nothing.
// After an error the learner is as it was, or the error's step says otherwise.
func Finish(ctx context.Context, client cluster.Client, id cluster.ID, config Config, strategy decide.Strategy) (Result, error) {
	r, err := runByID(ctx, VerbPromote, client, id, config)
	if err != nil {
		return Result{}, err
	}
	if r.only == 0 {
		return Result{}, (&JoinError{Verb: VerbPromote, Step: StepCheck, MemberID: id, Err: reason.Of(reason.ErrGone, "no member has the ID %s", id)}).hinted()
	}
	defer r.close()
	r.strategy, r.entry.started = strategy, true
	r.watch = r.newWatch(cluster.Member{ID: id, PeerURLs: r.urls})
	if err := r.loop(ctx); err != nil {
		return Result{}, r.fail(ctx, err)
	}
	return r.result, nil
}
