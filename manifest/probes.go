package manifest

import (
	"net/netip"
	"net/url"
	"strconv"

	"github.com/etcdjoin/etcdjoin/version"
)

const (
	probePort             = "probe-port" // the name kubeadm gives it
	defaultStartupSeconds = 30 * 60
	probePeriod           = 10
	probeTimeout          = 15
)

// probes are what the kubelet asks. Liveness and startup never depend on the
// cluster or on being a voter (kubeadm #2567, #3039): a learner that catches up
// for hours, or a member without quorum, is not restarted. kubeadm's startup
// probe asks /readyz, which a learner fails since 3.5.19, and restarts it after
// about four minutes. Readiness asks /readyz, which keeps a learner out of
// service until it votes.
type probes struct {
	live, ready target
	startup     int // seconds until a container that is not live is restarted
}

// target is where a probe asks: a path by http or https, or whether a port is
// open. Without a port there is no probe.
type target struct {
	host, scheme, path string
	port               int
}

// probesFor follows the first metrics URL. Where no path there is decided by
// this process alone, liveness asks whether the peer port is open, which needs
// no client certificate.
func (r *resolved) probesFor() probes {
	p := probes{startup: orElse(r.Pod.StartupSeconds, defaultStartupSeconds)}
	if u := firstURL(r.MetricsURLs); u != nil && !r.table.IsZero() {
		p.ready = targetAt(u, readyPath(r.table))
		if path := livePath(r.table); path != "" {
			p.live = targetAt(u, path)
			return p
		}
	}
	if u := firstURL(r.ListenPeerURLs); u != nil {
		p.live = targetAt(u, "")
	}
	return p
}

// targetAt is a path at a URL, or its port if there is no path.
func targetAt(u *url.URL, path string) target {
	port, _ := strconv.Atoi(u.Port())
	t := target{host: u.Hostname(), port: port, path: path}
	if addr, err := netip.ParseAddr(t.host); err == nil && addr.IsUnspecified() {
		t.host = loopbackFor(t.host)
	}
	if path != "" {
		t.scheme = "HTTP"
		if u.Scheme == "https" {
			t.scheme = "HTTPS"
		}
	}
	return t
}

// livePath is what a process answers that is well, whatever its cluster does.
func livePath(v version.Version) string {
	switch {
	case v.Can(version.LivezReadyz):
		return "/livez"
	case v.Can(version.HealthSerializable):
		return "/health?exclude=NOSPACE&exclude=CORRUPT&serializable=true"
	}
	return ""
}

// readyPath is what a member answers that serves. Below 3.5.19 a learner that
// has caught up passes it too.
func readyPath(v version.Version) string {
	switch {
	case v.Can(version.LivezReadyz):
		return "/readyz"
	case v.Can(version.HealthExclude):
		return "/health?exclude=NOSPACE"
	}
	return "/health"
}

func (p probes) livenessTree() yamlMap  { return p.live.probe(probePeriod, 8, probePeriod) }
func (p probes) readinessTree() yamlMap { return p.ready.probe(0, 3, 1) }
func (p probes) startupTree() yamlMap {
	return p.live.probe(probePeriod, (p.startup+probePeriod-1)/probePeriod, probePeriod)
}

// probe has kubeadm's layout and timeout.
func (t target) probe(delay, failures, period int) yamlMap {
	if t.port == 0 {
		return nil
	}
	m := yamlMap{{"failureThreshold", failures}}
	if t.path != "" {
		m = m.with("httpGet", yamlMap{{"host", t.host}, {"path", t.path}, {"port", probePort}, {"scheme", t.scheme}})
	}
	if delay > 0 {
		m = m.with("initialDelaySeconds", delay)
	}
	m = m.with("periodSeconds", period)
	if t.path == "" {
		m = m.with("tcpSocket", yamlMap{{"host", t.host}, {"port", t.port}})
	}
	return m.with("timeoutSeconds", probeTimeout)
}

// ports names the port of the metrics URL, as kubeadm does.
func (p probes) ports() yamlSeq {
	if p.ready.port == 0 {
		return nil
	}
	return yamlSeq{yamlMap{{"containerPort", p.ready.port}, {"name", probePort}, {"protocol", "TCP"}}}
}
