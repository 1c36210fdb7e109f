package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/hook"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/probe"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Looker looks at a cluster again and again. A look waits for the member list
// and the leader's Status, nothing else: every other member has a probe of its
// own, whose last answer carries its age.
type Looker struct {
	client     Client
	reach      Reach
	ours       []string // our peer URLs: metricsURL belongs to that member
	metricsURL string
	clusterID  ID
	wake       func() // called when a member begins to answer

	ctx    context.Context // of the probes
	cancel context.CancelFunc
	wg     sync.WaitGroup
	probes map[ID]*watched
	Since  map[ID]time.Time // when earlier looks first saw a member, if they told
	Last   Snapshot
	// Silences are what is held against members under suspicion, by this looker and
	// by those before it.
	Silences map[ID]Silence

	led      map[ID]bool // who was seen leading
	diverged time.Time   // since when the voters' lists differ; zero: they agree
}

// Context is that of the probes: it ends with the looker.
func (l *Looker) Context() context.Context { return l.ctx }

// FirstSeen is when each member was first seen by this looker, or by those before it.
func (l *Looker) FirstSeen() map[ID]time.Time {
	since := map[ID]time.Time{}
	for id, w := range l.probes {
		since[id] = w.since
	}
	return since
}

// watched is a member under watch.
type watched struct {
	target Target
	since  time.Time
	status *probe.Probe[vital]
	stop   context.CancelFunc
}

// vital is a sign of life: a Status, or only the Alive hook's word.
type vital struct {
	status   Status
	liveness Liveness
}

func NewLooker(ctx context.Context, client Client, ours []string, metricsURL string, wake func()) *Looker {
	ctx, cancel := context.WithCancel(ctx)
	return &Looker{client: client, reach: ReachOf(client), ours: ours, metricsURL: metricsURL, wake: wake, ctx: ctx, cancel: cancel, probes: map[ID]*watched{}, led: map[ID]bool{}}
}

// Close ends all probes and waits for them.
func (l *Looker) Close() {
	l.cancel()
	l.wg.Wait()
}

// Look reads the cluster once. A fresh look gives every voter one
// EndpointTimeout to answer, all together; the first look is fresh.
func (l *Looker) Look(ctx context.Context, fresh bool) (Snapshot, error) {
	if l.Last.At.IsZero() {
		return l.begin(ctx)
	}
	return l.look(ctx, fresh)
}

// begin is the first look: it is fresh, and beside it every endpoint of the caller is
// asked, for all that follows is said and done to one cluster.
func (l *Looker) begin(ctx context.Context) (Snapshot, error) {
	counting, cancel := context.WithCancel(ctx)
	defer cancel()
	counted := l.census(counting)
	_, err := l.look(ctx, true)
	if err != nil {
		cancel()
	}
	told, differ := counted()
	if err == nil {
		err = differ
	}
	if err != nil {
		l.Last = Snapshot{}
		return Snapshot{}, err
	}
	l.Last.Unused, l.Last.usable = sorted(told)
	return l.Last, nil
}

func (l *Looker) look(ctx context.Context, fresh bool) (Snapshot, error) {
	list, listErr := l.list(ctx)
	if list.ClusterID == 0 {
		return Snapshot{}, listErr
	}
	switch known := l.Last.ClusterID; {
	case known != 0 && list.ClusterID != known:
		return Snapshot{}, reason.Of(reason.ErrWrongCluster, "first %s, now %s", known, list.ClusterID)
	case l.reach.ClusterID != 0 && list.ClusterID != l.reach.ClusterID:
		return Snapshot{}, reason.Of(reason.ErrWrongCluster, "%s is meant, %s answered", l.reach.ClusterID, list.ClusterID)
	}
	l.clusterID = list.ClusterID
	l.follow(list)
	l.await(ctx, list, fresh)
	if err := ctx.Err(); err != nil {
		return Snapshot{}, err
	}
	l.Last = l.snapshot(list, fresh)
	if listErr != nil && l.Last.Leader != 0 {
		return Snapshot{}, listErr // a leader is known: the list will come
	}
	l.Last.NoQuorum = listErr != nil
	l.listen(ctx, &l.Last)
	return l.Last, nil
}

// list is the linearizable list, of the voters that are known or of whoever the
// caller's client knows. Where none can be had, it is a serializable one beside
// the error: it tells whom to ask whether there is a quorum at all.
func (l *Looker) list(ctx context.Context) (List, error) {
	bounded, cancel := context.WithTimeout(ctx, l.reach.EndpointTimeout)
	defer cancel()
	list, err := l.client.List(bounded, l.askable()...)
	if err == nil || ctx.Err() != nil || classify.Of(err) == classify.Fatal {
		return list, err
	}
	again, cancelAgain := context.WithTimeout(ctx, l.reach.EndpointTimeout)
	defer cancelAgain()
	anybody := []Target{l.Last.own()}
	for _, m := range l.Last.LiveVoters() {
		anybody = append(anybody, m.Target)
	}
	list, stale := first(again, anybody, l.client.ListAt)
	if stale != nil {
		return List{}, reason.Because(reason.ErrUnreachable, err)
	}
	return list, err
}

// askable are the voters whose word counted in the last look, or the endpoints of the
// caller's own client; learners refuse a list.
func (l *Looker) askable() []Target {
	var targets []Target
	for _, m := range l.Last.askable() {
		if m.Started() {
			targets = append(targets, m.Target)
		}
	}
	if len(targets) == 0 {
		targets = append(targets, l.Last.own())
	}
	return targets
}

// follow starts a probe for each member that has somewhere to be asked, and ends
// those of members that are gone or moved.
func (l *Looker) follow(list List) {
	listed := map[ID]bool{}
	for _, m := range list.Members {
		listed[m.ID] = true
		t := l.Target(m)
		w, ok := l.probes[m.ID]
		if ok && sameTarget(w.target, t) {
			w.target.Member = m
			continue
		}
		since, seen := l.Since[m.ID]
		if !seen {
			since = time.Now()
		}
		if ok {
			since = w.since
			w.stop()
		}
		l.probes[m.ID] = l.watch(t, list.ClusterID, since)
	}
	for id, w := range l.probes {
		if !listed[id] {
			w.stop()
			delete(l.probes, id)
		}
	}
}

func sameTarget(a, b Target) bool {
	return slices.Equal(a.ClientURLs, b.ClientURLs) && a.MetricsURL == b.MetricsURL && slices.Equal(a.PeerURLs, b.PeerURLs)
}

func (l *Looker) Target(m Member) Target {
	t := Target{Member: m, ClusterID: l.clusterID}
	if peerurl.SameSet(m.PeerURLs, l.ours) {
		t.MetricsURL = l.metricsURL
	}
	return t
}

func (l *Looker) watch(t Target, cluster ID, since time.Time) *watched {
	ctx, stop := context.WithCancel(l.ctx)
	return &watched{target: t, since: since, stop: stop,
		status: probe.New(ctx, &l.wg, l.wake, nil, func(ctx context.Context) (vital, error) { return l.vital(ctx, t, cluster) })}
}

// vital asks one member. An answer counts only under its own member and cluster
// ID: k0s members all advertise 127.0.0.1, and three healthy voters can be one.
func (l *Looker) vital(ctx context.Context, t Target, cluster ID) (vital, error) {
	bounded, cancel := context.WithTimeout(ctx, probe.Patience)
	defer cancel()
	st, err := l.ask(bounded, t)
	if err == nil && (st.ID != t.ID || st.ClusterID != cluster) {
		err = &WrongServerError{Want: t.ID, Got: st.ID, Cluster: cluster, GotOne: st.ClusterID}
	}
	if err == nil {
		return vital{status: st, liveness: Alive}, nil
	}
	if l.reach.Alive == nil {
		return vital{}, err
	}
	asking, stop := context.WithTimeout(ctx, l.reach.EndpointTimeout)
	defer stop()
	word, hookErr := hook.Call(asking, func(ctx context.Context) (Liveness, error) { return l.reach.Alive(ctx, t.Member) })
	if hookErr != nil || word == Unknown {
		return vital{}, errors.Join(err, hookErr)
	}
	return vital{liveness: word}, nil
}

// Ask waits for as long as the port is silent, unless the Alive hook could tell
// more: then that gets its turn within the EndpointTimeout that a look waits for.
func (l *Looker) ask(ctx context.Context, t Target) (Status, error) {
	if l.reach.Alive != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.reach.EndpointTimeout/2)
		defer cancel()
	}
	return l.client.Status(ctx, t)
}

// await asks every member and waits for those that this look needs: the leader,
// or for a fresh look all voters that can be asked.
func (l *Looker) await(ctx context.Context, list List, fresh bool) {
	bounded, cancel := context.WithTimeout(ctx, l.reach.EndpointTimeout)
	defer cancel()
	pending := map[ID]<-chan struct{}{}
	for _, m := range list.Members {
		pending[m.ID] = l.probes[m.ID].status.Ask()
	}
	if fresh {
		for _, m := range list.Members {
			if done := pending[m.ID]; done != nil && !m.Learner && !l.silent(m) && !l.hung(m.ID) {
				wait(bounded, done)
			}
		}
		return
	}
	if done := pending[l.Last.Leader]; done != nil {
		wait(bounded, done)
	}
}

// hung reports whether a member has had an EndpointTimeout for the request that is
// under way: it has been waited for, and is not again.
func (l *Looker) hung(id ID) bool {
	asked := l.probes[id].status.Heard().Asked
	return !asked.IsZero() && time.Since(asked) >= l.reach.EndpointTimeout
}

// silent reports whether m is our own member and its port was silent so far: it
// is waited for by its probe, not by the looks.
func (l *Looker) silent(m Member) bool {
	last, known := l.Last.ByID(m.ID)
	return known && !last.Answered() && peerurl.SameSet(m.PeerURLs, l.ours)
}

func wait(ctx context.Context, done <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-done:
	}
}

func (l *Looker) snapshot(list List, fresh bool) Snapshot {
	s := Snapshot{At: time.Now(), ClusterID: list.ClusterID, Fresh: fresh, Unused: l.Last.Unused, usable: l.Last.usable}
	for _, m := range list.Members {
		s.Members = append(s.Members, l.seen(m))
	}
	s.Leader = leaderOf(s)
	s.Index = indexOf(s)
	l.led[s.Leader] = true
	for i, m := range s.Members {
		s.Members[i].Led = l.led[m.ID]
	}
	return s
}

func (l *Looker) seen(m Member) Seen {
	w := l.probes[m.ID]
	a := w.status.Heard()
	s := Seen{Member: m, Target: w.target, Since: w.since, Status: a.Value.status, Err: a.Err}
	if a.Value.status.ID != 0 {
		s.At = a.At
	}
	if a.Live(l.reach.EndpointTimeout) {
		s.Liveness = a.Value.liveness
	}
	return s
}

// leaderOf is whom the live voter of the highest term calls leader.
func leaderOf(s Snapshot) ID {
	var leader ID
	var term uint64
	for _, m := range s.LiveVoters() {
		if m.Status.Leader != 0 && m.Status.Term >= term {
			leader, term = m.Status.Leader, m.Status.Term
		}
	}
	return leader
}

// indexOf is what the leader has committed; where it cannot be dialled, the
// highest that a voter knows of.
func indexOf(s Snapshot) uint64 {
	var highest uint64
	for _, m := range s.askable() {
		if m.ID == s.Leader {
			return m.Status.Index
		}
		highest = max(highest, m.Status.Index)
	}
	return highest
}

// Corrupt is the CORRUPT alarm in a member's own words, or empty.
func (s Snapshot) Corrupt() string {
	for _, m := range s.Members {
		for _, e := range m.Status.Errors {
			if strings.Contains(e, "CORRUPT") {
				return e
			}
		}
	}
	return ""
}

// Revive gives the looker a context of its own after the caller's has ended, so
// that an undo can look as well.
func (l *Looker) Revive(ctx context.Context) {
	l.Close()
	l.ctx, l.cancel = context.WithCancel(ctx)
	l.probes = map[ID]*watched{}
}
