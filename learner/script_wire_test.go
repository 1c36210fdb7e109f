package learner_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
)

// wire is the way from one process to the cluster. Each call takes a time of its
// own, by who makes it, what it is and whom it goes to, so that no two things ever
// happen at the same virtual moment and a run can be repeated to the letter. A
// process that was killed reaches nobody any more, in its undo neither.
type wire struct {
	next  cluster.Client
	far   time.Duration // what each call of this process takes longer
	dead  *atomic.Bool
	other func(answers, at cluster.ID) cluster.ID // the cluster whose server answers at a member's URLs
	wrote func(clustertest.Op, error)             // hears of every write
}

var errKilled = errors.New("the process was killed")

var ops = []clustertest.Op{
	clustertest.OpList, clustertest.OpListAt, clustertest.OpStatus, clustertest.OpRead, clustertest.OpPeerMembers,
	clustertest.OpMetrics, clustertest.OpMayChange, clustertest.OpAdd, clustertest.OpPromote, clustertest.OpRemove,
	clustertest.OpUpdate, clustertest.OpMoveLeader, clustertest.OpBarrier, clustertest.OpWho,
}

func latency(op clustertest.Op, at cluster.ID) time.Duration {
	return 200*time.Microsecond + time.Duration(slices.Index(ops, op))*17*time.Microsecond + time.Duration(at%16)*time.Microsecond
}

func over[T any](ctx context.Context, w wire, op clustertest.Op, at cluster.ID, call func() (T, error)) (v T, err error) {
	w.travel(ctx, op, at)
	if w.dead.Load() {
		return v, errKilled
	}
	v, err = call()
	w.travel(ctx, op, at)
	return v, err
}

// travel is the way there, or back.
func (w wire) travel(ctx context.Context, op clustertest.Op, at cluster.ID) {
	select {
	case <-ctx.Done():
	case <-time.After(w.far + latency(op, at)):
	}
}

// Reach is that of the client it stands before.
func (w wire) Reach() cluster.Reach { return cluster.ReachOf(w.next) }

// write is over for a call that changes something.
func (w wire) write(ctx context.Context, op clustertest.Op, at cluster.ID, call func() error) error {
	_, err := over(ctx, w, op, at, func() (struct{}, error) { return struct{}{}, call() })
	w.wrote(op, err)
	return err
}

func (w wire) List(ctx context.Context, from ...cluster.Target) (cluster.List, error) {
	l, err := over(ctx, w, clustertest.OpList, 0, func() (cluster.List, error) { return w.next.List(ctx, from...) })
	if err == nil {
		l.ClusterID = w.other(l.ClusterID, l.By)
	}
	return l, err
}

func (w wire) ListAt(ctx context.Context, at cluster.Target) (cluster.List, error) {
	return over(ctx, w, clustertest.OpListAt, at.ID, func() (cluster.List, error) { return w.next.ListAt(ctx, at) })
}

func (w wire) Status(ctx context.Context, at cluster.Target) (cluster.Status, error) {
	st, err := over(ctx, w, clustertest.OpStatus, at.ID, func() (cluster.Status, error) { return w.next.Status(ctx, at) })
	if err == nil {
		st.ClusterID = w.other(st.ClusterID, at.ID)
	}
	return st, err
}

func (w wire) Read(ctx context.Context, through cluster.Target) (cluster.ReadAnswer, error) {
	r, err := over(ctx, w, clustertest.OpRead, through.ID, func() (cluster.ReadAnswer, error) { return w.next.Read(ctx, through) })
	if err == nil {
		r.ClusterID = w.other(r.ClusterID, through.ID)
	}
	return r, err
}

func (w wire) Who(ctx context.Context, url string, clusterID, m cluster.ID) (cluster.Answer, error) {
	a, err := over(ctx, w, clustertest.OpWho, m, func() (cluster.Answer, error) { return w.next.Who(ctx, url, clusterID, m) })
	if other := w.other(clusterID, m); err == nil && other != clusterID {
		a.Identity, a.ClusterID = cluster.AnotherCluster, other.String()
	}
	return a, err
}

func (w wire) PeerMembers(ctx context.Context, at cluster.Target) (cluster.List, error) {
	return over(ctx, w, clustertest.OpPeerMembers, at.ID, func() (cluster.List, error) { return w.next.PeerMembers(ctx, at) })
}

func (w wire) Ask(ctx context.Context, peerURL string) ([]cluster.Reply, error) {
	if w.dead.Load() {
		return nil, errKilled
	}
	return w.next.Ask(ctx, peerURL) // it goes to our own host, which is near
}

func (w wire) Endpoints(ctx context.Context) ([]cluster.Endpoint, error) {
	if w.dead.Load() {
		return nil, errKilled
	}
	told, err := w.next.Endpoints(ctx) // beside a look, and within its time
	for i, e := range told {
		if e.Err == nil {
			told[i].Status.ClusterID = w.other(e.Status.ClusterID, e.Status.ID)
		}
	}
	return told, err
}

func (w wire) Metrics(ctx context.Context, at cluster.Target) (cluster.Metrics, error) {
	return over(ctx, w, clustertest.OpMetrics, at.ID, func() (cluster.Metrics, error) { return w.next.Metrics(ctx, at) })
}

func (w wire) MayChange(ctx context.Context, via cluster.Target) error {
	_, err := over(ctx, w, clustertest.OpMayChange, via.ID, func() (struct{}, error) { return struct{}{}, w.next.MayChange(ctx, via) })
	return err
}

func (w wire) Add(ctx context.Context, via cluster.Target, peerURLs []string, learner bool) (m cluster.Member, err error) {
	err = w.write(ctx, clustertest.OpAdd, via.ID, func() error {
		m, err = w.next.Add(ctx, via, peerURLs, learner)
		return err
	})
	return m, err
}

func (w wire) Promote(ctx context.Context, via cluster.Target, id cluster.ID) error {
	return w.write(ctx, clustertest.OpPromote, via.ID, func() error { return w.next.Promote(ctx, via, id) })
}

func (w wire) Remove(ctx context.Context, via cluster.Target, id cluster.ID) error {
	return w.write(ctx, clustertest.OpRemove, via.ID, func() error { return w.next.Remove(ctx, via, id) })
}

func (w wire) Update(ctx context.Context, via cluster.Target, id cluster.ID, peerURLs []string) error {
	return w.write(ctx, clustertest.OpUpdate, via.ID, func() error { return w.next.Update(ctx, via, id, peerURLs) })
}

func (w wire) MoveLeader(ctx context.Context, leader cluster.Target, to cluster.ID) error {
	return w.write(ctx, clustertest.OpMoveLeader, leader.ID, func() error { return w.next.MoveLeader(ctx, leader, to) })
}

func (w wire) Barrier(ctx context.Context, via cluster.Target) (b cluster.Behind, err error) {
	err = w.write(ctx, clustertest.OpBarrier, via.ID, func() error {
		b, err = w.next.Barrier(ctx, via)
		return err
	})
	if err == nil {
		b.ClusterID = w.other(b.ClusterID, b.By)
	}
	return b, err
}
