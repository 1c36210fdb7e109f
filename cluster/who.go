package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// Identity is what an answer proves of the server that gave it.
type Identity string

// The identities. That a handshake failed or nobody answered is none of them.
const (
	IdentityUnknown Identity = ""                            // it answered, and that proves nothing
	TheMember       Identity = "the member"                  // that was asked for
	AnotherMember   Identity = "another member"              // of the same cluster
	AnotherCluster  Identity = "a server of another cluster" //
	NoEtcd          Identity = "no etcd server"              // a web server, or an etcd's client port where a peer port was meant
	WasRemoved      Identity = "removed"                     // a server of the cluster, which knows that the member was removed from it
)

// Answer is who answered at a URL, asked whether it is a certain member.
type Answer struct {
	Reply
	Identity Identity
	URL      string
	Way      string // how it was asked: "peer", or "metrics" for etcd_server_id
	By       ID     // who it is instead, where it tells
	Text     string // what it said, at most some hundred bytes
	// Conn is the connection: what came on one came from one server. Empty: it
	// cannot be told, and whoever asks answers for it.
	Conn string
}

// Err is nil if it was the member, and else says who it was.
func (a Answer) Err(clusterID, m ID) error {
	switch a.Identity {
	case TheMember:
		return nil
	case AnotherMember, NoEtcd:
		return &WrongServerError{Want: m, Got: a.By, Cluster: clusterID, GotOne: clusterID, URL: a.URL, Who: a.Identity}
	case AnotherCluster:
		return &WrongServerError{Want: m, Got: a.By, Cluster: clusterID, GotOne: a.clusterID(), URL: a.URL, Who: a.Identity}
	case WasRemoved:
		return reason.Of(reason.ErrGone, "the server at %s says that member %s was removed", a.URL, m)
	}
	return fmt.Errorf("the server at %s does not tell whether it is member %s: %s %q", a.URL, m, a.Reply, a.Text)
}

// Who implements [Client].
func (e *EtcdClient) Who(ctx context.Context, url string, clusterID, m ID) (Answer, error) {
	if e.cfg.SkipPeer {
		return e.whoMetrics(ctx, url, m)
	}
	l := e.peerLines.take(url)
	defer e.peerLines.give(l)
	answer, err := l.who(ctx, clusterID, m)
	if err != nil && ctx.Err() != nil || err == nil && answer.Identity != NoEtcd {
		return answer, err
	}
	if other, metricsErr := e.whoMetrics(ctx, url, m); metricsErr == nil && other.Identity != NoEtcd {
		return other, nil
	}
	return answer, err
}

func (e *EtcdClient) whoMetrics(ctx context.Context, url string, m ID) (Answer, error) {
	l := e.plainLines.take(url)
	defer e.plainLines.give(l)
	return l.whoMetrics(ctx, m)
}

// who is the question by which a peer port tells whose it is. A member looks up the
// sender of a stream among its peers before it looks at whom the stream is for: only
// M does not find M there, and says 404; all that know M see that the stream is not
// for them, and say 412. One that does not know M says 404 too, so the list that the
// same server shows must have M; without that nothing is proven either way. With the sender's own ID and without X-PeerURLs
// nothing comes of it but a warning in its log. (3.4.13 to 3.8-alpha, without data
// and with, http and https.)
func (l *line) who(ctx context.Context, clusterID, m ID) (Answer, error) {
	for range 2 {
		a, err := l.question(ctx, clusterID, m)
		if of := a.clusterID(); clusterID == 0 && err == nil && of != 0 { // which one is not known: then this
			a, err = l.question(ctx, of, m)
			a.Identity = a.Judge(of)
		}
		if err != nil || a.Identity != TheMember {
			return a, err
		}
		list, err := l.get(ctx, "/members", mostBody, nil)
		switch {
		case err != nil:
			return Answer{}, err
		case list.conn != a.Conn:
			continue
		case !lists(list, m):
			a.Identity = IdentityUnknown // another one that is behind, or the member before it has read its log
		}
		l.proven = provenConn{a, clusterID, m}
		return a, nil
	}
	return Answer{}, fmt.Errorf("%s: the connection was lost between two questions", l.url)
}

func (l *line) question(ctx context.Context, clusterID, m ID) (Answer, error) {
	x, err := l.get(ctx, "/raft/stream/message/"+m.String(), 512, map[string]string{
		"X-Raft-To": m.String(), "X-Server-From": m.String(), "X-Etcd-Cluster-ID": clusterID.String(),
		"X-Server-Version": "3.4.0", "X-Min-Cluster-Version": "3.0.0",
	})
	a := Answer{Reply: x.Reply, URL: l.url, Way: "peer", Text: strings.TrimSpace(x.body), Conn: x.conn}
	a.Identity = a.Judge(clusterID)
	return a, err
}

// clusterID is that of the server, 0 where it tells none that can be read.
func (a Answer) clusterID() ID {
	var id ID
	_ = id.UnmarshalText([]byte(a.ClusterID))
	return id
}

// Judge is what a peer port's answer to the question proves. [TheMember] is so only if
// the same server lists the member.
func (a Answer) Judge(clusterID ID) Identity {
	switch {
	case !a.Etcd():
		return NoEtcd
	case a.ClusterID != "" && a.ClusterID != clusterID.String():
		return AnotherCluster
	case a.Status == http.StatusNotFound && a.Text == "error sender not found" && a.ClusterID != "" && a.Version != "":
		return TheMember
	case a.Status == http.StatusPreconditionFailed && a.Text == "to field mismatch":
		return AnotherMember
	case a.Status == http.StatusGone && a.ClusterID != "":
		return WasRemoved
	}
	return IdentityUnknown
}

func lists(x exchange, m ID) bool {
	var members []struct {
		ID uint64 `json:"id"`
	}
	if x.Status != http.StatusOK || json.Unmarshal([]byte(x.body), &members) != nil {
		return false
	}
	for _, one := range members {
		if ID(one.ID) == m {
			return true
		}
	}
	return false
}

// whoMetrics goes by etcd_server_id, which a client or metrics port exports (3.4.13
// to 3.8-alpha). It tells no cluster: an ID is a hash of the cluster's token too.
func (l *line) whoMetrics(ctx context.Context, m ID) (Answer, error) {
	x, err := l.get(ctx, "/metrics", mostBody, nil)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Reply: x.Reply, URL: l.url, Way: "metrics", Conn: x.conn, Identity: NoEtcd}
	if x.Status == http.StatusOK {
		a.By = serverID(x.body)
	}
	switch a.By {
	case 0:
	case m:
		a.Identity = TheMember
	default:
		a.Identity = AnotherMember
	}
	l.proven = provenConn{a, 0, m}
	return a, nil
}

// serverID is the ID that an exposition tells of its server, 0 if it tells none.
func serverID(exposition string) ID {
	_, rest, _ := strings.Cut(exposition, `etcd_server_id{server_id="`)
	hex, _, _ := strings.Cut(rest, `"`)
	var id ID
	if id.UnmarshalText([]byte(hex)) != nil {
		return 0
	}
	return id
}

// predatesPeerReads reports whether a release has no read on its peer port.
func predatesPeerReads(release string) bool {
	v, err := version.Parse(release)
	return err == nil && v.Can(version.Learners) && !v.Can(version.ReadThroughPeer)
}

// How long an idle connection is kept: longer than any pause between two looks.
const idleConn = 30 * time.Second
