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
			IdleConnTimeout:     30 * time.Second,
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
// it answers (3.5 and later, a learner too, in the silent window too; 404 on
// 3.4), then /health on the metrics or the client URL.
func (e *EtcdClient) Read(ctx context.Context, through Target) (ReadAnswer, error) {
	if !e.cfg.SkipPeer {
		answer, err := first(ctx, through.PeerURLs, e.readPeer)
		if !errors.Is(err, errNoPath) {
			return answer, err
		}
	}
	if through.MetricsURL != "" {
		return ReadAnswer{Way: "metrics"}, e.readHealth(ctx, through.MetricsURL)
	}
	_, err := first(ctx, e.endpoints(through), func(ctx context.Context, ep string) (struct{}, error) {
		return struct{}{}, e.readHealth(ctx, ep)
	})
	return ReadAnswer{Way: "client"}, err
}

func (e *EtcdClient) readPeer(ctx context.Context, peerURL string) (ReadAnswer, error) {
	header, body, err := get(ctx, e.peer, peerURL, "/downgrade/enabled")
	if err != nil {
		return ReadAnswer{}, err
	}
	cluster, err := clusterOf(header)
	return ReadAnswer{ClusterID: cluster, Way: "peer", Downgrading: strings.TrimSpace(string(body)) == "true"}, err
}

// readHealth asks the linearizable /health. NOSPACE does not make a member
// unfit to vote; the servers below 3.4.16 that do not know exclude ignore it.
func (e *EtcdClient) readHealth(ctx context.Context, base string) error {
	_, body, err := get(ctx, e.plain, base, "/health?exclude=NOSPACE")
	if err != nil {
		return err
	}
	var health struct{ Health string }
	if json.Unmarshal(body, &health) != nil || health.Health != "true" {
		return &Unready{Status: http.StatusOK, Text: string(body)}
	}
	return nil
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
