package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Survey is what is asked beyond a look while our member has not run: things
// that forbid a join, and that nobody would want to learn after a write.
type Survey struct {
	Diverged    error         // the voters' own lists differ; nil: they agree
	For         time.Duration // for how long they have differed
	Downgrading bool
	Shut        error // no peer port that was asked takes our TLS; nil: one does, or nobody can tell
}

// SettleLists is for how long the voters' lists may differ before that is no
// delay any more: a voter applies what is committed within some milliseconds.
const SettleLists = 3 * time.Second

// Survey asks all of it at once, bounded by one EndpointTimeout.
func (l *Looker) Survey(ctx context.Context, s Snapshot) *Survey {
	bounded, cancel := context.WithTimeout(ctx, l.reach.EndpointTimeout)
	defer cancel()
	var v Survey
	var wg sync.WaitGroup
	var lists map[ID]List
	wg.Go(func() { lists, _ = l.OwnLists(bounded, s, 0) })
	wg.Go(func() { v.Downgrading, v.Shut = l.throughPeerPorts(bounded, s) })
	wg.Wait()
	v.Diverged = diverged(lists)
	switch {
	case v.Diverged == nil:
		l.diverged = time.Time{}
	case l.diverged.IsZero():
		l.diverged = time.Now()
	}
	if v.Diverged != nil {
		v.For = time.Since(l.diverged)
	}
	return &v
}

// OwnLists asks every voter whose word counts, but one, for the list it holds itself.
func (l *Looker) OwnLists(ctx context.Context, s Snapshot, but ID) (map[ID]List, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	lists := map[ID]List{}
	var errs []error
	for _, v := range s.askable() {
		if v.ID == but || v.Status.ID == 0 { // known by the host's word only: nobody to ask
			continue
		}
		wg.Go(func() {
			list, err := l.client.ListAt(ctx, v.Target)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("voter %s: %w", v.ID, err))
				return
			}
			lists[v.ID] = list
		})
	}
	wg.Wait()
	return lists, errors.Join(errs...)
}

// diverged compares the voters' own lists. On 3.5.1 to 3.5.19 promotions were
// not saved, and a cluster that ran them may show one member in two roles
// (etcd #19557); with different --max-learners the lists differ for good.
func diverged(lists map[ID]List) error {
	var first ID
	var want string
	for _, id := range slices.Sorted(maps.Keys(lists)) {
		got := digest(lists[id])
		if first == 0 {
			first, want = id, got
		}
		if got != want {
			return reason.Of(reason.ErrDiverged, "voter %s has %s, voter %s has %s", first, want, id, got)
		}
	}
	return nil
}

func digest(l List) string {
	members := slices.Clone(l.Members)
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = m.String()
	}
	return "[" + strings.Join(texts, "; ") + "]"
}

// throughPeerPorts reads through the leader as it will be read through our learner. A
// downgrade is told by the Status of 3.6 and later, and by that read on 3.5. Where our
// TLS is refused by every voter it would be by our learner too: nobody wants to learn
// that from one that has run, holds the slot and can never get its vote. The host's
// word can stand in for the read.
func (l *Looker) throughPeerPorts(ctx context.Context, s Snapshot) (downgrading bool, shut error) {
	for _, m := range s.Members {
		downgrading = downgrading || m.Status.Downgrading
	}
	leader, ok := s.ByID(s.Leader)
	if !ok {
		return downgrading, nil
	}
	answer, err := l.client.Read(ctx, leader.Target)
	if !classify.TLSRefused(err) || l.reach.Alive != nil {
		return downgrading || err == nil && answer.Downgrading, nil
	}
	for _, m := range s.VotersInContact() {
		if m.ID == s.Leader {
			continue
		}
		if _, other := l.client.Read(ctx, m.Target); !classify.TLSRefused(other) {
			return downgrading, nil
		}
	}
	return downgrading, fmt.Errorf("%s: %w", leader.Target, err)
}
