package learner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// process is one run of an installer, from its start to its end or its death.
type process struct {
	s         *script
	name, url string
	config    member.Config
	reach     cluster.ClientConfig
	ctx       context.Context
	cancel    context.CancelFunc
	dead      atomic.Bool
	within    time.Duration
	empties   bool                  // its directory before it starts another member there
	far       time.Duration         // from the cluster
	initial   map[cluster.ID]string // what each member was started with
	did       map[clustertest.Op]int
	heard     map[member.Kind]int
	last      member.Event
}

// begin makes a process of the arguments of a join: name, peer URL, knobs.
func (s *script) begin(args []string) *process {
	p := &process{s: s, within: 10 * time.Minute, initial: map[cluster.ID]string{},
		did: map[clustertest.Op]int{}, heard: map[member.Kind]int{}}
	if p.name, p.url = args[0], args[1]; p.url != "" {
		host := s.cluster.Host(p.url)
		p.config = member.Config{Start: p.start(host), Stop: p.stop(host), DataDir: disk{host, p}}
	}
	p.config.Observe = p.observe
	for _, arg := range args[2:] {
		knob, value, _ := strings.Cut(arg, "=")
		require.Contains(s.t, knobs, knob)
		knobs[knob](p, value)
	}
	p.ctx, p.cancel = context.WithTimeout(s.t.Context(), p.within)
	s.process = p
	return p
}

func (p *process) client() cluster.Client {
	return wire{p.s.cluster.With(p.reach), p.far, &p.dead, p.s.clusterAt, func(op clustertest.Op, err error) { _ = p.done(op, err) }}
}

// done counts what has had an effect.
func (p *process) done(op clustertest.Op, err error) error {
	if err == nil {
		p.did[op]++
	}
	return err
}

func (p *process) start(h *clustertest.Host) func(context.Context, member.StartSpec) error {
	return func(ctx context.Context, spec member.StartSpec) error {
		p.initial[spec.MemberID] = spec.InitialCluster
		if p.empties && p.s.startedAs[p.url] != spec.MemberID {
			h.Wipe()
		}
		p.s.startedAs[p.url] = spec.MemberID
		return p.done(clustertest.OpStart, h.Start(ctx, spec))
	}
}

func (p *process) stop(h *clustertest.Host) func(context.Context) error {
	return func(ctx context.Context) error { return p.done(clustertest.OpStop, h.Stop(ctx)) }
}

type disk struct {
	*clustertest.Host
	p *process
}

func (d disk) Archive(ctx context.Context) error {
	return d.p.done(clustertest.OpArchive, d.Host.Archive(ctx))
}

// die ends the process as a kill does.
func (p *process) die() {
	p.dead.Store(true)
	p.cancel()
}

func (p *process) observe(e member.Event) {
	if p.dead.Load() {
		return
	}
	p.heard[e.Kind]++
	p.last = e
	p.s.event(e)
	for _, line := range p.s.then[string(e.Kind)] {
		p.s.tell("  meanwhile %s", line)
		p.s.do(line)
	}
	delete(p.s.then, string(e.Kind))
}

// spec is what a start was given.
func (p *process) spec(c clustertest.Call) string {
	if c.Op != clustertest.OpStart || p == nil {
		return ""
	}
	return " with " + p.initial[c.ID]
}

// kindOf is the event that tells of each call that changes something.
var kindOf = map[clustertest.Op]member.Kind{
	clustertest.OpAdd: member.Adding, clustertest.OpRemove: member.Removing, clustertest.OpPromote: member.Promoting,
	clustertest.OpUpdate: member.Updating, clustertest.OpMoveLeader: member.Moving,
	clustertest.OpStart: member.Starting, clustertest.OpStop: member.Stopped, clustertest.OpArchive: member.Archived,
	clustertest.OpBarrier: member.Proving,
}

// end tells how the process ended. Its events alone must tell of everything that
// it did.
func (p *process) end(result string, err error) {
	p.cancel()
	p.s.writes()
	switch {
	case p.dead.Load():
		p.s.tell("= killed")
		return
	case err != nil && p.last.Kind == member.Failed && p.last.Text == err.Error():
		p.s.tell("= %s", particulars(err))
	case err != nil:
		p.s.tell("= %s: %v", particulars(err), err)
	default:
		p.s.tell("= %s", result)
	}
	for _, op := range slices.Sorted(maps.Keys(p.did)) {
		told := p.heard[kindOf[op]]
		if op == clustertest.OpBarrier {
			told += p.heard[member.Nudged]
		}
		if told < p.did[op] {
			p.s.wrong = append(p.s.wrong, fmt.Sprintf("%d %s, of which the events tell %d", p.did[op], op, told))
		}
	}
}

// particulars are what a program finds in an error.
func particulars(err error) string {
	var names []string
	for name, reason := range reasons {
		if errors.Is(err, reason) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var input *member.InputError
	if errors.As(err, &input) {
		names = append(names, "InputError")
	}
	var exit *cluster.ExitError
	if errors.As(err, &exit) {
		names = append(names, "ExitError")
	}
	var join *member.JoinError
	if !errors.As(err, &join) {
		return fmt.Sprintf("%T", err)
	}
	return fmt.Sprintf("error at step %q, changed %t, is %s", join.Step, join.Changed, strings.Join(names, " "))
}

// joiner is what a process joins with.
type joiner interface {
	member.Joiner
	Step(ctx context.Context, peerURL string, memory member.Memory) (member.StepResult, error)
	Plan(ctx context.Context, peerURL string) (member.Plan, error)
	Add(ctx context.Context, peerURL string) (member.StartSpec, error)
	Abort(ctx context.Context, peerURL string) error
}

func (p *process) joiner(voting bool) joiner {
	var j joiner
	var err error
	if voting {
		j, err = member.NewVotingJoiner(p.client(), p.name, p.config)
	} else {
		j, err = learner.NewJoiner(p.client(), p.name, p.config)
	}
	require.NoError(p.s.t, err)
	return j
}

func (p *process) outcome(r member.Result) string {
	text := fmt.Sprintf("%s; %d voters, quorum %d, margin %d, changed %t", r.Member, r.Voters, r.Quorum, r.Margin, r.Changed)
	for _, moment := range []struct {
		what string
		at   time.Time
	}{{"added", r.Added}, {"started", r.Started}, {"promoted", r.Promoted}, {"serving", r.Serving}} {
		if !moment.at.IsZero() {
			text += fmt.Sprintf(", %s @%.2f", moment.what, moment.at.Sub(p.s.began).Seconds())
		}
	}
	if r.WayBack != cluster.WayUnproven {
		text += ", way back " + string(r.WayBack)
	}
	if r.Unproven {
		text += ", nothing proves its vote"
	}
	return text
}
