package manifest

import (
	"slices"

	"github.com/etcdjoin/etcdjoin/version"
)

// withoutIt is what etcd does where a setting that some version does not have is
// not there. Read off the servers' defaults; a setting that is not listed is lost
// whatever it was.
var withoutIt = map[string]string{
	"auth-token-ttl": "300", "backend-bbolt-freelist-type": "map", "bootstrap-defrag-threshold-megabytes": "0", "compact-hash-check-enabled": "false",
	"compact-hash-check-time": "1m", "compaction-sleep-interval": "10ms", "corrupt-check-time": "0s", "debug": "false",
	"distributed-tracing-sampling-rate": "0", "downgrade-check-time": "5s", "enable-distributed-tracing": "false",
	"enable-lease-checkpoint": "false", "enable-lease-checkpoint-persist": "false", "enable-log-rotation": "false", "enable-v2": "false",
	"fast-lease-keep-alive": "false", "log-format": "json", "max-concurrent-streams": "4294967295", "max-learners": "1",
	"memory-mlock": "false", "next-cluster-version-compatible": "false", "peer-skip-client-san-verification": "false", "priority-request": "false",
	"proxy": "off", "raft-read-timeout": "5s", "raft-write-timeout": "5s", "self-signed-cert-validity": "1", "set-member-local-addr": "false",
	"snapshot-catchup-entries": "5000", "socket-reuse-address": "false", "socket-reuse-port": "false", "stop-grpc-service-on-defrag": "false",
	"tls-min-version": "TLS1.2", "unsafe-no-fsync": "false", "warning-apply-duration": "100ms", "warning-unary-request-duration": "300ms",
	"watch-progress-notify-interval": "10m",
}

// meansNothing are settings that change nothing for a member that joins a
// cluster it is told of, whatever their value: they are about finding the first
// members, or are ignored.
var meansNothing = map[string]bool{
	"discovery": true, "discovery-fallback": true, "discovery-proxy": true, "discovery-token": true, "discovery-endpoints": true,
	"discovery-dial-timeout": true, "discovery-request-timeout": true, "discovery-keepalive-time": true, "discovery-keepalive-timeout": true,
	"discovery-insecure-transport": true, "discovery-insecure-skip-tls-verify": true, "discovery-cert": true, "discovery-key": true,
	"discovery-cacert": true, "discovery-user": true, "discovery-password": true, "v2-deprecation": true,
}

// onlyWith are settings that mean something only where one of these others says
// what etcd does not do without it.
var onlyWith = map[string][]string{
	"compact-hash-check-time":           {"compact-hash-check-enabled"},
	"distributed-tracing-address":       {"enable-distributed-tracing"},
	"distributed-tracing-instance-id":   {"enable-distributed-tracing"},
	"distributed-tracing-sampling-rate": {"enable-distributed-tracing"},
	"distributed-tracing-service-name":  {"enable-distributed-tracing"},
	"enable-lease-checkpoint-persist":   {"enable-lease-checkpoint"},
	"log-rotation-config-json":          {"enable-log-rotation"},
	"proxy-dial-timeout":                {"proxy"},
	"proxy-failure-wait":                {"proxy"},
	"proxy-read-timeout":                {"proxy"},
	"proxy-refresh-interval":            {"proxy"},
	"proxy-write-timeout":               {"proxy"},
	"self-signed-cert-validity":         {"auto-tls", "peer-auto-tls"},
}

// isLost reports whether etcd does something else without a setting.
func (m *migrator) isLost(name, value string) bool {
	if meansNothing[name] || value == "" {
		return false
	}
	if others := onlyWith[name]; len(others) > 0 && !m.anyActs(others) {
		return false
	}
	usual, known := withoutIt[name]
	if name == "txn-mode-write-with-shared-buffer" {
		usual, known = "true", m.to.Minor() > 4 // 3.4 has no such buffer
	}
	return !known || usual != mustNormal(found{rows: byName[name], value: value})
}

// anyActs reports whether one of these settings says what etcd does not do
// without it.
func (m *migrator) anyActs(names []string) bool {
	for _, name := range names {
		usual := orElse(withoutIt[name], "false")
		if gate := m.gates.named(name); gate != "" && m.gates.value(gate) != usual {
			return true
		}
		for _, f := range m.settings() {
			if f.canonical() == name && !f.none && mustNormal(f) != usual {
				return true
			}
		}
	}
	return false
}

// A deprecation is a setting that a version takes and a later one does not.
type deprecation struct {
	name string
	in   version.Range
	why  string
}

func deprecationsIn(in, why string, names ...string) []deprecation {
	var all []deprecation
	for _, name := range names {
		all = append(all, deprecation{name, version.MustRange(in), why})
	}
	return all
}

// deprecations are what the servers themselves say: deprecatedFlags in etcdmain,
// and the texts of flags.
var deprecations = slices.Concat(
	deprecationsIn("3.4", "etcd 3.5 has no such setting", "debug", "log-package-levels"),
	deprecationsIn("3.5", "etcd 3.6 has no such setting", "enable-v2", "enable-v2v3", "proxy", "proxy-dial-timeout",
		"proxy-failure-wait", "proxy-read-timeout", "proxy-refresh-interval", "proxy-write-timeout"),
	deprecationsIn("3.6", "etcd 3.7 has no such setting", "discovery", "discovery-proxy"),
	deprecationsIn("3.6 to 3.7", "etcd 3.8 will not have it", "max-snapshots"),
	deprecationsIn("3.6 to 3.7", "its value is ignored, and etcd 3.8 will not have it", "v2-deprecation"),
)

// deprecatedIn is why a version warns of a setting, "" if it does not.
func deprecatedIn(name string, v version.Version) string {
	for _, d := range deprecations {
		if d.name == name && d.in.Has(v) {
			return d.why
		}
	}
	return ""
}

// deprecated tells of a setting that the version warns of.
func (m *migrator) deprecated(f found, to spelling) {
	if why := deprecatedIn(f.canonical(), m.to); why != "" {
		as := m.writtenAs(to, f, f.value)
		m.changes = append(m.changes, Change{Kind: Deprecated, Setting: f.canonical(), From: as, To: as, Why: "deprecated in etcd " + m.to.String() + ": " + why})
	}
}
