package member

import (
	"cmp"
	"context"
	"time"
)

// Memory is what a joiner must remember from one Step to the next. It is plain
// data: an operator may keep it in its own object, or lose it. Without it nothing
// goes wrong; the clocks begin anew, and the Start hook is called once more.
type Memory struct {
	Started   ID               `json:"started,omitempty"` // the entry Start was called for
	StartedAt time.Time        `json:"startedAt,omitzero"`
	Moved     time.Time        `json:"moved,omitzero"` // when its server last moved
	Phase     Phase            `json:"phase,omitempty"`
	Index     uint64           `json:"index,omitempty"`
	DBSize    int64            `json:"dbSize,omitempty"`
	Received  uint64           `json:"received,omitempty"`
	Near      time.Time        `json:"near,omitzero"`       // since when its reads are quick
	Missed    time.Time        `json:"missed,omitzero"`     // since when it is not in the list
	Ours      ID               `json:"ours,omitempty"`      // our entry, as last seen
	Removing  ID               `json:"removing,omitempty"`  // whom this joiner removes
	RemovedAt time.Time        `json:"removedAt,omitzero"`  // when it last did
	SlotLimit int              `json:"slotLimit,omitempty"` // learners there were at etcd's last "too many"
	Since     map[ID]time.Time `json:"since,omitempty"`     // when each member was first seen
}

// StepResult is what one Step did and found.
type StepResult struct {
	Did      Do     // DoWait: nothing; DoDone: the join is complete
	Member   Member // whom it concerned
	Text     string // why, for a person
	Progress Progress
	Result   Result        // of DoDone
	After    time.Duration // when to come back; 0 is at once
	Memory   Memory        // for the next Step
}

// Step looks, decides and does at most one thing: the form of a join for
// operators, which come back in any case. It waits for nothing but the answers
// of one look and one write. An error says that no further Step can help, as
// Join's would; nothing is undone, that is for [Engine.Abort]. Zero memory is fine.
func (e *Engine) Step(ctx context.Context, peerURL string, memory Memory) (StepResult, error) {
	r, err := e.newRun(ctx, peerURL)
	if err != nil {
		return StepResult{}, err
	}
	defer r.close()
	r.stepping = true
	r.recall(memory)
	var did StepResult
	decide := r.decide
	r.decide = func(c Case) Act {
		act := decide(c)
		did.Did, did.Member, did.Text, did.Progress = act.Do, act.Member, act.Text, c.Progress
		return act
	}
	v, err := r.pass(ctx, true)
	if err == nil {
		err = r.outwaited()
	}
	did.Memory = r.memory()
	if err != nil {
		return did, r.failed(r.joinError(err))
	}
	did.Result = r.result
	switch {
	case v.pause != nil:
		did.After = max(v.pause.NextBackOff(), 100*time.Millisecond)
	case did.Did == DoStart: // a server needs some time, and without memory each Step starts it
		did.After = 100 * time.Millisecond
	}
	return did, nil
}

// recall takes up where another Step left off.
func (r *run) recall(m Memory) {
	r.slotLimit, r.missed, r.looker.since = m.SlotLimit, m.Missed, m.Since
	r.ours, r.removing, r.removedAt = cmp.Or(m.Ours, m.Started), m.Removing, m.RemovedAt
	if m.Started == 0 {
		return
	}
	r.started = m.Started
	r.reached(StepCatchUp)
	r.waits.began, r.watches.began = m.StartedAt, m.StartedAt
	r.watch = r.newWatch(Member{ID: m.Started, PeerURLs: r.urls})
	r.watch.near = m.Near
	r.watch.tracker.recall(m)
}

func (r *run) memory() Memory {
	m := Memory{Started: r.started, Ours: r.ours, Removing: r.removing, RemovedAt: r.removedAt, Missed: r.missed, SlotLimit: r.slotLimit, Since: r.looker.firstSeen()}
	if r.watch != nil {
		r.watch.tracker.memorise(&m)
		m.Near = r.watch.near
	}
	return m
}
