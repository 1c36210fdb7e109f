package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/etcdjoin/etcdjoin/internal/classify"
)

// line is one HTTP connection to one URL, used by one caller at a time, so that who
// answered a question is who answers the next. Where the connection is lost another
// is made, which has proven nothing.
type line struct {
	url    string
	client *http.Client
	conn   net.Conn // that the last answer came on
	name   string   // of it, never given twice
	proven provenConn
}

// provenConn is who has answered on a connection, asked for a member.
type provenConn struct {
	Answer
	cluster, member ID
}

// exchange is one request with its answer.
type exchange struct {
	Reply
	body string
	conn string
}

var connections atomic.Uint64

// get asks for a path and reads at most so much of the answer.
func (l *line) get(ctx context.Context, path string, most int64, header map[string]string) (exchange, error) {
	var got net.Conn
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { got = i.Conn }})
	req, err := http.NewRequestWithContext(traced, http.MethodGet, strings.TrimSuffix(l.url, "/")+path, nil)
	if err != nil {
		return exchange{}, err
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return exchange{}, classify.Normalise(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return exchange{}, classify.Normalise(ctx, err)
	}
	switch {
	case got == nil: // a transport of the host's, which does not tell
		l.conn, l.name, l.proven = nil, "", provenConn{}
	case got != l.conn:
		l.conn, l.name, l.proven = got, fmt.Sprintf("%s #%d", got.LocalAddr(), connections.Add(1)), provenConn{}
	}
	return exchange{Reply: replyOf(resp), body: string(body), conn: l.name}, nil
}

// bound is get from the member, and from nobody else: whose the connection is was
// asked on it, once for as long as it lives.
func (l *line) bound(ctx context.Context, t Target, path string, ask func(context.Context) (Answer, error)) (exchange, Answer, error) {
	for range 2 {
		who := l.proven.Answer
		if who.Identity == IdentityUnknown || l.proven.cluster != t.ClusterID && who.Way == "peer" || l.proven.member != t.ID {
			var err error
			if who, err = ask(ctx); err != nil {
				return exchange{}, who, err
			}
		}
		if err := who.Err(cmp.Or(t.ClusterID, who.clusterID()), t.ID); err != nil {
			return exchange{}, who, err
		}
		x, err := l.get(ctx, path, mostBody, nil)
		if err != nil || x.conn == who.Conn {
			return x, who, err
		}
	}
	return exchange{}, Answer{}, fmt.Errorf("%s: the connection is lost again and again", l.url)
}

// lines are those to all URLs of one kind of port. One that is free is used again,
// the last one first.
type lines struct {
	make func() *http.Client
	mu   sync.Mutex
	free map[string][]*line
	shut bool
}

// mostFree is how many free lines to one URL are kept: that of the read which waits,
// and that of a proof.
const mostFree = 2

func (p *lines) take(url string) *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	if free := p.free[url]; len(free) > 0 {
		p.free[url] = free[:len(free)-1]
		return free[len(free)-1]
	}
	return &line{url: url, client: p.make()}
}

func (p *lines) give(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut || len(p.free[l.url]) == mostFree {
		l.client.CloseIdleConnections()
		return
	}
	if p.free == nil {
		p.free = map[string][]*line{}
	}
	p.free[l.url] = append(p.free[l.url], l)
}

func (p *lines) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for _, free := range p.free {
		for _, l := range free {
			l.client.CloseIdleConnections()
		}
	}
	p.free = nil
}
