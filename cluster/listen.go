package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/classify"
)

const (
	listenEvery  = 900 * time.Millisecond // a look sooner than that has nothing to add
	mostListened = 2 * time.Second        // of a look: with the pause behind it that stays below longestGap
)

// Suspect has every look from now on listen for a member: somebody would have it
// removed if it is dead, or if it never ran.
func (l *Looker) Suspect(id ID) {
	if l.Silences == nil {
		l.Silences = map[ID]Silence{}
	}
	if _, known := l.Silences[id]; !known {
		l.Silences[id] = Silence{}
	}
}

// listen asks the leader what it hears of the members under suspicion, and those
// themselves on their peer ports.
func (l *Looker) listen(ctx context.Context, s *Snapshot) {
	maps.DeleteFunc(l.Silences, func(id ID, _ Silence) bool { _, listed := s.ByID(id); return !listed })
	var due []*Seen
	for i := range s.Members {
		m := &s.Members[i]
		silence, suspected := l.Silences[m.ID]
		m.Silence = silence
		if age := s.At.Sub(silence.Newest); suspected && (age < 0 || age >= listenEvery) {
			due = append(due, m)
		}
	}
	if len(due) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, min(l.reach.EndpointTimeout, mostListened))
	defer cancel()
	var wg sync.WaitGroup
	var word Metrics
	var deaf error
	wg.Go(func() { word, deaf = l.word(ctx, *s) })
	signs := make([]string, len(due))
	for i, m := range due {
		wg.Go(func() { signs[i] = l.sign(ctx, *m) })
	}
	wg.Wait()
	leader, _ := s.ByID(s.Leader)
	for i, m := range due {
		heard := Listening{At: s.At, Leader: s.Leader, Term: leader.Status.Term, Bytes: word.Peers[m.ID].Received, Sign: signs[i]}
		if deaf != nil {
			heard.Deaf = deaf.Error()
		}
		m.Silence = l.Silences[m.ID].Hear(heard)
		l.Silences[m.ID] = m.Silence
	}
}

// word is what the leader exports, if it is the leader that tells it.
func (l *Looker) word(ctx context.Context, s Snapshot) (Metrics, error) {
	leader, ok := s.ByID(s.Leader)
	if !ok || s.NoQuorum || leader.Liveness != Alive || leader.Status.ID == 0 {
		return Metrics{}, errors.New("the leader does not answer us")
	}
	m, err := l.client.Metrics(ctx, leader.Target)
	if err == nil && m.ServerID != leader.ID {
		err = &WrongServerError{Want: leader.ID, Got: m.ServerID, Cluster: s.ClusterID, GotOne: s.ClusterID}
	}
	if err != nil {
		return Metrics{}, fmt.Errorf("the metrics of the leader %s cannot be read: %w", leader.ID, err)
	}
	return m, nil
}

// sign is an answer of the member, or of whoever is in its place, on a port of its own;
// empty: there was none. What its peer URLs answer is not asked for who it is: whoever
// is there must go before the member is called gone.
func (l *Looker) sign(ctx context.Context, m Seen) string {
	if m.Liveness == Alive {
		return "it answers"
	}
	list, err := l.client.PeerMembers(ctx, m.Target)
	switch {
	case err == nil:
		return fmt.Sprintf("its peer port answers, of cluster %s", list.ClusterID)
	case answered(err):
		return fmt.Sprintf("its peer port answers: %v", err)
	}
	return ""
}

// answered reports whether an error came from somebody who speaks HTTP or TLS.
func answered(err error) bool {
	var unready *Unready
	return errors.As(err, &unready) || errors.Is(err, errNoPath) || errors.Is(err, errNoList) || classify.TLSRefused(err)
}
