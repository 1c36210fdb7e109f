package clustertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/version"
)

// Web is what answers at a URL in the place of an etcd server: a web server, a proxy,
// or something that speaks no HTTP at all.
type Web struct {
	Status    int    // HTTP, of every answer
	Version   string // X-Server-Version
	ClusterID string // X-Etcd-Cluster-ID
	Body      string
	Err       error // what a request comes to in place of an answer; [Garbage] and [AsksCertificate] are some
}

// What a request comes to where nobody answers it as HTTP.
var (
	Garbage = errors.New( //nolint:staticcheck // what is served, not an error of ours
		`net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-OpenSSH_9.6"`)
	AsksCertificate = errors.New("remote error: tls: certificate required") //nolint:staticcheck // see above
)

// Serve lets a web server answer at a URL, whoever else listens there; the zero Web
// ends that. Members dial a URL in the list, and end where they are told so
// (see [Cluster] for how a real one does).
func (c *Cluster) Serve(url string, w Web) {
	c.change(func() {
		delete(c.webs, where(url))
		if w != (Web{}) {
			c.webs[where(url)] = w
		}
		for _, n := range c.nodes {
			c.meet(n)
		}
	})
}

// Stranger runs a server of another cluster on the host with these peer URLs. It
// answers there, and on the client URLs beside them, as the only member of that cluster.
func (c *Cluster) Stranger(peerURLs string) {
	c.change(func() {
		h := c.host(split([]string{peerURLs}))
		h.wipe()
		h.data = &data{cluster: StrangerClusterID, id: strangerID, name: "stranger", progress: progress{log: startIndex, applied: startIndex}}
		h.proc = &process{host: h, id: strangerID, name: "stranger", started: c.now.Add(longAgo), linked: c.now.Add(longAgo),
			serving: true, published: true, leader: strangerID, alone: true}
	})
}

// Reset lets a member's server go on as the only member of a cluster of its own, under
// the same cluster ID, as one does that was started with --force-new-cluster while the
// others ran on: two histories of one cluster.
func (c *Cluster) Reset(id cluster.ID) {
	c.change(func() {
		if p := c.proc(id); p != nil {
			p.alone, p.leader, p.serving = true, id, true
		}
	})
}

// StrangerClusterID is the cluster of [Cluster.Stranger].
const StrangerClusterID cluster.ID = 0xbad

const strangerID cluster.ID = 0xbad1

// self is the list of a server that is the only member of its cluster.
func (p *process) self() []cluster.Member {
	return []cluster.Member{{ID: p.id, Name: p.name, PeerURLs: p.host.urls, ClientURLs: clientURLs(p.host.urls)}}
}

// web is the answer of a web server at a URL to an HTTP request, and whether there is
// one. A body that is not what etcd would say is as good as none.
func (c *Cluster) web(url string) (w Web, there bool, err error) {
	w, there = c.webs[where(url)]
	switch {
	case !there || w.Err != nil || w.Status == http.StatusOK:
		err = w.Err
	case w.Status == http.StatusNotFound:
		err = errNoPath
	default:
		err = &cluster.Unready{Status: w.Status, Text: w.Body}
	}
	return w, there, err
}

// list is its answer in the place of a member list.
func (w Web) list() (cluster.List, error) {
	return cluster.List{}, fmt.Errorf("no member list: %q", w.Body)
}

// health is its answer to /health.
func (w Web) health(err error) error {
	if err == nil && !strings.Contains(w.Body, `"health":"true"`) {
		err = &cluster.Unready{Status: w.Status, Text: w.Body}
	}
	return err
}

// grpc is the answer of a web server to a call of gRPC, nil where there is none.
func (c *Cluster) grpc(url string) error {
	w, ok := c.webs[where(url)]
	switch {
	case !ok:
		return nil
	case w.Err != nil:
		return w.Err
	}
	return fmt.Errorf("unexpected HTTP status code received from server: %d (%s)", w.Status, http.StatusText(w.Status))
}

// Ask implements [cluster.Client].
func (c *Cluster) Ask(ctx context.Context, peerURL string) ([]cluster.Reply, error) {
	return do(c, ctx, Call{Op: OpAsk, URLs: []string{peerURL}}, func(r *record, _ Fault) asking[[]cluster.Reply] {
		return func(*wait) ([]cluster.Reply, error) {
			if c.noPeerRead {
				return nil, cluster.ErrNotOffered
			}
			if w, ok := c.webs[where(peerURL)]; ok {
				return []cluster.Reply{{Status: w.Status, Version: w.Version, ClusterID: w.ClusterID}}[:min(1, w.Status)], w.Err
			}
			p := c.onPeerURL(peerURL)
			switch {
			case p == nil:
				return nil, refused(peerURL)
			case !p.up():
				return nil, errWait
			}
			r.Reached = true
			return []cluster.Reply{{Status: http.StatusPreconditionFailed, Version: c.versionOf(p).String(), ClusterID: p.host.data.cluster.String()}}, nil
		}
	})
}

// How soon the members end by what they are told at a URL in the list, as measured on
// 3.4 to 3.8: after the first message to it, or with its first stream.
const (
	endedByMessage = 100 * time.Millisecond
	endedByStream  = 30 * time.Millisecond
)

// meet lets the members dial an entry's URLs.
func (c *Cluster) meet(n *node) {
	for _, u := range n.PeerURLs {
		if w, ok := c.webs[where(u)]; ok {
			c.believe(n.ID, u, w)
		}
	}
}

// believe ends members as etcd's rafthttp does: a 403 to a message says that the
// cluster has removed them, and so does a 410 of what calls itself etcd to a stream;
// a version that does not parse is a panic. Whoever leads next meets the same.
func (c *Cluster) believe(id cluster.ID, url string, w Web) {
	_, err := version.Parse(w.Version)
	switch {
	case w.Version != "" && (err != nil || strings.Count(w.Version, ".") != 2):
		c.end(id, url, w, endedByStream, func(p *process) { c.doom(p, 2, "panic: %s is not in dotted-tri format", w.Version) })
	case w.Version != "" && w.Status == http.StatusGone:
		c.after(endedByStream, func() {
			for _, n := range c.nodes {
				if p := c.proc(n.ID); p.up() {
					c.expel(p)
				}
			}
		})
	case w.Status == http.StatusForbidden:
		c.end(id, url, w, endedByMessage, c.expel)
	}
}

// end ends the leader, and each that comes after it, while the entry is in the list
// and answered so.
func (c *Cluster) end(id cluster.ID, url string, w Web, in time.Duration, how func(*process)) {
	c.after(in, func() {
		if c.node(id) == nil || c.webs[where(url)] != w || !c.hasQuorum() {
			return
		}
		if p := c.proc(c.leader); p.up() {
			how(p)
		}
		c.end(id, url, w, c.Timing.Election+in, how)
	})
}

// Endpoints implements [cluster.Client].
func (c *Cluster) Endpoints(ctx context.Context) ([]cluster.Endpoint, error) {
	var told []cluster.Endpoint
	_, err := do(c, ctx, Call{Op: OpEndpoints}, func(r *record, f Fault) asking[none] {
		heard := map[string]cluster.Endpoint{}
		return func(*wait) (none, error) {
			told = nil
			missing := error(nil)
			for _, u := range c.ownEndpoints() {
				e, known := heard[u]
				if !known {
					e = c.endpoint(u, f)
				}
				if errors.Is(e.Err, errWait) {
					missing = errWait
				} else {
					heard[u] = e
				}
				told = append(told, e)
			}
			r.Reached = r.Reached || len(heard) > 0
			return none{}, missing
		}
	})
	if ctx.Err() != nil {
		return told, nil //nolint:nilerr // who has not answered by then has not
	}
	return told, err
}

func (c *Cluster) endpoint(url string, f Fault) cluster.Endpoint {
	st, err := onClient(c, []string{url}, func(p *process) (cluster.Status, error) { return c.status(p, f.Stale), nil })
	if err != nil {
		return cluster.Endpoint{URL: url, Err: err}
	}
	list, err := onClient(c, []string{url}, func(p *process) (cluster.List, error) {
		if c.isLearner(p) {
			return cluster.List{}, errLearner
		}
		return c.listOf(p), nil
	})
	if err != nil && !st.Learner {
		return cluster.Endpoint{URL: url, Err: err}
	}
	return cluster.Endpoint{URL: url, Status: st, List: list}
}
