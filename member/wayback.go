package member

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/pace"
	"github.com/etcdjoin/etcdjoin/internal/probe"
)

// wayBack watches by the leader's metrics whether its own dials reach our member. It
// costs no pass a wait, and the leader some hundred requests in ten minutes: a vote does
// not wait for the proof, only for what was seen broken to be mended.
type wayBack struct {
	leader atomic.Pointer[cluster.Target]
	probe  *probe.Probe[leadersWord]
	pace   *pace.Proportional
	next   time.Time // not asked before
	taken  time.Time // the newest answer that was taken up
	dials  cluster.Dials
	way    cluster.Way
	told   bool
}

// leadersWord is what a leader exports, and who it is.
type leadersWord struct {
	cluster.Metrics
	leader cluster.ID
}

var errNotTheLeader = errors.New("another member answered in the leader's place")

func newWayBack(ctx context.Context, w *watch) *wayBack {
	b := &wayBack{pace: pace.NewProportional(50*time.Millisecond, 5*time.Second)}
	b.probe = probe.New(ctx, &w.wg, func() {}, nil, func(ctx context.Context) (leadersWord, error) {
		bounded, cancel := context.WithTimeout(ctx, w.reach.EndpointTimeout)
		defer cancel()
		leader := *b.leader.Load()
		m, err := w.client.Metrics(bounded, leader)
		if err == nil && m.ServerID != leader.ID {
			err = errNotTheLeader
		}
		return leadersWord{m, leader.ID}, err
	})
	return b
}

// observe takes up what the leader has told, and asks it again.
func (b *wayBack) observe(s cluster.Snapshot, ours cluster.Seen) cluster.Way {
	now := time.Now()
	heard := b.probe.Heard()
	switch {
	case heard.At.After(b.taken) && heard.Value.leader == s.Leader:
		b.taken = heard.At
		b.way = b.dials.Way(heard.At, s.Leader, heard.Value.Peers[ours.ID], ours.Since)
	case now.Sub(b.taken) > 15*time.Second:
		b.way = cluster.WayUnproven // nobody tells any more
	}
	if leader, ok := s.ByID(s.Leader); ok && leader.Status.ID != 0 && leader.ID != ours.ID && !now.Before(b.next) {
		b.leader.Store(&leader.Target)
		b.next = now.Add(b.pace.NextBackOff())
		b.probe.Ask()
	}
	return b.way
}

// refresh has the leader asked right before a vote, where it was not since our member
// first answered: that costs a few milliseconds once, and the wait is bounded.
func (b *wayBack) refresh(ctx context.Context, first time.Time, s cluster.Snapshot, within time.Duration) {
	leader, ok := s.ByID(s.Leader)
	if !ok || leader.Status.ID == 0 || first.IsZero() || b.probe.Heard().At.After(first) {
		return
	}
	b.leader.Store(&leader.Target)
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case <-bounded.Done():
	case <-b.probe.Ask():
	}
}

// tellWay tells once that the others cannot reach our member.
func (r *run) tellWay(ours cluster.Seen, way cluster.Way) {
	if way == cluster.WayBroken && !r.watch.back.told {
		r.watch.back.told = true
		r.emit(Event{Kind: OneWay, Member: &ours.Member, Text: "the leader cannot dial " + strings.Join(ours.PeerURLs, ", ")})
	}
}
