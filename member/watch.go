package member

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/hook"
	"github.com/etcdjoin/etcdjoin/internal/pace"
	"github.com/etcdjoin/etcdjoin/internal/probe"
)

// silence is how long a port may stay silent on an idle cluster before it is
// nudged. A joiner's first publish may be swallowed by the snapshot and has to
// time out after 7 s before it is sent again (E§2.5).
const silence = 7500 * time.Millisecond

// watch follows one server from its start to its vote. Its pending read answers
// the moment the learner has caught up, and wakes the loop; the vote itself is
// given on a fresh, quick one. A nil watch watches nobody.
type watch struct {
	id      cluster.ID
	client  cluster.Client
	config  Config
	reach   cluster.Reach
	target  atomic.Pointer[cluster.Target] // client URLs appear when it publishes itself
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	reader  *probe.Probe[cluster.ReadAnswer]
	metrics *probe.Probe[cluster.Metrics] // nil without a MetricsURL
	back    *wayBack
	tracker *decide.Tracker

	index    uint64    // the leader's, when it was last seen to move
	quiet    time.Time // since when it has not moved
	reported time.Time
}

func (r *run) newWatch(m cluster.Member) *watch {
	ctx, cancel := context.WithCancel(r.looker.Context())
	now := time.Now()
	w := &watch{id: m.ID, client: r.client, config: r.config, reach: r.reach, cancel: cancel, tracker: decide.NewTracker(now), quiet: now}
	target := r.looker.Target(m)
	w.target.Store(&target)
	again := &afterRead{Proportional: pace.NewProportional(2*time.Millisecond, time.Second)}
	w.reader = probe.New(ctx, &w.wg, r.rouse, again, func(ctx context.Context) (cluster.ReadAnswer, error) {
		bounded, cancel := context.WithTimeout(ctx, probe.Patience)
		defer cancel()
		answer, err := w.read(bounded, *w.target.Load())
		again.failed = errors.As(err, new(*cluster.Unready))
		return answer, err
	})
	w.reader.Ask()
	w.back = newWayBack(ctx, w)
	if target.MetricsURL != "" {
		w.metrics = probe.New(ctx, &w.wg, func() {}, nil, func(ctx context.Context) (cluster.Metrics, error) {
			bounded, cancel := context.WithTimeout(ctx, w.reach.EndpointTimeout)
			defer cancel()
			m, err := w.client.Metrics(bounded, target)
			if err == nil && m.ServerID != target.ID {
				err = &cluster.WrongServerError{Want: target.ID, Got: m.ServerID, Cluster: target.ClusterID, GotOne: target.ClusterID, URL: target.MetricsURL}
			}
			return m, err
		})
	}
	return w
}

// afterRead paces the pending read. One that a starting server has failed ("leader
// changed") is asked again when its streams stand: sooner, the next one's message to
// the leader is lost, and etcd repeats it after half a second only. Asked again 1 ms
// later the vote came after 544 ms (median of 12 on 3.7.3), 25 ms later after 75.
type afterRead struct {
	*pace.Proportional
	failed bool // the process answered, and could not read
}

func (a *afterRead) NextBackOff() time.Duration {
	if d := a.Proportional.NextBackOff(); !a.failed {
		return d
	} else {
		return max(d, 25*time.Millisecond)
	}
}

func (w *watch) stop() {
	if w != nil {
		w.cancel()
		w.wg.Wait()
	}
}

func (w *watch) of(id cluster.ID) bool { return w != nil && w.id == id }

// mayBeReady reports whether the pending read has answered, so that this pass
// should look at everybody and ask for the proof.
func (w *watch) mayBeReady() bool { return w != nil && w.reader.Heard().Live(w.reach.EndpointTimeout) }

// read asks through the member itself, else the host that can.
func (w *watch) read(ctx context.Context, t cluster.Target) (cluster.ReadAnswer, error) {
	if w.reach.Alive == nil {
		return w.client.Read(ctx, t)
	}
	half, cancel := context.WithTimeout(ctx, pace.Half(ctx)) // the hook gets its turn where packets are dropped
	answer, err := w.client.Read(half, t)
	cancel()
	if err == nil {
		return answer, nil
	}
	word, hookErr := hook.Call(ctx, func(ctx context.Context) (cluster.Liveness, error) { return w.reach.Alive(ctx, t.Member) })
	if hookErr != nil || word != cluster.Alive {
		return cluster.ReadAnswer{}, errors.Join(err, hookErr)
	}
	return cluster.ReadAnswer{Way: "hook"}, nil
}

// observe takes the evidence of one pass and asks for the next.
func (w *watch) observe(s cluster.Snapshot, ours cluster.Seen) cluster.Progress {
	e := decide.Evidence{Now: time.Now(), Patience: w.reach.EndpointTimeout, Snapshot: s, Member: ours, Read: w.reader.Heard()}
	w.target.Store(&ours.Target)
	if w.metrics != nil {
		e.Metrics = w.metrics.Heard()
		w.metrics.Ask()
	}
	if !e.Read.Live(w.reach.EndpointTimeout) || ours.Voting() {
		w.reader.Ask()
	}
	if s.Index != w.index {
		w.index, w.quiet = s.Index, e.Now
	}
	return w.tracker.Observe(e)
}

// shutOut is the refusal where TLS keeps us from the peer port of a learner that
// runs: it never gets its vote then, however long we wait. Only the Alive hook's
// word could stand in for the read.
func (r *run) shutOut(c decide.Case) error {
	ours, found := c.Ours()
	if !found || !r.watch.of(ours.ID) || !ours.Learner || !ours.Started() || r.reach.Alive != nil {
		return nil
	}
	if err := r.watch.reader.Heard().Err; classify.TLSRefused(err) {
		return err
	}
	return nil
}

// quick asks for one quick read where the last one was answered: a slow answer is none.
func (w *watch) quick(ctx context.Context, t cluster.Target) (cluster.ReadAnswer, error) {
	bounded, cancel := context.WithTimeout(ctx, w.config.ReadWithin)
	defer cancel()
	return w.read(bounded, t)
}

// prove asks who is there, for one quick read, and again who is there. A slow answer
// is no proof.
func (w *watch) prove(ctx context.Context) *decide.Proof {
	t := *w.target.Load()
	heard := w.reader.Heard().Value
	if heard.Way == "" { // nobody has heard it yet, as in a first Step
		heard, _ = w.quick(ctx, t)
	}
	if heard.Way == "peer" {
		t.PeerURLs = []string{heard.URL} // the one that answers
	}
	p := w.between(ctx, heard.URL, t)
	if p == nil {
		w.reader.Ask()
	}
	return p
}

func (w *watch) between(ctx context.Context, url string, t cluster.Target) *decide.Proof {
	bounded, cancel := context.WithTimeout(ctx, w.reach.EndpointTimeout)
	defer cancel()
	var p decide.Proof
	var err error
	if url != "" {
		if p.Before, err = w.client.Who(bounded, url, t.ClusterID, t.ID); err != nil && w.reach.Alive == nil {
			return nil
		}
	}
	p.Asked = time.Now()
	if p.ReadAnswer, err = w.quick(ctx, t); err != nil {
		return nil
	}
	p.Took = time.Since(p.Asked)
	if p.Way == "hook" {
		return &p
	}
	soon, stop := context.WithDeadline(ctx, p.Asked.Add(w.config.ReadWithin)) // later it is worth nothing
	defer stop()
	if p.After, err = w.client.Who(soon, p.URL, t.ClusterID, t.ID); err != nil {
		return nil
	}
	return &p
}

// stranger is who answers the reads in the place of our member, nil if nobody does.
func (w *watch) stranger() error {
	var wrong *cluster.WrongServerError
	if w != nil && errors.As(w.reader.Heard().Err, &wrong) {
		return wrong
	}
	return nil
}

// nudge commits one entry that keeps no state where a started server accepts what
// it is asked and answers nothing, and the cluster is idle: on 3.6 and 3.7 it may
// then stay silent for ever (E§2.5). One that catches up needs time, no nudge.
func (r *run) nudge(ctx context.Context, c decide.Case) {
	w := r.watch
	ours, found := c.Ours()
	if !found || !w.of(ours.ID) || !ours.Started() || ours.Liveness == cluster.Alive || c.Snapshot.NoQuorum ||
		w.mayBeReady() || c.Progress.Phase == cluster.CatchingUp || w.reader.Heard().Asked.IsZero() || time.Since(w.quiet) < silence {
		return
	}
	w.quiet = time.Now()
	via, _ := cluster.WriteTo(c.Snapshot)
	bounded, cancel := context.WithTimeout(ctx, r.reach.EndpointTimeout)
	defer cancel()
	if _, err := r.client.Barrier(bounded, via); err != nil {
		r.last = err
		return
	}
	r.emit(Event{Kind: Nudged, Member: &ours.Member, Text: "it was silent for " + silence.String() + " on an idle cluster"})
}

// report tells of progress, once a second at most.
func (r *run) report(p cluster.Progress, ours cluster.Seen) {
	if now := time.Now(); now.Sub(r.watch.reported) >= time.Second {
		r.watch.reported = now
		r.emit(Event{Kind: Progressed, Member: &ours.Member, Progress: &p, Text: p.String()})
	}
}
