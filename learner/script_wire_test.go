package learner_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/member/membertest"
)

// wire is the way from one process to the cluster. Each call takes a time of its
// own, by who makes it, what it is and whom it goes to, so that no two things ever
// happen at the same virtual moment and a run can be repeated to the letter. A
// process that was killed reaches nobody any more, in its undo neither.
type wire struct {
	*membertest.Cluster
	far   time.Duration // what each call of this process takes longer
	dead  *atomic.Bool
	other func(member.ID) member.ID  // the cluster whose server answers at a member's URLs
	wrote func(membertest.Op, error) // hears of every write
}

var errKilled = errors.New("the process was killed")

var ops = []membertest.Op{
	membertest.OpList, membertest.OpListAt, membertest.OpStatus, membertest.OpRead, membertest.OpPeerMembers,
	membertest.OpMetrics, membertest.OpMayChange, membertest.OpAdd, membertest.OpPromote, membertest.OpRemove,
	membertest.OpUpdate, membertest.OpMoveLeader, membertest.OpNudge,
}

func latency(op membertest.Op, at member.ID) time.Duration {
	return 200*time.Microsecond + time.Duration(slices.Index(ops, op))*17*time.Microsecond + time.Duration(at%16)*time.Microsecond
}

func over[T any](ctx context.Context, w wire, op membertest.Op, at member.ID, call func() (T, error)) (v T, err error) {
	w.travel(ctx, op, at)
	if w.dead.Load() {
		return v, errKilled
	}
	v, err = call()
	w.travel(ctx, op, at)
	return v, err
}

// travel is the way there, or back.
func (w wire) travel(ctx context.Context, op membertest.Op, at member.ID) {
	select {
	case <-ctx.Done():
	case <-time.After(w.far + latency(op, at)):
	}
}

// write is over for a call that changes something.
func (w wire) write(ctx context.Context, op membertest.Op, at member.ID, call func() error) error {
	_, err := over(ctx, w, op, at, func() (struct{}, error) { return struct{}{}, call() })
	w.wrote(op, err)
	return err
}

func (w wire) List(ctx context.Context, from ...member.Target) (member.List, error) {
	l, err := over(ctx, w, membertest.OpList, 0, func() (member.List, error) { return w.Cluster.List(ctx, from...) })
	if err == nil {
		l.ClusterID = w.other(l.By)
	}
	return l, err
}

func (w wire) ListAt(ctx context.Context, at member.Target) (member.List, error) {
	return over(ctx, w, membertest.OpListAt, at.ID, func() (member.List, error) { return w.Cluster.ListAt(ctx, at) })
}

func (w wire) Status(ctx context.Context, at member.Target) (member.Status, error) {
	st, err := over(ctx, w, membertest.OpStatus, at.ID, func() (member.Status, error) { return w.Cluster.Status(ctx, at) })
	if err == nil {
		st.ClusterID = w.other(at.ID)
	}
	return st, err
}

func (w wire) Read(ctx context.Context, through member.Target) (member.ReadAnswer, error) {
	r, err := over(ctx, w, membertest.OpRead, through.ID, func() (member.ReadAnswer, error) { return w.Cluster.Read(ctx, through) })
	if err == nil {
		r.ClusterID = w.other(through.ID)
	}
	return r, err
}

func (w wire) PeerMembers(ctx context.Context, at member.Target) (member.List, error) {
	return over(ctx, w, membertest.OpPeerMembers, at.ID, func() (member.List, error) { return w.Cluster.PeerMembers(ctx, at) })
}

func (w wire) Metrics(ctx context.Context, at member.Target) (member.Metrics, error) {
	return over(ctx, w, membertest.OpMetrics, at.ID, func() (member.Metrics, error) { return w.Cluster.Metrics(ctx, at) })
}

func (w wire) MayChange(ctx context.Context, via member.Target) error {
	_, err := over(ctx, w, membertest.OpMayChange, via.ID, func() (struct{}, error) { return struct{}{}, w.Cluster.MayChange(ctx, via) })
	return err
}

func (w wire) Add(ctx context.Context, via member.Target, peerURLs []string, learner bool) (m member.Member, err error) {
	err = w.write(ctx, membertest.OpAdd, via.ID, func() error {
		m, err = w.Cluster.Add(ctx, via, peerURLs, learner)
		return err
	})
	return m, err
}

func (w wire) Promote(ctx context.Context, via member.Target, id member.ID) error {
	return w.write(ctx, membertest.OpPromote, via.ID, func() error { return w.Cluster.Promote(ctx, via, id) })
}

func (w wire) Remove(ctx context.Context, via member.Target, id member.ID) error {
	return w.write(ctx, membertest.OpRemove, via.ID, func() error { return w.Cluster.Remove(ctx, via, id) })
}

func (w wire) Update(ctx context.Context, via member.Target, id member.ID, peerURLs []string) error {
	return w.write(ctx, membertest.OpUpdate, via.ID, func() error { return w.Cluster.Update(ctx, via, id, peerURLs) })
}

func (w wire) MoveLeader(ctx context.Context, leader member.Target, to member.ID) error {
	return w.write(ctx, membertest.OpMoveLeader, leader.ID, func() error { return w.Cluster.MoveLeader(ctx, leader, to) })
}

func (w wire) Nudge(ctx context.Context, via member.Target) error {
	return w.write(ctx, membertest.OpNudge, via.ID, func() error { return w.Cluster.Nudge(ctx, via) })
}
