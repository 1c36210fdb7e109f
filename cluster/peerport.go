package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/classify"
)

// newHTTP makes a client that goes to exactly the server it is pointed at: no
// proxy of the environment, no redirect.
func newHTTP(cfg ClientConfig, tlsConfig *tls.Config) *http.Client {
	transport := cfg.Transport
	if transport == nil {
		dial := cfg.Dialer
		if dial == nil {
			dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
		}
		transport = &http.Transport{
			TLSClientConfig:     tlsConfig,
			DialContext:         dial,
			TLSHandshakeTimeout: 5 * time.Second,
			IdleConnTimeout:     idleConn,
		}
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// errNoPath says that the server does not have what was asked for.
var errNoPath = errors.New("the server does not know this path")

// errNoList says that what answered is no member list.
var errNoList = errors.New("no member list")

// Read implements [Client]. The first way that exists is taken: the peer port's
// /downgrade/enabled, which runs the server's linearizable read barrier before
// it answers (3.5 and later, a learner too, in the silent window too), then /health on
// the metrics or the client URL. That is for a 3.4 server, which has no such path on
// its peer port; with any other release a port without it is no peer port.
func (e *EtcdClient) Read(ctx context.Context, through Target) (ReadAnswer, error) {
	if !e.cfg.SkipPeer {
		answer, err := first(ctx, through.PeerURLs, func(ctx context.Context, url string) (ReadAnswer, error) {
			return e.readPeer(ctx, url, through)
		})
		if !errors.Is(err, errNoPath) {
			return answer, err
		}
	}
	way, urls := "client", e.endpoints(through)
	if through.MetricsURL != "" {
		way, urls = "metrics", []string{through.MetricsURL}
	}
	return first(ctx, urls, func(ctx context.Context, url string) (ReadAnswer, error) {
		return e.readHealth(ctx, way, url, through)
	})
}

func (e *EtcdClient) readPeer(ctx context.Context, url string, t Target) (ReadAnswer, error) {
	l := e.peerLines.take(url)
	defer e.peerLines.give(l)
	x, who, err := l.bound(ctx, t, "/downgrade/enabled", func(ctx context.Context) (Answer, error) { return l.who(ctx, t.ClusterID, t.ID) })
	switch {
	case err != nil:
		return ReadAnswer{}, err
	case x.Status == http.StatusNotFound && predatesPeerReads(who.Version):
		return ReadAnswer{}, errNoPath
	case x.Status == http.StatusNotFound:
		who.Identity = NoEtcd
		return ReadAnswer{}, who.Err(t.ClusterID, t.ID)
	case x.Status != http.StatusOK:
		return ReadAnswer{}, &Unready{Status: x.Status, Text: x.body}
	}
	answer := ReadAnswer{Way: "peer", URL: url, Conn: x.conn, Downgrading: strings.TrimSpace(x.body) == "true"}
	return answer, answer.ClusterID.UnmarshalText([]byte(x.ClusterID))
}

// readHealth asks the linearizable /health. NOSPACE does not make a member
// unfit to vote; the servers below 3.4.16 that do not know exclude ignore it.
func (e *EtcdClient) readHealth(ctx context.Context, way, url string, t Target) (ReadAnswer, error) {
	l := e.plainLines.take(url)
	defer e.plainLines.give(l)
	x, _, err := l.bound(ctx, t, "/health?exclude=NOSPACE", func(ctx context.Context) (Answer, error) { return l.whoMetrics(ctx, t.ID) })
	switch {
	case err != nil:
		return ReadAnswer{}, err
	case x.Status == http.StatusNotFound:
		return ReadAnswer{}, fmt.Errorf("%s/health: %w", url, errNoPath)
	}
	var health struct{ Health string }
	if x.Status != http.StatusOK || json.Unmarshal([]byte(x.body), &health) != nil || health.Health != "true" {
		return ReadAnswer{}, &Unready{Status: x.Status, Text: x.body}
	}
	return ReadAnswer{Way: way, URL: url, Conn: x.conn}, nil
}

// PeerMembers implements [Client].
func (e *EtcdClient) PeerMembers(ctx context.Context, at Target) (List, error) {
	return first(ctx, at.PeerURLs, func(ctx context.Context, peerURL string) (List, error) {
		header, body, err := get(ctx, e.peer, peerURL, "/members")
		if err != nil {
			return List{}, err
		}
		var members []struct {
			ID         uint64   `json:"id"`
			Name       string   `json:"name"`
			PeerURLs   []string `json:"peerURLs"`
			ClientURLs []string `json:"clientURLs"`
			IsLearner  bool     `json:"isLearner"`
		}
		if err := json.Unmarshal(body, &members); err != nil {
			return List{}, fmt.Errorf("%s/members: %w: %w", peerURL, errNoList, err)
		}
		l := List{By: at.ID}
		for _, m := range members {
			l.Members = append(l.Members, Member{ID: ID(m.ID), Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.IsLearner})
		}
		l.ClusterID, err = clusterOf(header)
		return l, err
	})
}

func clusterOf(header http.Header) (ID, error) {
	var id ID
	err := id.UnmarshalText([]byte(header.Get("X-Etcd-Cluster-Id")))
	return id, err
}

const mostBody = 8 << 20

func get(ctx context.Context, c *http.Client, base, path string) (http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+path, nil)
	if err != nil {
		return nil, nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, nil, classify.Normalise(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	switch {
	case err != nil:
		return nil, nil, classify.Normalise(ctx, err)
	case resp.StatusCode == http.StatusNotFound:
		return nil, nil, fmt.Errorf("%s: %w", path, errNoPath)
	case resp.StatusCode != http.StatusOK:
		return nil, nil, &Unready{Status: resp.StatusCode, Text: string(body)}
	}
	return resp.Header, body, nil
}
