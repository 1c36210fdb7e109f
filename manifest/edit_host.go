package manifest

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// hostURLs are the settings beside the peer URLs that have a host's address.
var hostURLs = []string{"advertise-client-urls", "listen-client-http-urls", "listen-client-urls", "listen-metrics-urls", "listen-peer-urls"}

// moveHost adds to what will be set all URLs that move with the peer URLs, unless
// they are set already, or the kubelet looks up whose they are.
func moveHost(e editor, values map[string]string) error {
	now, given := values["initial-advertise-peer-urls"]
	if !given {
		return nil
	}
	h := hostMove{to: splitList(now), from: formerPeerURLs(e)}
	if sameStrings(h.from, h.to) {
		return nil
	}
	for _, f := range e.settings() {
		_, set := values[f.canonical()]
		if set || f.none || strings.Contains(f.value, "$(") || !slices.Contains(hostURLs, f.canonical()) {
			continue
		}
		moved, err := h.move(f)
		if err != nil {
			return err
		}
		if moved != f.value {
			values[f.canonical()] = moved
		}
	}
	return nil
}

// formerPeerURLs are the member's that the file was written for.
func formerPeerURLs(e editor) []string {
	settings := map[string]string{}
	for _, f := range e.settings() {
		settings[f.canonical()] = f.value
	}
	if urls := splitList(settings["initial-advertise-peer-urls"]); len(urls) > 0 {
		return urls
	}
	cluster, _ := ParseInitialCluster(settings["initial-cluster"])
	for _, m := range cluster {
		if m.Name == settings["name"] {
			return m.PeerURLs
		}
	}
	return nil
}

// A hostMove is from the peer URLs of one host to those of another.
type hostMove struct{ from, to []string }

func (h hostMove) move(f found) (string, error) {
	urls := splitList(f.value)
	for i, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" || strings.HasPrefix(u.Scheme, "unix") || isEveryHosts(u.Hostname()) {
			continue
		}
		host := h.hostFor(u.Hostname())
		_, notAddress := netip.ParseAddr(host)
		switch listens := strings.HasPrefix(f.canonical(), "listen-"); {
		case host == "":
			return "", fault(f.line, "%s has %s, which is neither the former host's nor the new one's: set %s, too", f.label, raw, f.canonical())
		case listens && notAddress != nil:
			return "", fault(f.line, "%s needs an address to listen at, and the peer URLs have the name %s: set %s, too", f.label, host, f.canonical())
		}
		u.Host = joinPort(host, u.Port())
		urls[i] = u.String()
	}
	return strings.Join(compact(urls), ","), nil
}

func compact(urls []string) []string {
	var all []string
	for _, u := range urls {
		if !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	return all
}

// isEveryHosts: loopback and "any" mean the same on every host.
func isEveryHosts(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (addr.IsLoopback() || addr.IsUnspecified())
}

// hostFor is the new host for one that a URL has, "" if it is nobody's.
func (h hostMove) hostFor(host string) string {
	if slices.ContainsFunc(h.to, func(u string) bool { return hostOf(u) == host }) {
		return host
	}
	i := slices.IndexFunc(h.from, func(u string) bool { return hostOf(u) == host })
	if i < 0 {
		return ""
	}
	if len(h.from) == len(h.to) {
		return hostOf(h.to[i])
	}
	for _, u := range h.to {
		if is6(hostOf(u)) == is6(host) {
			return hostOf(u)
		}
	}
	return hostOf(h.to[0])
}

func is6(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().Is6()
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
