package member

import (
	"context"
	"log/slog"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// Config holds every knob of a joiner; the zero value is safe. Hooks may be nil.
type Config struct {
	// Start has the etcd server started. It is called when the member is in the
	// list and every voter that answers shows it, and before Join waits for it.
	// It must return once the start is on its way, and be idempotent: the same
	// MemberID may come again, from this or a later Join; another MemberID is
	// another member and needs an empty data directory. An error ends the join
	// at [StepStart]. Nil: somebody else starts it, Join waits.
	Start func(context.Context, StartSpec) error
	// Stop stops the server that Start started. It is called only after the
	// member's entry was removed and that was confirmed. Nil: nothing is stopped.
	Stop func(context.Context) error
	// Exited says how the server process ended, nil while it runs or where that
	// is not known. It is asked on every pass after Start; an answer ends the
	// join, so a supervisor that restarts etcd answers only when it gave up.
	Exited func(context.Context) *cluster.ExitError
	// DataDir looks into the joiner's data directory. Nil: what it holds is
	// unknown, and a wiped disk cannot be told from a good one.
	DataDir DataDir
	// MayAdd, MayPromote and MayRemove are asked right before that write, MayPromote
	// right before the proof that the vote hangs on: it may be asked again where that
	// fails. An error refuses the write and ends the join.
	MayAdd, MayPromote, MayRemove func(context.Context, cluster.Member) error
	// Observe receives every event, in order, on the joining goroutine: it must
	// not block. Nil: nobody listens.
	Observe func(Event)
	// Logger receives the turning points. Nil: nothing is logged.
	Logger *slog.Logger

	// ServerVersion is the etcd release that Start starts, for the skew rule and
	// the hazards. Zero: unknown, both go unchecked for the joiner's side.
	ServerVersion version.Version
	// MetricsURL is the joiner's --listen-metrics-urls. Empty: progress cannot be
	// read before the server serves.
	MetricsURL string

	// OnFailure says what becomes of the entry when a join fails. Zero:
	// [UndoUnstarted].
	OnFailure decide.OnFailure
	// SameName says what to do with another entry of our name. Zero: [Refuse].
	SameName decide.SameName
	// Slot says what to do while another learner holds the slot. Zero: [SlotWait].
	Slot decide.Slot
	// EvictAfter is how old an entry that never ran must be before [EvictStalled]
	// removes it. Zero: 15 min, and never less: a slow machine takes as long to boot.
	EvictAfter time.Duration
	// AcceptNoMargin lets a member vote although its failure would then cost the
	// quorum. False: refused, except that a LearnerJoiner may always go from one
	// live voter to two.
	AcceptNoMargin bool
	// AcceptHazards names the hazards of package version that the caller takes
	// upon itself. Nil: those that lose data or quorum refuse the join.
	AcceptHazards []string
	// UpdateAddress lets the peer URLs of our entry be changed where our data is
	// that of a member listed under others. False: such a join is refused.
	UpdateAddress bool
	// Rejoin lets the data of a removed or lost member be archived through
	// DataDir, so that it joins as a new one. False: such a join is refused.
	Rejoin bool

	// ReadWithin is how quickly a learner must answer a linearizable read right
	// before its vote: how far behind, in time, it may be. Zero: 250 ms.
	ReadWithin time.Duration
	// StallTimeout ends the wait for a server that shows no movement. Zero: 5 min.
	StallTimeout time.Duration
	// WriteTimeout bounds one membership write; etcd itself allows 7 s. Zero: 10 s.
	WriteTimeout time.Duration
	// UndoWithin is how long the undo of a failed join may take beyond the caller's
	// context; what was not undone by then is in the error. Zero: 30 s.
	UndoWithin time.Duration
	// ReturnAt is the moment Join returns at. Zero: [Serving].
	ReturnAt decide.Moment
}

// policy is what decisions depend on; no hook is among it.
func (c Config) policy() decide.Policy {
	return decide.Policy{
		ServerVersion: c.ServerVersion, OnFailure: c.OnFailure, SameName: c.SameName, Slot: c.Slot, EvictAfter: c.EvictAfter,
		AcceptNoMargin: c.AcceptNoMargin, AcceptHazards: c.AcceptHazards, UpdateAddress: c.UpdateAddress, Rejoin: c.Rejoin,
		ReadWithin: c.ReadWithin, StallTimeout: c.StallTimeout, ReturnAt: c.ReturnAt,
	}
}

// withDefaults fills in what zero means; c is not changed.
func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		knob *time.Duration
		zero time.Duration
	}{
		{&c.EvictAfter, cluster.UnseenAfter},
		{&c.ReadWithin, 250 * time.Millisecond},
		{&c.StallTimeout, 5 * time.Minute},
		{&c.WriteTimeout, 10 * time.Second},
		{&c.UndoWithin, 30 * time.Second},
	} {
		if *d.knob == 0 {
			*d.knob = d.zero
		}
	}
	return c
}

// check refuses what cannot be meant, naming the knob and the rule.
func (c Config) check() error {
	for knob, d := range map[string]time.Duration{
		"ReadWithin": c.ReadWithin, "StallTimeout": c.StallTimeout,
		"WriteTimeout": c.WriteTimeout, "UndoWithin": c.UndoWithin,
	} {
		if d < 0 {
			return reason.Input("Config."+knob, d.String(), "must not be negative")
		}
	}
	switch {
	case c.EvictAfter != 0 && c.EvictAfter < cluster.UnseenAfter:
		return reason.Input("Config.EvictAfter", c.EvictAfter.String(), "must not be less than "+cluster.UnseenAfter.String())
	case !oneOf(c.OnFailure, decide.UndoUnstarted, decide.Keep, decide.Undo):
		return reason.Input("Config.OnFailure", string(c.OnFailure), "is none of the policies")
	case !oneOf(c.SameName, decide.Refuse, decide.ReplaceIfDead):
		return reason.Input("Config.SameName", string(c.SameName), "is none of the policies")
	case !oneOf(c.Slot, decide.SlotWait, decide.SlotFail, decide.EvictStalled):
		return reason.Input("Config.Slot", string(c.Slot), "is none of the policies")
	case !oneOf(c.ReturnAt, decide.Serving, decide.Promoted):
		return reason.Input("Config.ReturnAt", string(c.ReturnAt), "is none of the moments")
	}
	for _, name := range c.AcceptHazards {
		if version.CheckAccepted([]string{name}) != nil {
			return reason.Input("Config.AcceptHazards", name, "is the name of no hazard")
		}
	}
	return checkMetricsURL(c.MetricsURL)
}

func oneOf[T comparable](v T, allowed ...T) bool {
	for _, a := range allowed {
		if v == a {
			return true
		}
	}
	return false
}
