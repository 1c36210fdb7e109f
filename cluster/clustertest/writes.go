package clustertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/version"
)

// write is one request that goes through the log: received, checked, proposed,
// committed, applied by the server that received it, answered.
type write struct {
	c    *Cluster
	r    *record
	via  cluster.Target
	p    *process // who received it
	prop *proposal
	sent time.Time
	// limit is the server's own patience; 0: none, as with membership changes.
	limit time.Duration
	// check refuses the request (nothing is proposed), or waits, or says what is to
	// be proposed.
	check func(*process, *wait) (*proposal, error)
}

func (o *write) step(w *wait) (none, error) {
	if o.p == nil {
		p, err := o.c.connect(o.via)
		if err != nil {
			return none{}, err
		}
		o.p, o.r.Reached = p, true
		if err := o.c.intercept(p); err != nil {
			return none{}, err
		}
	}
	switch {
	case o.p.host.proc != o.p:
		return none{}, errBroken
	case !o.c.serves(o.p):
		return none{}, errWait
	case o.prop == nil:
		prop, err := o.check(o.p, w)
		if err != nil {
			return none{}, err
		}
		o.submit(prop)
	}
	return none{}, o.answer(w)
}

// submit hands the proposal to the leader. If that cannot be reached the proposal
// is lost, and nobody is told.
func (o *write) submit(prop *proposal) {
	o.prop, prop.from, o.sent = prop, o.r, o.c.now
	if !o.c.contact(o.p) {
		prop.lost = true
		return
	}
	o.c.propose(prop)
}

func (o *write) answer(w *wait) error {
	if o.prop.done && o.c.applied(o.p, o.prop.index, w) {
		return o.prop.err
	}
	if o.limit == 0 {
		return errWait
	}
	if end := o.sent.Add(o.limit); o.c.now.Before(end) {
		w.until(end)
		return errWait
	}
	return rpctypes.ErrTimeout
}

// connect is the first of a target's endpoints that accepts a connection.
func (c *Cluster) connect(via cluster.Target) (*process, error) {
	eps := c.endpoints(via)
	if len(eps) == 0 {
		return nil, errNoURL
	}
	var errs []error
	for _, u := range eps {
		p := c.onClientURL(u)
		switch {
		case p == nil || c.knob(p.id).hidden:
			errs = append(errs, fmt.Errorf("%s: %w", u, refused(u)))
		case !c.serves(p):
			return nil, errWait
		default:
			return p, nil
		}
	}
	return nil, errors.Join(errs...)
}

// write makes one write.
func (c *Cluster) write(ctx context.Context, call Call, via cluster.Target, check func(*process, *wait) (*proposal, error)) error {
	return c.writeOn(ctx, call, via, &way{c: c}, check)
}

func (c *Cluster) writeOn(ctx context.Context, call Call, via cluster.Target, on *way, check func(*process, *wait) (*proposal, error)) error {
	_, err := do(c, ctx, call, func(r *record, f Fault) asking[none] {
		on.goesWrong(f)
		o := &write{c: c, r: r, via: via, check: check}
		return o.step
	})
	return err
}

// Add implements [member.Client]. A 3.3 server takes a learner for a voter.
func (c *Cluster) Add(ctx context.Context, via cluster.Target, peerURLs []string, learner bool) (cluster.Member, error) {
	urls := readURLs(peerURLs)
	var added cluster.Member
	call := Call{Op: OpAdd, At: via.ID, URLs: slices.Clone(peerURLs), Learner: learner}
	on := c.wayTo(via)
	err := c.writeOn(ctx, call, via, on, func(p *process, _ *wait) (*proposal, error) {
		role := learner && c.can(p, version.Learners)
		if err := c.mayAdd(p, urls, role); err != nil {
			return nil, err
		}
		id := c.mint(urls)
		return &proposal{conf: true, apply: func() error {
			m := cluster.Member{ID: id, PeerURLs: urls, Learner: role}
			err := c.applyAdd(m)
			if err == nil {
				added = clone(m)
			}
			return err
		}}, nil
	})
	if err != nil {
		return cluster.Member{}, on.told(err)
	}
	return added, nil
}

// Promote implements [member.Client].
func (c *Cluster) Promote(ctx context.Context, via cluster.Target, id cluster.ID) error {
	_, err := do(c, ctx, Call{Op: OpPromote, At: via.ID, ID: id}, func(r *record, _ Fault) asking[none] {
		o := &promotion{c: c, id: id}
		return (&write{c: c, r: r, via: via, check: o.check}).step
	})
	return err
}

// promotion is one promote up to its proposal.
type promotion struct {
	c       *Cluster
	id      cluster.ID
	asked   time.Time
	backlog float64 // what was committed then
}

func (o *promotion) check(p *process, w *wait) (*proposal, error) {
	if o.asked.IsZero() {
		o.asked, o.backlog = o.c.now, o.c.commit
	}
	if err := o.may(p, w); err != nil {
		return nil, err
	}
	return &proposal{conf: true, apply: func() error { return o.c.applyPromote(o.id) }}, nil
}

var errUnimplemented = errors.New("rpc error: code = Unimplemented desc = unknown method MemberPromote for service etcdserverpb.Cluster")

func (o *promotion) may(p *process, w *wait) error {
	c := o.c
	switch {
	case !c.can(p, version.Learners):
		return errUnimplemented
	case c.can(p, version.PromoteWaitsForApplied) && !c.applied(p, o.backlog, w):
		return o.patience(appliedTimeout, rpctypes.ErrTimeoutWaitAppliedIndex, w)
	case p.id == c.leader:
		return c.mayPromote(p, o.id)
	}
	return o.forward(p, w)
}

// forward asks the leader. Most of its reasons are hidden behind a timeout: the
// server goes on asking (E§1.6).
func (o *promotion) forward(p *process, w *wait) error {
	if o.c.contact(p) {
		err := o.c.mayPromote(o.c.proc(o.c.leader), o.id)
		if err == nil || errors.Is(err, rpctypes.ErrMemberNotFound) || errors.Is(err, rpctypes.ErrMemberLearnerNotReady) {
			return err
		}
	}
	return o.patience(requestTimeout, rpctypes.ErrTimeout, w)
}

// patience is errWait until d has passed since the request, then err.
func (o *promotion) patience(d time.Duration, err error, w *wait) error {
	if end := o.asked.Add(d); o.c.now.Before(end) {
		w.until(end)
		return errWait
	}
	return err
}

// Remove implements [member.Client].
func (c *Cluster) Remove(ctx context.Context, via cluster.Target, id cluster.ID) error {
	return c.write(ctx, Call{Op: OpRemove, At: via.ID, ID: id}, via, func(p *process, _ *wait) (*proposal, error) {
		return &proposal{conf: true, apply: func() error { return c.applyRemove(id) }}, c.mayRemove(p, id)
	})
}

// Update implements [member.Client].
func (c *Cluster) Update(ctx context.Context, via cluster.Target, id cluster.ID, peerURLs []string) error {
	urls := slices.Clone(peerURLs)
	call := Call{Op: OpUpdate, At: via.ID, ID: id, URLs: urls}
	return c.write(ctx, call, via, func(p *process, _ *wait) (*proposal, error) {
		keeps := c.can(p, version.SafeMemberUpdateOfLearner)
		return &proposal{conf: true, apply: func() error { return c.applyUpdate(id, urls, keeps) }}, nil
	})
}

// Barrier implements [member.Client]. It waits behind what is still on its way on the
// connection that carries it.
func (c *Cluster) Barrier(ctx context.Context, via cluster.Target) (cluster.Behind, error) {
	return do(c, ctx, Call{Op: OpBarrier, At: via.ID}, func(r *record, _ Fault) asking[cluster.Behind] {
		o := &write{c: c, r: r, via: via, limit: requestTimeout}
		o.check = func(*process, *wait) (*proposal, error) {
			return &proposal{apply: func() error {
				if c.corrupt() {
					return rpctypes.ErrCorrupt
				}
				return nil
			}}, nil
		}
		return func(w *wait) (cluster.Behind, error) {
			on := c.carrier(via)
			if until := c.held[on]; c.now.Before(until) {
				w.until(until)
				return cluster.Behind{}, errWait
			}
			if _, err := o.step(w); err != nil {
				return cluster.Behind{}, err
			}
			return cluster.Behind{List: c.listOf(o.p), Carrier: on}, nil
		}
	})
}

// MayChange implements [member.Client]. Everybody may, until Deny says otherwise.
func (c *Cluster) MayChange(ctx context.Context, via cluster.Target) error {
	return c.entry(ctx, Call{Op: OpMayChange, At: via.ID}, via, func() error { return nil })
}

// entry makes one write that leaves the list alone. The server gives it seven
// seconds.
func (c *Cluster) entry(ctx context.Context, call Call, via cluster.Target, apply func() error) error {
	_, err := do(c, ctx, call, func(r *record, _ Fault) asking[none] {
		o := &write{c: c, r: r, via: via, limit: requestTimeout}
		o.check = func(*process, *wait) (*proposal, error) { return &proposal{apply: apply}, nil }
		return o.step
	})
	return err
}

// MoveLeader implements [member.Client].
func (c *Cluster) MoveLeader(ctx context.Context, leader cluster.Target, to cluster.ID) error {
	_, err := do(c, ctx, Call{Op: OpMoveLeader, At: leader.ID, ID: to}, func(r *record, _ Fault) asking[none] {
		var p *process
		return func(*wait) (none, error) {
			var err error
			if p == nil {
				if p, err = c.connect(leader); err == nil {
					r.Reached, err = true, c.mayMove(p, to)
				}
			}
			if err == nil {
				err = c.moveTo(to)
			}
			r.Applied = err == nil
			return none{}, err
		}
	})
	return err
}

func (c *Cluster) mayMove(p *process, to cluster.ID) error {
	if err := c.intercept(p); err != nil {
		return err
	}
	list := c.viewOf(p)
	switch {
	case p.leader != p.id:
		return rpctypes.ErrNotLeader
	case !slices.ContainsFunc(votersIn(list), func(m cluster.Member) bool { return m.ID == to }):
		return rpctypes.ErrBadLeaderTransferee
	}
	return nil
}

// moveTo hands leadership over once the other has the whole log.
func (c *Cluster) moveTo(to cluster.ID) error {
	n := c.node(to)
	switch {
	case c.leader == to:
		return nil
	case n == nil || !c.leads() || !c.live(n) || n.acked < c.last:
		return errWait
	}
	c.elect(n)
	return nil
}

// mint is the ID of a new member: etcd hashes the URLs and the second, so that
// the same URLs within one second are the same ID (E§0.12).
func (c *Cluster) mint(urls []string) cluster.ID {
	key := fmt.Sprint(urls, c.now.Unix())
	if id, ok := c.minted[key]; ok {
		return id
	}
	c.nextID++
	c.minted[key] = c.nextID
	return c.nextID
}
