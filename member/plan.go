package member

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// Plan is what a joiner would do next, and why. Making one writes nothing.
type Plan struct {
	Do       Do                `json:"do"`       // the next act; DoRefuse and DoDone end a join
	Member   cluster.Member    `json:"member"`   // the entry it concerns, zero for an add
	Text     string            `json:"text"`     // why, for a person
	Why      error             `json:"-"`        // of DoRefuse and DoWait; find the reason with errors.Is or [ReasonOf]. In JSON its word, text and hint
	Forecast cluster.Forecast  `json:"forecast"` // of the vote that the join ends with
	Hazards  []version.Finding `json:"hazards"`  // that these versions are known for
	Snapshot cluster.Snapshot  `json:"snapshot"` // what was found
	// Doubts are what does not forbid it, and a person should know before.
	Doubts []string `json:"doubts,omitempty"`
	// Unasked is what only a write to the log could tell, so that no plan asks it.
	Unasked  []string `json:"unasked,omitempty"`
	Unproven bool     `json:"unproven,omitempty"` // of DoDone: see [Result]
}

// MarshalJSON is the plan for another program.
func (p Plan) MarshalJSON() ([]byte, error) {
	type plain Plan
	return json.Marshal(struct {
		plain
		Why *reason.Told `json:"why,omitempty"`
	}{plain(p), reason.Tell(p.Why)})
}

// String explains the plan in a few lines.
func (p Plan) String() string {
	text := fmt.Sprintf("next: %s", p.Do)
	if p.Member.ID != 0 {
		text += " " + p.Member.String()
	}
	if p.Text != "" {
		text += "\nwhy: " + reason.Shown(p.Text)
	}
	text += "\nforecast: " + p.Forecast.String()
	for _, line := range p.Doubts {
		text += "\nnote: " + reason.Shown(line)
	}
	for _, what := range p.Unasked {
		text += "\nnot asked: " + what
	}
	return text
}

// Plan looks and decides, and writes nothing. An error says that the cluster
// could not be looked at; a refusal is no error, but [Plan.Why].
func (e *Engine) Plan(ctx context.Context, peerURL string) (Plan, error) {
	r, err := e.newRun(ctx, VerbPlan, peerURL)
	if err != nil {
		return Plan{}, err
	}
	defer r.close()
	c, act, err := r.weigh(ctx, true)
	if err != nil {
		if _, final := r.blind(ctx, err); final != nil {
			return Plan{}, r.joinError(final)
		}
		return Plan{}, r.joinError(r.waiting.why) // where a join would wait
	}
	if c.Blind != nil && act.Do == decide.DoWait {
		return Plan{}, r.joinError(c.Blind)
	}
	p := Plan{Do: act.Do, Member: act.Member, Text: act.Text, Why: reason.Discreet(act.Why), Snapshot: c.Snapshot,
		Forecast: cluster.Foresee(c.Snapshot, cluster.ToPromote, act.Member),
		Hazards:  version.Hazards(c.Snapshot.ServerVersions(), c.Policy.ServerVersion), Doubts: decide.Doubts(c)}
	if act.Writes() || act.Do == decide.DoArchive || act.Do == decide.DoProve {
		p.Unasked = []string{"whether the caller may change the membership"}
	}
	if ours, found := c.Snapshot.ByID(act.Member.ID); found && act.Do == decide.DoDone {
		p.Unproven = decide.Unproven(ours, false)
	}
	return p, nil
}

// Add does the first half of a join: it returns once our entry is in the list
// and every voter that answers shows it, with all that is needed to start the
// server. Join, from this or another process, does the rest. After an error the
// entry is treated as Join's would be.
func (e *Engine) Add(ctx context.Context, peerURL string) (StartSpec, error) {
	half := *e
	var spec StartSpec
	half.config.Start = func(_ context.Context, s StartSpec) error {
		spec = s
		return errAdded
	}
	r, err := half.newRun(ctx, VerbAdd, peerURL)
	if err != nil {
		return StartSpec{}, err
	}
	defer r.close()
	if err := r.loop(ctx); err != nil && spec.MemberID == 0 {
		return StartSpec{}, r.fail(ctx, err)
	}
	if spec.MemberID == 0 {
		return r.startSpec(r.looker.Last, r.result.Member)
	}
	return spec, nil
}

// errAdded ends the loop of an Add where the server would be started.
var errAdded = fmt.Errorf("added")

// Abort undoes a join whose member does not vote yet: the entry is removed, then
// its server stopped and its data moved aside by the hooks; a data directory that holds
// another member's shows that it is another's server, and both are left alone. No such
// entry is success, once that is proven. A voter is refused: to remove one is a decision
// of its own.
func (e *Engine) Abort(ctx context.Context, peerURL string) error {
	undoer := *e
	undoer.config.OnFailure = decide.Undo
	r, err := undoer.newRun(ctx, VerbAbort, peerURL)
	if err != nil {
		return err
	}
	defer r.close()
	did, _, err := r.undoEntry(ctx, decide.Own{})
	if err != nil {
		return r.failed(r.joinError(err))
	}
	if ours, found := r.looker.Last.ByURLs(r.urls); found && !ours.Learner {
		why := reason.Of(reason.ErrVoter, "%s (%s)", ours.Member, did)
		if r.looker.Last.NoQuorum {
			why = reason.Within(reason.ErrNoQuorum, why)
		}
		return r.failed(r.joinError(why))
	}
	return nil
}
