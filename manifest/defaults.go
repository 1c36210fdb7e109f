package manifest

import (
	"net/netip"
	"net/url"
	"slices"

	"github.com/etcdjoin/etcdjoin/version"
)

const (
	existing       = "existing"
	defaultDataDir = "/var/lib/etcd"
)

// A Default is a setting that a [Spec] makes where nobody else does, with the
// reason. It is left out of versions that do not have it.
type Default struct {
	Name, Value, Why string

	in version.Range // where it is made; zero is wherever there is the setting
}

// Defaults lists what a Spec sets by itself: beside these the data directory,
// URLs and client-cert-auth, which the fields of [Spec] and [TLS] tell.
// Spec.Without and Spec.Bare switch them off.
func Defaults() []Default { return slices.Clone(defaults) }

var defaults = []Default{
	{
		Name: "initial-corrupt-check", Value: "true",
		Why: "a member that starts with data that differ from its peers' stops before it serves them " +
			"(3.5.0 to 3.5.2 could lose applied transactions in a crash, etcd #13766; kubernetes #109074)",
	},
	{
		Name: "pre-vote", Value: "true", in: version.MustRange("3.4"),
		Why: "a member that was cut off does not disturb the leader when it comes back; off by default in 3.4, on since 3.5",
	},
	{
		Name: "snapshot-count", Value: "10000",
		Why: "the default since 3.6; before it was 100000 entries, all held in memory; kubeadm has set it for as long as it starts etcd",
	},
	{
		Name: "watch-progress-notify-interval", Value: "5s",
		Why: "the API server's watch cache learns that it is current, instead of after ten minutes (kubernetes #111383)",
	},
}

// withDefaults fills in the fields that follow from others.
func (s Spec) withDefaults() Spec {
	if s.InitialClusterState == "" {
		s.InitialClusterState = existing
	}
	if s.Bare {
		return s
	}
	s.DataDir = orElse(s.DataDir, defaultDataDir)
	s.ClientTLS.ClientCertAuth = s.ClientTLS.ClientCertAuth || s.ClientTLS.TrustedCAFile != ""
	s.PeerTLS.ClientCertAuth = s.PeerTLS.ClientCertAuth || s.PeerTLS.TrustedCAFile != ""
	return s.withURLs()
}

// withURLs derives each list of URLs that is empty; what cannot be derived
// stays empty for validation to find.
func (s Spec) withURLs() Spec {
	if len(s.ListenPeerURLs) == 0 {
		s.ListenPeerURLs = s.AdvertisePeerURLs
	}
	if len(s.AdvertiseClientURLs) == 0 {
		s.AdvertiseClientURLs = clientURLs(s.AdvertisePeerURLs, s.ClientTLS)
	}
	if len(s.ListenClientURLs) == 0 {
		s.ListenClientURLs = listenClientURLs(s.AdvertiseClientURLs)
	}
	if len(s.MetricsURLs) == 0 && !slices.Contains(s.Without, "listen-metrics-urls") {
		s.MetricsURLs = metricsURLs(s.AdvertiseClientURLs)
	}
	return s
}

// clientURLs is port 2379 where the first peer URL points, as kubeadm has it.
func clientURLs(peers []string, tls TLS) []string {
	u := firstURL(peers)
	if u == nil {
		return nil
	}
	scheme := "http"
	if tls.CertFile != "" || tls.Auto {
		scheme = "https"
	}
	return []string{scheme + "://" + joinPort(u.Hostname(), "2379")}
}

// listenClientURLs is the advertised URLs and loopback, where tools on the node
// look for etcd.
func listenClientURLs(advertised []string) []string {
	u := firstURL(advertised)
	if u == nil {
		return nil
	}
	loopback := u.Scheme + "://" + joinPort(loopbackFor(u.Hostname()), u.Port())
	if slices.Contains(advertised, loopback) {
		return advertised
	}
	return append([]string{loopback}, advertised...)
}

// metricsURLs is port 2381 on loopback: plain, because probes bring no client
// certificate, and not seen from outside.
func metricsURLs(advertised []string) []string {
	u := firstURL(advertised)
	if u == nil {
		return nil
	}
	return []string{"http://" + joinPort(loopbackFor(u.Hostname()), "2381")}
}

// loopbackFor is the loopback address of a host's family: a node with IPv6 only
// has no 127.0.0.1 to speak of.
func loopbackFor(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Unmap().Is6() {
		return "::1"
	}
	return "127.0.0.1"
}

func joinPort(host, port string) string {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// firstURL is nil where there is no URL with host and port.
func firstURL(raw []string) *url.URL {
	if len(raw) == 0 {
		return nil
	}
	u, err := url.Parse(raw[0])
	if err != nil || u.Hostname() == "" || u.Port() == "" {
		return nil
	}
	return u
}

func orElse[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}
