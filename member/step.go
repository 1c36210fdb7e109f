package member

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// StepResult is what one Step did and found.
type StepResult struct {
	Did      Do               `json:"did"`    // DoWait: nothing; DoDone: the join is complete
	Member   cluster.Member   `json:"member"` // whom it concerned
	Text     string           `json:"text"`   // why, for a person
	Progress cluster.Progress `json:"progress"`
	Result   Result           `json:"result,omitzero"` // of DoDone
	After    time.Duration    `json:"after"`           // when to come back; 0 is at once
	Memory   Memory           `json:"memory"`          // for the next Step
	// Why is what is waited for, or why no further Step can help; find the reason with
	// errors.Is or [ReasonOf]. In JSON it is its word, text and hint.
	Why error `json:"-"`
}

// MarshalJSON is the result for a log or an object's status.
func (s StepResult) MarshalJSON() ([]byte, error) {
	type plain StepResult
	return json.Marshal(struct {
		plain
		Why *reason.Told `json:"why,omitempty"`
	}{plain(s), reason.Tell(s.Why)})
}

// Step looks, decides and does at most one thing: the form of a join for
// operators, which come back in any case. It waits for nothing but the answers
// of one look and one write. An error says that no further Step can help, as
// Join's would; nothing is undone, that is for [Engine.Abort]. Zero memory is fine.
func (e *Engine) Step(ctx context.Context, peerURL string, memory Memory) (StepResult, error) {
	r, err := e.newRun(ctx, VerbJoin, peerURL)
	if err != nil {
		return StepResult{}, err
	}
	defer r.close()
	r.stepping = true
	r.recall(memory)
	var did StepResult
	table := r.decide
	r.decide = func(c decide.Case) decide.Act {
		act := table(c)
		did.Did, did.Member, did.Text, did.Progress = act.Do, act.Member, act.Text, c.Progress
		return act
	}
	v, err := r.pass(ctx, true)
	if err == nil {
		err = r.outwaited()
	}
	did.Memory = r.memory()
	if err != nil {
		did.Why = r.joinError(err)
		return did, r.failed(r.joinError(err))
	}
	did.Why, did.Result = reason.Discreet(r.waiting.why), r.result
	switch {
	case v.pause != nil:
		did.After = max(v.pause.NextBackOff(), 100*time.Millisecond, slotPause(r.waiting.why))
	case did.Did == decide.DoStart: // a server needs some time, and without memory each Step starts it
		did.After = 100 * time.Millisecond
	}
	return did, nil
}

// slotPause is the pause of a wait for the slot: each Step begins anew, but the holder
// has been seen for long.
func slotPause(why error) time.Duration {
	var slot *cluster.SlotError
	var silence *cluster.SilenceError
	if !errors.As(why, &slot) || errors.As(why, &silence) {
		return 0
	}
	return min(slot.Holders[0].Seen/10, 3*time.Second)
}

// recall takes up where another Step left off.
func (r *run) recall(m Memory) {
	r.slot, r.looker.Since = slot{m.SlotLimit, m.SlotAt}, m.Ages(time.Now())
	r.entry = entry{id: cmp.Or(m.Ours, m.Started), started: m.Started != 0, voteless: m.Voteless}
	r.removal = removal{m.Removing, m.RemovedAt, m.Answered}
	maps.Copy(r.absent, m.Absent)
	r.looker.Silences = maps.Clone(m.Silences)
	r.entry.voted = m.Voted != 0 && m.Voted == r.entry.id
	if m.Started == 0 {
		return
	}
	r.reached(StepCatchUp)
	r.waits.Began, r.watches.Began = m.StartedAt, m.StartedAt
	r.watch = r.newWatch(cluster.Member{ID: m.Started, PeerURLs: r.urls})
	r.watch.tracker.Recall(m)
}

func (r *run) memory() Memory {
	m := Memory{Started: r.entry.startedAs(), Ours: r.entry.id, Removing: r.removal.id, RemovedAt: r.removal.at, Answered: r.removal.answered, Absent: maps.Clone(r.absent), SlotLimit: r.slot.limit, SlotAt: r.slot.at, Since: r.looker.FirstSeen(), Looked: r.looker.Last.At, Silences: r.looker.Silences, Voteless: r.entry.voteless}
	if r.entry.voted {
		m.Voted = r.entry.id
	}
	if r.watch != nil {
		r.watch.tracker.Memorise(&m)
	}
	return m
}
