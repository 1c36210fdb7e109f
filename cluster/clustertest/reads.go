package clustertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/version"
)

// errLearner is a learner's refusal, as the client shows it.
var errLearner = rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)

// List implements [member.Client].
func (c *Cluster) List(ctx context.Context, from ...cluster.Target) (cluster.List, error) {
	call := Call{Op: OpList}
	if len(from) > 0 {
		call.At = from[0].ID
	}
	return do(c, ctx, call, func(r *record, f Fault) asking[cluster.List] {
		barriers := map[*process]*barrier{}
		return func(w *wait) (cluster.List, error) {
			return onClient(c, c.endpoints(from...), func(p *process) (cluster.List, error) {
				r.Reached = true
				if f.Stale {
					return c.staleList(p), nil
				}
				return c.listThrough(p, barriers, w)
			})
		}
	})
}

func (c *Cluster) listThrough(p *process, barriers map[*process]*barrier, w *wait) (cluster.List, error) {
	b := barriers[p]
	if b == nil {
		if err := c.intercept(p); err != nil {
			return cluster.List{}, err
		}
		b = c.newBarrier(p)
		barriers[p] = b
		if !c.can(p, version.LinearizableMemberList) && c.corrupt() {
			return cluster.List{}, rpctypes.ErrCorrupt // of the read that stands in
		}
	}
	if err := b.pass(w); err != nil {
		return cluster.List{}, err
	}
	return c.listOf(p), nil
}

// intercept is what every call that requires a leader meets first (E§1.2).
func (c *Cluster) intercept(p *process) error {
	switch {
	case c.isLearner(p):
		return errLearner
	case p.leader == 0:
		return rpctypes.ErrNoLeader
	}
	return nil
}

// isLearner reports whether p finds itself a learner in its own list.
func (c *Cluster) isLearner(p *process) bool {
	for _, m := range c.viewOf(p) {
		if m.ID == p.id {
			return m.Learner
		}
	}
	return false
}

func (c *Cluster) listOf(p *process) cluster.List {
	return cluster.List{ClusterID: p.host.data.cluster, By: p.id, Members: cloneAll(c.viewOf(p))}
}

func (c *Cluster) staleList(p *process) cluster.List {
	l := c.listOf(p)
	if n := len(c.history); n > 1 {
		l.Members = cloneAll(c.history[n-2].members)
	}
	return l
}

// ListAt implements [member.Client].
func (c *Cluster) ListAt(ctx context.Context, at cluster.Target) (cluster.List, error) {
	return do(c, ctx, Call{Op: OpListAt, At: at.ID}, func(r *record, f Fault) asking[cluster.List] {
		return func(*wait) (cluster.List, error) {
			return onClient(c, c.endpoints(at), func(p *process) (cluster.List, error) {
				r.Reached = true
				switch {
				case c.isLearner(p):
					return cluster.List{}, errLearner
				case f.Stale:
					return c.staleList(p), nil
				}
				return c.listOf(p), nil
			})
		}
	})
}

// errOther says that another member than the one asked for answered.
var errOther = errors.New("clustertest: another member answered")

// Status implements [member.Client].
func (c *Cluster) Status(ctx context.Context, at cluster.Target) (cluster.Status, error) {
	return do(c, ctx, Call{Op: OpStatus, At: at.ID}, func(r *record, f Fault) asking[cluster.Status] {
		return func(*wait) (cluster.Status, error) {
			var other cluster.Status
			st, err := onClient(c, c.endpoints(at), func(p *process) (cluster.Status, error) {
				r.Reached = true
				st := c.status(p, f.Stale)
				if !at.Own() && st.ID != at.ID {
					other = st
					return st, errOther
				}
				return st, nil
			})
			if errors.Is(err, errOther) {
				return other, nil
			}
			return st, err
		}
	})
}

func (c *Cluster) status(p *process, stale bool) cluster.Status {
	v := c.versionOf(p)
	st := cluster.Status{
		ID: p.id, ClusterID: p.host.data.cluster, Version: v.String(),
		Leader: p.leader, Term: c.term,
		Index:   uint64(min(c.commit, p.log()) + tiny),
		Applied: uint64(p.host.data.applied + tiny),
		DBSize:  emptyDB + entryBytes*int64(p.host.data.applied),
		Learner: c.isLearner(p),
		Errors:  c.statusErrors(p),
	}
	st.Downgrading = c.downgrading && v.Can(version.DowngradeInfo)
	if !v.Can(version.Learners) {
		st.Applied, st.Errors = 0, nil
	}
	if stale {
		st.Learner = isLearnerIn(c.staleList(p).Members, p.id)
		st.Index, st.Applied = st.Index-min(st.Index, 1), st.Applied-min(st.Applied, 1)
	}
	return st
}

const emptyDB = 20480 // bytes of a new database

func isLearnerIn(list []cluster.Member, id cluster.ID) bool {
	for _, m := range list {
		if m.ID == id {
			return m.Learner
		}
	}
	return false
}

func (c *Cluster) statusErrors(p *process) []string {
	var errs []string
	if p.leader == 0 {
		errs = append(errs, "etcdserver: no leader")
	}
	for _, a := range c.alarms {
		errs = append(errs, a.String())
	}
	return errs
}

// Read implements [member.Client].
func (c *Cluster) Read(ctx context.Context, through cluster.Target) (cluster.ReadAnswer, error) {
	call := Call{Op: OpRead, At: through.ID}
	return do(c, ctx, call, func(r *record, f Fault) asking[cluster.ReadAnswer] {
		o := &reading{c: c, r: r, through: through, stale: f.Stale, barriers: map[*process]*barrier{}}
		return o.step
	})
}

// reading is one linearizable read through a member. The first way that exists is
// taken, as the real client does.
type reading struct {
	c        *Cluster
	r        *record
	through  cluster.Target
	stale    bool
	barriers map[*process]*barrier // of each server that is asked
}

func (o *reading) step(w *wait) (cluster.ReadAnswer, error) {
	c, t := o.c, o.through
	if !c.noPeerRead {
		answer, err := first(t.PeerURLs, func(u string) (cluster.ReadAnswer, error) { return o.peer(u, w) })
		if !errors.Is(err, errNoPath) {
			return answer, err
		}
	}
	if t.MetricsURL != "" {
		return o.healthAt("metrics", t.MetricsURL, w, c.onMetricsURL(t))
	}
	return first(c.endpoints(t), func(u string) (cluster.ReadAnswer, error) {
		p := c.onClientURL(u)
		if p != nil && !c.serves(p) && c.webs[where(u)] == (Web{}) {
			return cluster.ReadAnswer{}, errWait
		}
		return o.healthAt("client", u, w, p)
	})
}

// healthAt is the linearizable /health at a URL that leads to p.
func (o *reading) healthAt(way, url string, w *wait, p *process) (cluster.ReadAnswer, error) {
	if web, there, err := o.c.web(url); there {
		if err == nil {
			err = cluster.Answer{URL: url, Way: "metrics", Identity: cluster.NoEtcd}.Err(o.through.ClusterID, o.through.ID)
		}
		return cluster.ReadAnswer{}, web.health(err)
	}
	if p == nil || o.c.knob(p.id).hidden {
		return cluster.ReadAnswer{}, refused(url)
	}
	if !p.up() {
		return cluster.ReadAnswer{}, errWait
	}
	if err := o.stranger(p, url); err != nil {
		return cluster.ReadAnswer{}, err
	}
	return cluster.ReadAnswer{Way: way, URL: url, Conn: p.conn()}, o.health(p, w)
}

// errNoPath says that the server has no such path: 3.4 has no /downgrade/enabled.
var errNoPath = errors.New("clustertest: not found")

// peer is /downgrade/enabled on a peer port.
func (o *reading) peer(url string, w *wait) (cluster.ReadAnswer, error) {
	c, p, t := o.c, o.c.onPeerURL(url), o.through
	if web, there, _ := c.web(url); there {
		a, err := c.webAnswer(web, url, t.ClusterID)
		if err == nil {
			err = a.Err(t.ClusterID, t.ID)
		}
		return cluster.ReadAnswer{Way: "peer"}, err
	}
	switch {
	case p == nil && c.onClientURL(url) != nil:
		return cluster.ReadAnswer{}, cluster.Answer{URL: url, Identity: cluster.NoEtcd}.Err(t.ClusterID, t.ID)
	case p == nil || c.knob(p.id).hidden:
		return cluster.ReadAnswer{}, refused(url)
	case !p.up():
		return cluster.ReadAnswer{}, errWait
	}
	of := cmp.Or(t.ClusterID, p.host.data.cluster)
	if err := c.answer(p, url, of, t.ID).Err(of, t.ID); err != nil && o.barriers[p] == nil {
		return cluster.ReadAnswer{}, err
	}
	if !c.can(p, version.ReadThroughPeer) {
		return cluster.ReadAnswer{}, errNoPath
	}
	err := o.pass(p, w)
	if err != nil && !errors.Is(err, errWait) {
		return cluster.ReadAnswer{}, &cluster.Unready{Status: http.StatusInternalServerError, Text: fmt.Sprintf("failed linearized read: %v\n", err)}
	}
	return cluster.ReadAnswer{ClusterID: p.host.data.cluster, Way: "peer", URL: url, Conn: p.conn(), Downgrading: c.downgrading}, err
}

// health is the linearizable /health?exclude=NOSPACE.
func (o *reading) health(p *process, w *wait) error {
	c := o.c
	switch begun := o.barriers[p] != nil; {
	case !p.up():
		return errWait
	case !begun && c.corrupt():
		return c.unhealthy(p, "ALARM CORRUPT")
	case !begun && p.leader == 0:
		return c.unhealthy(p, "RAFT NO LEADER")
	}
	err := o.pass(p, w)
	if err != nil && !errors.Is(err, errWait) {
		return c.unhealthy(p, "RANGE ERROR:"+err.Error())
	}
	return err
}

// pass is nil once p has read.
func (o *reading) pass(p *process, w *wait) error {
	o.r.Reached = true
	if o.stale {
		return nil
	}
	b := o.barriers[p]
	if b == nil {
		b = o.c.newBarrier(p)
		if !o.c.can(p, version.ReadThroughPeer) {
			b.limit = healthTimeout
		}
		o.barriers[p] = b
	}
	err := b.pass(w)
	if errors.Is(err, rpctypes.ErrTimeout) {
		err = context.DeadlineExceeded // the handler's own comes first
	}
	return err
}

func (c *Cluster) unhealthy(p *process, why string) error {
	text := fmt.Sprintf(`{"health":"false","reason":%q}`, why)
	if !c.can(p, version.ReadThroughPeer) {
		text = `{"health":"false"}` // 3.4 gives no reason
	}
	return &cluster.Unready{Status: http.StatusServiceUnavailable, Text: text}
}

// barrier is one linearizable read through a server: the read index comes from
// the leader, and must then be applied.
type barrier struct {
	c       *Cluster
	p       *process
	asked   time.Time
	limit   time.Duration
	leaders int // of p when it was asked
	index   float64
	got     bool
}

func (c *Cluster) newBarrier(p *process) *barrier {
	return &barrier{c: c, p: p, asked: c.now, limit: requestTimeout, leaders: p.leaders}
}

// pass is nil once all that was committed is applied. A new leader before the
// index is known ends the read, and so do seven seconds.
func (b *barrier) pass(w *wait) error {
	c, p := b.c, b.p
	if p.alone {
		return nil
	}
	if !b.got && p.leaders != b.leaders {
		return rpctypes.ErrLeaderChanged
	}
	if !b.got && c.contact(p) && c.leads() && c.commit >= c.termStart {
		b.index, b.got = c.commit, true
	}
	if b.got && c.applied(p, b.index, w) {
		return nil
	}
	if end := b.asked.Add(b.limit); c.now.Before(end) {
		w.until(end)
		return errWait
	}
	return rpctypes.ErrTimeout
}

// PeerMembers implements [member.Client].
func (c *Cluster) PeerMembers(ctx context.Context, at cluster.Target) (cluster.List, error) {
	return do(c, ctx, Call{Op: OpPeerMembers, At: at.ID}, func(r *record, f Fault) asking[cluster.List] {
		return func(*wait) (cluster.List, error) {
			return first(at.PeerURLs, func(u string) (cluster.List, error) {
				if w, there, err := c.web(u); there && err == nil {
					return w.list()
				} else if there {
					return cluster.List{}, err
				}
				p := c.onPeerURL(u)
				switch {
				case p == nil || c.knob(p.id).hidden:
					return cluster.List{}, refused(u)
				case !p.up():
					return cluster.List{}, errWait
				}
				r.Reached = true
				l := c.listOf(p)
				if f.Stale {
					l = c.staleList(p)
				}
				l.By = at.ID // the port does not say whose it is
				return l, nil
			})
		}
	})
}

// Metrics implements [member.Client].
func (c *Cluster) Metrics(ctx context.Context, at cluster.Target) (cluster.Metrics, error) {
	return do(c, ctx, Call{Op: OpMetrics, At: at.ID}, func(r *record, _ Fault) asking[cluster.Metrics] {
		return func(*wait) (cluster.Metrics, error) {
			answer := func(p *process) (cluster.Metrics, error) {
				r.Reached = true
				return c.metrics(p), nil
			}
			if at.MetricsURL == "" {
				return first(c.endpoints(at), func(u string) (cluster.Metrics, error) {
					if _, there, err := c.web(u); there {
						return cluster.Metrics{}, err
					}
					return onPort(c, u, answer)
				})
			}
			if _, there, err := c.web(at.MetricsURL); there {
				return cluster.Metrics{}, err
			}
			p := c.onMetricsURL(at)
			switch {
			case p == nil:
				return cluster.Metrics{}, refused(at.MetricsURL)
			case !p.up():
				return cluster.Metrics{}, errWait
			}
			return answer(p)
		}
	})
}

func (c *Cluster) metrics(p *process) cluster.Metrics {
	d := p.host.data
	n := c.node(p.id)
	m := cluster.Metrics{
		ServerID:  p.id,
		Learner:   n != nil && !n.voter && !d.snapshot,
		Peers:     c.countsOf(p),
		Applied:   uint64(d.applied + tiny),
		Received:  uint64(d.bytes),
		Receiving: p.snap != nil && p.snap.index > 0,
		Failed:    p.failed,
	}
	return m
}
