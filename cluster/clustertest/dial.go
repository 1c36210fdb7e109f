package clustertest

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
)

const clientPort = "2379"

// clientURLs are where a server with these peer URLs serves clients.
func clientURLs(peerURLs []string) []string {
	var urls []string
	for _, raw := range peerURLs {
		u := raw + "-client" // of a unix socket
		if p, err := peerurl.Parse(raw); err == nil && !p.Unix() {
			u = p.Scheme() + "://" + net.JoinHostPort(p.Host(), clientPort)
		}
		if !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	return urls
}

func split(urls []string) []string { return strings.Split(strings.Join(urls, ","), ",") }

// where is the address of a URL, for finding out who listens there.
func where(raw string) string {
	if hp, err := peerurl.HostPort(strings.TrimSuffix(raw, "/")); err == nil {
		return hp
	}
	return raw
}

func whereAll(urls []string) []string {
	var addrs []string
	for _, u := range urls {
		addrs = append(addrs, where(u))
	}
	return addrs
}

// onClientURL is the server that answers on a client URL: whom the test routed it
// to, else who listens there, else the first that advertises it.
func (c *Cluster) onClientURL(url string) *process {
	addr := where(url)
	if id, ok := c.routes[addr]; ok {
		return c.openProc(id)
	}
	if p := c.listening(func(p *process) bool { return slices.Contains(p.host.clientAddrs, addr) }); p != nil {
		return p
	}
	return c.listening(func(p *process) bool { return slices.Contains(whereAll(c.knob(p.id).clientURLs), addr) })
}

// onPeerURL is the server that answers on a peer URL.
func (c *Cluster) onPeerURL(url string) *process {
	addr := where(url)
	if id, ok := c.routes[addr]; ok {
		return c.openProc(id)
	}
	return c.listening(func(p *process) bool { return slices.Contains(p.host.peerAddrs, addr) })
}

func (c *Cluster) listening(there func(*process) bool) *process {
	for _, h := range c.hosts {
		if h.proc.open() && there(h.proc) {
			return h.proc
		}
	}
	return nil
}

// onMetricsURL is the server behind a metrics URL. Every host has one, on any
// port; where the host says nothing, it is taken for the target's own.
func (c *Cluster) onMetricsURL(t cluster.Target) *process {
	if id, ok := c.routes[where(t.MetricsURL)]; ok {
		return c.openProc(id)
	}
	return c.openProc(t.ID)
}

// openProc is the server of a member, nil if nothing listens.
func (c *Cluster) openProc(id cluster.ID) *process {
	if p := c.proc(id); p.open() {
		return p
	}
	return nil
}

// refused is the error of an address that nobody listens on.
func refused(url string) error {
	return fmt.Errorf("dial tcp %s: connect: %w", where(url), syscall.ECONNREFUSED)
}

var (
	errNoURL  = fmt.Errorf("%w: no URL to ask is known", cluster.ErrUnreachable)
	errBroken = errors.New("error reading from server: EOF") // the server ended during the call
)

// endpoints are where the targets are dialled, each once, in order.
func (c *Cluster) endpoints(targets ...cluster.Target) []string {
	var eps []string
	for _, t := range targets {
		urls := t.ClientURLs
		if t.Own() && len(urls) == 0 {
			urls = c.ownEndpoints()
		}
		for _, u := range urls {
			if !slices.Contains(eps, u) {
				eps = append(eps, u)
			}
		}
	}
	return eps
}

// ownEndpoints are those of the caller's own client.
func (c *Cluster) ownEndpoints() []string {
	if c.own != nil {
		return c.own
	}
	var eps []string
	for _, n := range c.voters() {
		if h := c.hostOf(n.ID); h != nil {
			eps = append(eps, clientURLs(h.urls)...)
		}
	}
	return eps
}

// serves reports whether p's client port answers now.
func (c *Cluster) serves(p *process) bool {
	return p.serving && p.up() && !c.knob(p.id).silent
}

// first asks whoever is behind the URLs, all at once: the first success is the
// answer; a failure counts only once there is nobody left to wait for.
func first[T any](urls []string, ask func(url string) (T, error)) (T, error) {
	var zero T
	if len(urls) == 0 {
		return zero, errNoURL
	}
	waiting := false
	var errs []error
	for _, u := range urls {
		v, err := ask(u)
		switch {
		case err == nil:
			return v, nil
		case errors.Is(err, errWait):
			waiting = true
		default:
			errs = append(errs, fmt.Errorf("%s: %w", u, err))
		}
	}
	switch {
	case waiting:
		return zero, errWait
	case len(errs) == 1:
		return zero, errs[0]
	}
	return zero, errors.Join(errs...)
}

// onClient asks the server behind each client URL, once its port answers.
func onClient[T any](c *Cluster, urls []string, ask func(*process) (T, error)) (T, error) {
	return first(urls, func(u string) (T, error) {
		if err := c.grpc(u); err != nil {
			var zero T
			return zero, err
		}
		return onPort(c, u, ask)
	})
}

// onPort asks the server behind a client URL, once it answers.
func onPort[T any](c *Cluster, u string, ask func(*process) (T, error)) (T, error) {
	var zero T
	p := c.onClientURL(u)
	switch {
	case p == nil || c.knob(p.id).hidden:
		return zero, refused(u)
	case !c.serves(p):
		return zero, errWait
	}
	return ask(p)
}
