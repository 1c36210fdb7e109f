package clustertest

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// Who implements [cluster.Client].
func (c *Cluster) Who(ctx context.Context, url string, clusterID, m cluster.ID) (cluster.Answer, error) {
	return do(c, ctx, Call{Op: OpWho, At: m, URLs: []string{url}}, func(r *record, _ Fault) asking[cluster.Answer] {
		return func(*wait) (cluster.Answer, error) {
			if w, there, _ := c.web(url); there {
				return c.webAnswer(w, url, clusterID)
			}
			if p := c.onPeerURL(url); p != nil && !c.noPeerRead {
				if c.knob(p.id).hidden {
					return cluster.Answer{}, refused(url)
				}
				if !p.up() {
					return cluster.Answer{}, errWait
				}
				r.Reached = true
				return c.answer(p, url, clusterID, m), nil
			}
			p, other := c.behind(url, m)
			switch {
			case p == nil || c.knob(p.id).hidden:
				return cluster.Answer{}, refused(url)
			case !p.up():
				return cluster.Answer{}, errWait
			}
			r.Reached = true
			a := cluster.Answer{URL: url, Way: "metrics", By: p.id, Identity: cluster.TheMember, Conn: p.conn()}
			if a.Status = http.StatusOK; other {
				a.Identity = cluster.AnotherMember
			}
			return a, nil
		}
	})
}

// behind is the server whose metrics are at a client or metrics URL, and whether it is
// another one than that member's.
func (c *Cluster) behind(url string, m cluster.ID) (p *process, other bool) {
	p = c.onClientURL(url)
	if p == nil {
		p = c.onMetricsURL(cluster.Target{Member: cluster.Member{ID: m}, MetricsURL: url})
	}
	return p, p != nil && p.id != m
}

// webAnswer is what a web server answers to the question, and the list that it has not.
func (c *Cluster) webAnswer(w Web, url string, clusterID cluster.ID) (cluster.Answer, error) {
	if w.Err != nil {
		return cluster.Answer{}, w.Err
	}
	a := cluster.Answer{URL: url, Way: "peer", Text: w.Body, Conn: "web " + url,
		Reply: cluster.Reply{Status: w.Status, Version: w.Version, ClusterID: w.ClusterID}}
	if a.Identity = a.Judge(clusterID); a.Identity == cluster.TheMember {
		a.Identity = cluster.IdentityUnknown
	}
	return a, nil
}

// answer is what a server's peer port answers, asked whether it is a member: it looks
// for that among its peers, which it is not itself.
func (c *Cluster) answer(p *process, url string, clusterID, m cluster.ID) cluster.Answer {
	a := cluster.Answer{URL: url, Way: "peer", Conn: p.conn(),
		Reply: cluster.Reply{Version: c.versionOf(p).String(), ClusterID: p.host.data.cluster.String()}}
	listed := p.id == m && !c.removed[m] || slices.ContainsFunc(c.viewOf(p), func(one cluster.Member) bool { return one.ID == m })
	switch {
	case p.host.data.cluster != clusterID:
		a.Status, a.Text = http.StatusPreconditionFailed, "cluster ID mismatch"
	case c.removed[m] && !listed:
		a.Status, a.Text = http.StatusGone, "removed member"
	case p.id == m || !listed:
		a.Status, a.Text = http.StatusNotFound, "error sender not found"
	default:
		a.Status, a.Text = http.StatusPreconditionFailed, "to field mismatch"
	}
	if a.Identity = a.Judge(clusterID); a.Identity == cluster.TheMember && !listed {
		a.Identity = cluster.IdentityUnknown
	}
	return a
}

// conn names the connections to a process.
func (p *process) conn() string { return fmt.Sprintf("%s since %d", p.host.urls, p.started.UnixNano()) }

// stranger is the error of a read that was answered by anybody but the member.
func (o *reading) stranger(p *process, url string) error {
	a := cluster.Answer{URL: url, Way: "metrics", By: p.id, Identity: cluster.TheMember}
	if p.id != o.through.ID {
		a.Identity = cluster.AnotherMember
	}
	return a.Err(o.through.ClusterID, o.through.ID)
}
