package manifest

import (
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/version"
)

// valueKind is how a setting's value is written.
type valueKind int

const (
	text     valueKind = iota
	number             // a whole number, not negative
	number32           // the same, of 32 bits
	signed             // a whole number
	boolean            // true or false
	duration           // "5s"; in the file whole nanoseconds
	urls               // URLs between commas, one string in the file too
	origins            // URLs between commas, or a star
	commas             // words between commas, one string in the file too
	list               // words between commas, a YAML list in the file
)

func (k valueKind) isNumber() bool { return k == number || k == number32 || k == signed }

// A spelling is one way etcd can be told a setting. A setting with several was
// renamed; the newest spelling comes first.
type spelling struct {
	name  string // canonical: the newest flag's name without "experimental-"
	flag  string // without dashes; for a gate "feature-gates"
	gate  string // the feature gate that holds it, where there is no flag
	kind  valueKind
	in    version.Range // the etcd versions that take it; all others refuse to start
	key   string        // where the config file has it, "a.b" in block a; "" is nowhere
	keyIn version.Range // the etcd versions whose config file has it
}

func row(name string, k valueKind, in string) spelling {
	r := version.MustRange(in)
	return spelling{name: name, flag: name, kind: k, in: r, key: name, keyIn: r}
}

// was is a former flag of the same setting.
func was(name, flag string, k valueKind, in string) spelling {
	s := row(name, k, in)
	s.flag, s.key = flag, flag
	return s
}

// gate is a setting that became a feature gate.
func gate(name, gate, in string) spelling {
	s := row(name, boolean, in)
	s.flag, s.key, s.gate = featureGates, featureGates, gate
	return s
}

// at moves a spelling to another place of the config file.
func (s spelling) at(key string) spelling {
	s.key = key
	return s
}

// since narrows the versions whose config file has it.
func (s spelling) since(in string) spelling {
	s.keyIn = version.MustRange(in)
	return s
}

// noKey is for what the config file cannot say.
func (s spelling) noKey() spelling {
	s.key, s.keyIn = "", version.Range{}
	return s
}

const (
	featureGates = "feature-gates"
	clientTLS    = "client-transport-security"
	peerTLS      = "peer-transport-security"

	ever = "3.4+"        // in every version known here
	v36  = "3.6.0-rc.3+" // when most names lost their "experimental-"
	exp  = "3.4 to 3.6"  // 3.7 refuses every experimental flag
)

// table is everything etcd 3.4 to 3.8.0-alpha.0 can be told on its command line,
// and by which name. Read off the flags and the configuration keys that the
// servers register (etcdmain/config.go, embed/config.go, features) at 3.4.13,
// 3.5.0, .8, .10, .11, .13 to .16, .21, .35, 3.6.0, .16, 3.7.3 and 3.8.0-alpha.0;
// patch levels of 3.4 after .13 from its change log. A test holds it to lists
// taken from those servers.
var table = []spelling{
	row("advertise-client-urls", urls, ever),
	row("auth-token", text, ever),
	row("auth-token-ttl", number, "3.4.10+"), // CHANGELOG-3.4, #11980
	row("auto-compaction-mode", text, ever),
	row("auto-compaction-retention", text, ever),
	row("auto-tls", boolean, ever).at(clientTLS + ".auto-tls"),
	row("backend-batch-interval", duration, ever),
	row("backend-batch-limit", signed, ever),
	row("backend-bbolt-freelist-type", text, "3.5+"),
	was("backend-bbolt-freelist-type", "experimental-backend-bbolt-freelist-type", text, "3.4"),
	row("bcrypt-cost", number, ever),
	row("bootstrap-defrag-threshold-megabytes", number, v36),
	was("bootstrap-defrag-threshold-megabytes", "experimental-bootstrap-defrag-threshold-megabytes", number, "3.5 to 3.6"),
	row("cert-file", text, ever).at(clientTLS + ".cert-file"),
	row("cipher-suites", list, ever),
	row("client-cert-allowed-hostname", list, ever).at(clientTLS + ".allowed-hostname").since("3.5.14+"),
	row("client-cert-auth", boolean, ever).at(clientTLS + ".client-cert-auth"),
	row("client-cert-file", text, "3.5+").at(clientTLS + ".client-cert-file"), // #12705
	row("client-crl-file", text, ever).noKey(),
	row("client-key-file", text, "3.5+").at(clientTLS + ".client-key-file"),
	gate("compact-hash-check-enabled", "CompactHashCheck", v36),
	was("compact-hash-check-enabled", "experimental-compact-hash-check-enabled", boolean, "3.5.5+, 3.6"),
	row("compact-hash-check-time", duration, v36),
	was("compact-hash-check-time", "experimental-compact-hash-check-time", duration, "3.5.5+, 3.6"),
	row("compaction-batch-limit", signed, v36),
	was("compaction-batch-limit", "experimental-compaction-batch-limit", signed, exp),
	row("compaction-sleep-interval", duration, v36),
	was("compaction-sleep-interval", "experimental-compaction-sleep-interval", duration, "3.5.16+, 3.6"),
	row("corrupt-check-time", duration, v36),
	was("corrupt-check-time", "experimental-corrupt-check-time", duration, exp),
	row("cors", origins, ever),
	row("data-dir", text, ever),
	row("debug", boolean, "3.4"),
	row("discovery", text, exp),
	row("discovery-cacert", text, v36).at("discovery-config.client.secure.cacert"),
	row("discovery-cert", text, v36).at("discovery-config.client.secure.cert"),
	row("discovery-dial-timeout", duration, v36).at("discovery-config.client.dial-timeout"),
	row("discovery-endpoints", list, v36).at("discovery-config.client.endpoints"),
	row("discovery-fallback", text, ever).since("3.4 to 3.5"),
	row("discovery-insecure-skip-tls-verify", boolean, v36).at("discovery-config.client.secure.insecure-skip-tls-verify"),
	row("discovery-insecure-transport", boolean, v36).at("discovery-config.client.secure.insecure-transport"),
	row("discovery-keepalive-time", duration, v36).at("discovery-config.client.keepalive-time"),
	row("discovery-keepalive-timeout", duration, v36).at("discovery-config.client.keepalive-timeout"),
	row("discovery-key", text, v36).at("discovery-config.client.secure.key"),
	row("discovery-password", text, v36).at("discovery-config.client.auth.password"),
	row("discovery-proxy", text, exp),
	row("discovery-request-timeout", duration, v36).at("discovery-config.client.request-timeout"),
	row("discovery-srv", text, ever),
	row("discovery-srv-name", text, ever),
	row("discovery-token", text, v36).at("discovery-config.token"),
	row("discovery-user", text, v36).at("discovery-config.client.auth.username"),
	row("distributed-tracing-address", text, v36),
	was("distributed-tracing-address", "experimental-distributed-tracing-address", text, "3.5 to 3.6"),
	row("distributed-tracing-instance-id", text, v36),
	was("distributed-tracing-instance-id", "experimental-distributed-tracing-instance-id", text, "3.5 to 3.6"),
	row("distributed-tracing-sampling-rate", signed, v36),
	was("distributed-tracing-sampling-rate", "experimental-distributed-tracing-sampling-rate", signed, "3.5.11+, 3.6"), // #16951
	row("distributed-tracing-service-name", text, v36),
	was("distributed-tracing-service-name", "experimental-distributed-tracing-service-name", text, "3.5 to 3.6"),
	row("downgrade-check-time", duration, v36),
	was("downgrade-check-time", "experimental-downgrade-check-time", duration, "3.5 to 3.6"),
	row("election-timeout", number, ever),
	row("enable-distributed-tracing", boolean, v36),
	was("enable-distributed-tracing", "experimental-enable-distributed-tracing", boolean, "3.5 to 3.6"),
	row("enable-grpc-gateway", boolean, ever),
	gate("enable-lease-checkpoint", "LeaseCheckpoint", v36),
	was("enable-lease-checkpoint", "experimental-enable-lease-checkpoint", boolean, exp),
	gate("enable-lease-checkpoint-persist", "LeaseCheckpointPersist", v36),
	was("enable-lease-checkpoint-persist", "experimental-enable-lease-checkpoint-persist", boolean, "3.4.20+, 3.5.2+, 3.6"), // #14253, #13508
	row("enable-log-rotation", boolean, "3.5+"),
	row("enable-pprof", boolean, ever),
	row("enable-v2", boolean, "3.4 to 3.5"),
	was("enable-v2v3", "experimental-enable-v2v3", text, "3.4 to 3.5"),
	gate("fast-lease-keep-alive", "FastLeaseKeepAlive", "3.7+"),
	row("force-new-cluster", boolean, ever),
	row("grpc-keepalive-interval", duration, ever),
	row("grpc-keepalive-min-time", duration, ever),
	row("grpc-keepalive-timeout", duration, ever),
	row("heartbeat-interval", number, ever),
	row("host-whitelist", commas, ever),
	row("initial-advertise-peer-urls", urls, ever),
	row("initial-cluster", text, ever),
	row("initial-cluster-state", text, ever),
	row("initial-cluster-token", text, ever),
	gate("initial-corrupt-check", "InitialCorruptCheck", v36),
	was("initial-corrupt-check", "experimental-initial-corrupt-check", boolean, exp),
	row("initial-election-tick-advance", boolean, ever),
	row("key-file", text, ever).at(clientTLS + ".key-file"),
	row("listen-client-http-urls", urls, "3.4.25+, 3.5.8+, 3.6+"), // #15589
	row("listen-client-urls", urls, ever),
	row("listen-metrics-urls", urls, ever),
	row("listen-peer-urls", urls, ever),
	row("log-format", text, v36),
	row("log-level", text, ever),
	row("log-outputs", list, ever),
	was("log-outputs", "log-output", list, "3.4"),
	row("log-package-levels", text, "3.4"),
	row("log-rotation-config-json", text, "3.5+"),
	row("logger", text, ever),
	row("max-concurrent-streams", number32, "3.4.20+, 3.5.5+, 3.6+"), // #14251, #14219
	row("max-learners", signed, v36),
	row("max-request-bytes", number, ever),
	row("max-snapshots", number, ever),
	row("max-txn-ops", number, ever),
	row("max-wals", number, ever),
	row("memory-mlock", boolean, v36),
	was("memory-mlock", "experimental-memory-mlock", boolean, "3.5 to 3.6"),
	row("metrics", text, ever),
	row("name", text, ever),
	row("next-cluster-version-compatible", boolean, "3.4.31 to 3.4").noKey(), // facts of 3.4.45; its key was never read off
	row("peer-auto-tls", boolean, ever).at(peerTLS + ".auto-tls"),
	row("peer-cert-allowed-cn", list, ever).at(peerTLS + ".allowed-cn").since("3.5.14+"),
	row("peer-cert-allowed-hostname", list, ever).at(peerTLS + ".allowed-hostname").since("3.5.14+"),
	row("peer-cert-file", text, ever).at(peerTLS + ".cert-file"),
	row("peer-client-cert-auth", boolean, ever).at(peerTLS + ".client-cert-auth"),
	row("peer-client-cert-file", text, "3.5+").at(peerTLS + ".client-cert-file"),
	row("peer-client-key-file", text, "3.5+").at(peerTLS + ".client-key-file"),
	row("peer-crl-file", text, ever).noKey(),
	row("peer-key-file", text, ever).at(peerTLS + ".key-file"),
	row("peer-skip-client-san-verification", boolean, v36).at(peerTLS + ".skip-client-san-verification"),
	was("peer-skip-client-san-verification", "experimental-peer-skip-client-san-verification", boolean, exp).since("3.6"),
	row("peer-trusted-ca-file", text, ever).at(peerTLS + ".trusted-ca-file"),
	row("pre-vote", boolean, ever),
	gate("priority-request", "PriorityRequest", "3.7+"),
	row("proxy", text, "3.4 to 3.5"),
	row("proxy-dial-timeout", number, "3.4 to 3.5"),
	row("proxy-failure-wait", number, "3.4 to 3.5"),
	row("proxy-read-timeout", number, "3.4 to 3.5"),
	row("proxy-refresh-interval", number, "3.4 to 3.5"),
	row("proxy-write-timeout", number, "3.4 to 3.5"),
	row("quota-backend-bytes", signed, ever),
	row("raft-read-timeout", duration, "3.5+").noKey(),
	row("raft-write-timeout", duration, "3.5+").noKey(),
	row("self-signed-cert-validity", number, "3.5+").since("3.5.1+"), // #13237
	gate("set-member-local-addr", "SetMemberLocalAddr", v36),
	row("snapshot-catchup-entries", number, v36),
	was("snapshot-catchup-entries", "experimental-snapshot-catchup-entries", number, "3.5.14+, 3.6").
		at("experimental-snapshot-catch-up-entries"), // the file's key was hyphenated by mistake, #15033
	row("snapshot-count", number, ever),
	row("socket-reuse-address", boolean, "3.5+").at("socket-options.reuse-address").since("3.5.10+"), // #16435
	row("socket-reuse-port", boolean, "3.5+").at("socket-options.reuse-port").since("3.5.10+"),
	gate("stop-grpc-service-on-defrag", "StopGRPCServiceOnDefrag", v36),
	was("stop-grpc-service-on-defrag", "experimental-stop-grpc-service-on-defrag", boolean, "3.5.14+, 3.6"),
	row("strict-reconfig-check", boolean, ever),
	row("tls-max-version", text, "3.4.25+, 3.5.8+, 3.6+"), // #15483
	row("tls-min-version", text, "3.4.25+, 3.5.8+, 3.6+"),
	row("trusted-ca-file", text, ever).at(clientTLS + ".trusted-ca-file"),
	gate("txn-mode-write-with-shared-buffer", "TxnModeWriteWithSharedBuffer", v36),
	was("txn-mode-write-with-shared-buffer", "experimental-txn-mode-write-with-shared-buffer", boolean, "3.5 to 3.6"),
	row("unsafe-no-fsync", boolean, "3.4.10+"), // #11946
	row("v2-deprecation", text, "3.5+"),        // the value is ignored from 3.6 on
	row("wal-dir", text, ever),
	row("warning-apply-duration", duration, v36),
	was("warning-apply-duration", "experimental-warning-apply-duration", duration, "3.4.16+, 3.5+, 3.6"), // #12448
	row("warning-unary-request-duration", duration, v36),
	was("warning-unary-request-duration", "experimental-warning-unary-request-duration", duration, "3.6"),
	row("watch-progress-notify-interval", duration, v36),
	was("watch-progress-notify-interval", "experimental-watch-progress-notify-interval", duration, "3.4.11+, 3.5+, 3.6"), // #12216
}

// A choice is a value that a setting takes, and the versions that take it.
type choice struct {
	value string
	in    version.Range
}

func oneOf(values ...string) []choice {
	all := make([]choice, len(values))
	for i, v := range values {
		all[i] = is(v, ever)
	}
	return all
}

func is(value, in string) choice { return choice{value, version.MustRange(in)} }

// choices are the settings that take certain values only; the server exits at
// any other.
var choices = map[string][]choice{
	"auto-compaction-mode":  oneOf("periodic", "revision"),
	"proxy":                 oneOf("off", "readonly", "on"),
	"discovery-fallback":    {is("exit", ever), is("proxy", "3.4 to 3.5")},
	"initial-cluster-state": oneOf("new", "existing"),
	"log-format":            oneOf("json", "console"),
	"log-level":             oneOf("debug", "info", "warn", "error", "dpanic", "panic", "fatal"),
	"logger":                {is("zap", ever), is("capnslog", "3.4")},
	"tls-max-version":       oneOf("TLS1.2", "TLS1.3"),
	"tls-min-version":       oneOf("TLS1.2", "TLS1.3"),
	"v2-deprecation": append(oneOf("write-only", "write-only-drop-data", "gone"),
		is("not-yet", "3.5"),
		is("write-only-skip-check", "3.5.35+, 3.6.16+, 3.7+")), // the patches it was seen in
}

var always = version.MustRange(ever)

// chosen is the choice that a value is; ok says whether there is one, or the
// setting takes any.
func chosen(name, value string) (c choice, ok bool) {
	if choices[name] == nil {
		return choice{value, always}, true
	}
	for _, c := range choices[name] {
		if c.value == value {
			return c, true
		}
	}
	return choice{}, false
}

// notSettings are flags that say how etcd is told, not what: with a config file
// all else is ignored, with a version flag nothing starts.
var notSettings = []string{"config-file", "help", "version"}

var (
	byName = index(func(s spelling) string { return s.name })
	byFlag = index(func(s spelling) string { return only(s.gate == "", s.flag) })
	byGate = index(func(s spelling) string { return s.gate })
	byKey  = index(func(s spelling) string { return only(s.gate == "", s.key) })
)

// index groups the table; rows without a key are left out.
func index(key func(spelling) string) map[string][]spelling {
	m := make(map[string][]spelling)
	for _, s := range table {
		if k := key(s); k != "" {
			m[k] = append(m[k], s)
		}
	}
	return m
}

func only(ok bool, s string) string {
	if ok {
		return s
	}
	return ""
}

// spell is the newest spelling of a setting that a version takes.
func spell(name string, v version.Version) (spelling, bool) {
	for _, s := range byName[name] {
		if s.in.Has(v) {
			return s, true
		}
	}
	return spelling{}, false
}

// spellInFile is spell for the config file, which may know an older name only.
func spellInFile(name string, v version.Version) (spelling, bool) {
	for _, s := range byName[name] {
		if s.key != "" && s.in.Has(v) && s.keyIn.Has(v) {
			return s, true
		}
	}
	return spelling{}, false
}

// history says which versions take a setting, by which name, for error texts.
func history(name string) string {
	rows := slices.Clone(byName[name])
	slices.Reverse(rows)
	texts := make([]string, len(rows))
	for i, s := range rows {
		texts[i] = "in " + s.in.String() + " as " + s.String()
	}
	return strings.Join(texts, ", ")
}

// String is the spelling as on a command line.
func (s spelling) String() string {
	if s.gate != "" {
		return "--feature-gates=" + s.gate
	}
	return "--" + s.flag
}

// variable is the environment variable of a flag: SetFlagsFromEnv in etcd's
// pkg/flags.
func variable(flag string) string {
	return "ETCD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
