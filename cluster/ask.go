package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/etcdjoin/etcdjoin/internal/classify"
)

// Reply is what a web server has told of itself in one exchange.
type Reply struct {
	Status    int    // HTTP
	Version   string // X-Server-Version: only an etcd peer port has it, or what stands before one
	ClusterID string // X-Etcd-Cluster-ID, the same
	Server    string // Server: the name of a web server or proxy
}

// Etcd reports whether an etcd server is behind the reply.
func (r Reply) Etcd() bool { return r.Version != "" || r.ClusterID != "" }

// String names who replied, for a person.
func (r Reply) String() string {
	who := "a web server"
	switch {
	case r.ClusterID != "" && r.Version != "":
		who = fmt.Sprintf("an etcd %s of cluster %s", r.Version, r.ClusterID)
	case r.ClusterID != "":
		who = "an etcd of cluster " + r.ClusterID
	case r.Version != "":
		who = fmt.Sprintf("an etcd %q", r.Version)
	case r.Server != "":
		who = fmt.Sprintf("a web server (%q)", r.Server)
	}
	return fmt.Sprintf("%s answers %d %s", who, r.Status, http.StatusText(r.Status))
}

// Knock is what came of asking who is at a peer URL that should be nobody's.
type Knock struct {
	URL     string
	Replies []Reply // none: nobody speaks HTTP there
	Err     error   // why there is no reply
}

// Knock asks all our peer URLs at once, bounded by one EndpointTimeout.
func (l *Looker) Knock(ctx context.Context) []Knock {
	ctx, cancel := context.WithTimeout(ctx, l.reach.EndpointTimeout)
	defer cancel()
	knocks := make([]Knock, len(l.ours))
	var wg sync.WaitGroup
	for i, url := range l.ours {
		wg.Go(func() {
			replies, err := l.client.Ask(ctx, url)
			knocks[i] = Knock{url, replies, err}
		})
	}
	wg.Wait()
	return knocks
}

// ErrNotOffered is the error of a [Client]'s method that it cannot offer: what it
// would tell is unknown then, never false.
var ErrNotOffered = errors.New("this client cannot tell")

// Ask implements [Client]. The requests are those by which the members would meet
// the server: the one for a stream, and a message. They carry a cluster ID that no
// cluster has, so that a real etcd stops at 412, before they have any effect; it
// warns of each in its log.
func (e *EtcdClient) Ask(ctx context.Context, peerURL string) ([]Reply, error) {
	if e.cfg.SkipPeer {
		return nil, ErrNotOffered
	}
	stream, err := e.ask(ctx, http.MethodGet, peerURL, "/raft/stream/message/1")
	if err != nil {
		return nil, err
	}
	if stream.Etcd() {
		return []Reply{stream}, nil
	}
	message, err := e.ask(ctx, http.MethodPost, peerURL, "/raft")
	if err != nil {
		return []Reply{stream}, nil //nolint:nilerr // it has answered already
	}
	return []Reply{stream, message}, nil
}

func (e *EtcdClient) ask(ctx context.Context, method, peerURL, path string) (Reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(peerURL, "/")+path, nil)
	if err != nil {
		return Reply{}, err
	}
	for name, value := range map[string]string{
		"X-Server-From": "0", "X-Server-Version": "3.5.0", "X-Min-Cluster-Version": "3.0.0", "X-Etcd-Cluster-ID": "0", "X-Raft-To": "0",
	} {
		req.Header.Set(name, value)
	}
	resp, err := e.peer.Do(req)
	if err != nil {
		return Reply{}, classify.Normalise(ctx, err)
	}
	resp.Body.Close() // unread: a stream would never end
	return replyOf(resp), nil
}

func replyOf(resp *http.Response) Reply {
	h := resp.Header
	return Reply{Status: resp.StatusCode, Version: h.Get("X-Server-Version"), ClusterID: h.Get("X-Etcd-Cluster-ID"), Server: h.Get("Server")}
}
