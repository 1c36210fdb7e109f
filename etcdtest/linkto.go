package etcdtest

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
)

// LeadTo makes the link lead to another URL or "host:port" from now on, and
// resets what it carried before: the peer port of another member, of a member
// of another cluster, a client port. With TLS that is not looked into, so the
// other side must have a certificate of its own.
func (l *Link) LeadTo(target string) {
	_, host := splitURL(target)
	l.lead(host, nil)
}

// Serve puts a web server behind the link, in the place of what it led to, and
// returns the record of what it is asked. See [Answer] for one that always
// says the same. Before a peer port that speaks TLS it does too, with the
// peers' certificate, which the others trust, and asks them for none.
func (l *Link) Serve(handler http.Handler) *Visits {
	l.tb.Helper()
	return l.ServeTLS(handler, l.cert)
}

// ServeTLS is [Link.Serve] with a TLS configuration of the caller's, such as
// [Cluster.WrongTLS], or nil for plain HTTP.
func (l *Link) ServeTLS(handler http.Handler, conf *tls.Config) *Visits {
	l.tb.Helper()
	lis := l.behind()
	visits := &Visits{then: handler}
	srv := &http.Server{Handler: visits, ErrorLog: log.New(io.Discard, "", 0)}
	l.lead(lis.Addr().String(), srv)
	if conf != nil {
		lis = tls.NewListener(lis, conf)
	}
	l.wg.Go(func() { _ = srv.Serve(lis) })
	return visits
}

// Speak puts a server behind the link that greets whoever connects with these
// bytes and closes: TCP, but no HTTP.
func (l *Link) Speak(greeting string) {
	l.tb.Helper()
	lis := l.behind()
	l.lead(lis.Addr().String(), lis)
	l.wg.Go(func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, greeting)
			_ = conn.Close()
		}
	})
}

// behind is a port of our own for the link to lead to.
func (l *Link) behind() net.Listener {
	l.tb.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.tb.Fatal(err)
	}
	return lis
}

// lead makes the link lead to target, which ends with stand if that is ours,
// and resets the connections that led elsewhere.
func (l *Link) lead(target string, stand closer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if target == l.target && stand == nil {
		return
	}
	if l.stand != nil {
		_ = l.stand.Close()
	}
	l.target, l.stand = target, stand
	for c := range l.conns {
		c.reset()
	}
	l.announce()
}

// An Answer is a web server that says the same to everybody, such as a proxy
// that forbids what it does not know, or one whose backend is gone.
type Answer struct {
	Status int // 200 if it is 0
	Header http.Header
	Body   string
}

// ServeHTTP implements [http.Handler].
func (a Answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for name, values := range a.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	_, _ = io.WriteString(w, a.Body)
}

// Visits are the requests that a web server of [Link.Serve] has been sent.
type Visits struct {
	then http.Handler
	mu   sync.Mutex
	all  []Visit
}

// A Visit is one request, without its body.
type Visit struct {
	Method, Path string
	Header       http.Header
}

// ServeHTTP implements [http.Handler].
func (v *Visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	v.all = append(v.all, Visit{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone()})
	v.mu.Unlock()
	v.then.ServeHTTP(w, r)
}

// All are the requests so far, in order.
func (v *Visits) All() []Visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Visit{}, v.all...)
}

// Count is how many requests there have been for paths that begin so, such as
// "/raft"; "" counts all.
func (v *Visits) Count(path string) int {
	n := 0
	for _, visit := range v.All() {
		if strings.HasPrefix(visit.Path, path) {
			n++
		}
	}
	return n
}
