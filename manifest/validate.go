package manifest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/initialcluster"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
)

// check holds the settings to the rules that need more than one of them, most
// of them embed.Config.Validate's: etcd would exit.
func (r *resolved) check(faults *Faults) {
	r.checkRequired(faults)
	r.checkName(faults)
	r.checkListen("ListenPeerURLs", r.ListenPeerURLs, r.PeerTLS, faults)
	r.checkListen("ListenClientURLs", r.ListenClientURLs, r.ClientTLS, faults)
	r.checkListen("MetricsURLs", r.MetricsURLs, r.ClientTLS, faults)
	r.checkAdvertised("AdvertisePeerURLs", r.AdvertisePeerURLs, faults)
	r.checkAdvertised("AdvertiseClientURLs", r.AdvertiseClientURLs, faults)
	checkTLS("ClientTLS", r.ClientTLS, faults)
	checkTLS("PeerTLS", r.PeerTLS, faults)
	r.checkCluster(faults)
	r.checkNeverForJoiner(faults)
	r.checkTimes(faults)
	r.checkPairs(faults)
}

func (r *resolved) checkRequired(faults *Faults) {
	if r.Bare {
		return
	}
	for _, f := range fields[:9] { // up to the initial cluster
		_, given := r.values[f.name]
		optional := f.name == "wal-dir" || f.name == "listen-metrics-urls"
		if !given && !optional && f.get(&r.Spec) == "" {
			faults.add(f.path, "must be set%s", only(f.identity, ", here or by the StartSpec given to For"))
		}
	}
}

// checkName keeps to what --initial-cluster can carry.
func (r *resolved) checkName(faults *Faults) {
	var bad *initialcluster.Error
	if errors.As(initialcluster.CheckName(r.Name), &bad) && plainText(r.Name) == nil {
		faults.add("Name", "%s", bad.Rule)
	}
}

// checkListen wants addresses: a server does not listen on a name.
func (r *resolved) checkListen(field string, raw []string, tls TLS, faults *Faults) {
	for i, text := range raw {
		u, err := url.Parse(text)
		if err != nil || strings.HasPrefix(u.Scheme, "unix") {
			continue
		}
		at := fmt.Sprintf("%s[%d]", field, i)
		if host := u.Hostname(); host != "localhost" && net.ParseIP(host) == nil {
			faults.add(at, "must have an address to listen on, not the name %q: set %s, to %s for one", host, field, u.Scheme+"://"+joinPort("0.0.0.0", u.Port()))
		}
		if u.Scheme == "https" && tls.CertFile == "" && !tls.Auto {
			faults.add(at, "is https, which needs a certificate: set CertFile and KeyFile")
		}
	}
}

// checkAdvertised wants URLs that others can dial.
func (r *resolved) checkAdvertised(field string, raw []string, faults *Faults) {
	for i, text := range raw {
		if u, err := peerurl.Parse(text); err == nil && u.Unspecified() {
			faults.add(fmt.Sprintf("%s[%d]", field, i), "must be an address others can dial, not %s", text)
		}
	}
}

func checkTLS(field string, tls TLS, faults *Faults) {
	if (tls.CertFile == "") != (tls.KeyFile == "") {
		faults.add(field, "must have CertFile and KeyFile, or neither")
	}
	if (tls.ClientCertFile == "") != (tls.ClientKeyFile == "") {
		faults.add(field, "must have ClientCertFile and ClientKeyFile, or neither")
	}
	if tls.ClientCertAuth && tls.TrustedCAFile == "" && !tls.Auto {
		faults.add(field, "must have TrustedCAFile to check client certificates against")
	}
}

// checkCluster wants an initial cluster with our own entry in it, by etcd's own
// reading, and never one that is new.
func (r *resolved) checkCluster(faults *Faults) {
	if r.InitialClusterState == "new" && !r.founds {
		faults.add("InitialClusterState", "must be %q: a member that joins and starts as new founds another cluster; For sets it, and Found for a first member", existing)
	}
	if r.InitialCluster == "" {
		return
	}
	cluster, err := ParseInitialCluster(r.InitialCluster)
	if err != nil {
		faults.add("InitialCluster", "%v", err)
		return
	}
	if u := sharedURL(cluster); u != "" {
		faults.add("InitialCluster", "must not have %s twice: etcd exits", u)
	}
	if initialcluster.CheckName(r.Name) != nil {
		return
	}
	if rule := ownEntry(cluster, r.Name, r.AdvertisePeerURLs); rule != "" {
		faults.add("InitialCluster", "%s", rule)
	}
}

// checkNeverForJoiner refuses what makes a server anything but a member of the
// cluster it is told of.
func (r *resolved) checkNeverForJoiner(faults *Faults) {
	if r.values["force-new-cluster"] == "true" {
		faults.add(settingField("force-new-cluster"), "must not be set: it makes a cluster of this member alone")
	}
	if v := r.values["proxy"]; v != "" && v != "off" {
		faults.add(settingField("proxy"), "must be off: a proxy is no member")
	}
	for _, name := range []string{"discovery", "discovery-srv", "discovery-endpoints"} {
		if r.values[name] != "" && r.InitialCluster != "" {
			faults.add(settingField(name), "must not stand beside initial-cluster: etcd refuses two ways to find its peers")
		}
	}
}

// checkTimes is etcd's rule for heartbeat and election, in milliseconds.
func (r *resolved) checkTimes(faults *Faults) {
	heartbeat, election := r.number("heartbeat-interval", 100), r.number("election-timeout", 1000)
	switch {
	case heartbeat == 0 || election == 0:
		faults.add(settingField("heartbeat-interval"), "and election-timeout must be over 0")
	case 5*heartbeat > election:
		faults.add(settingField("election-timeout"), "must be at least 5 heartbeat-intervals: %d ms is less than 5 times %d ms", election, heartbeat)
	case election > 50000:
		faults.add(settingField("election-timeout"), "must be at most 50000 ms, not %d", election)
	}
	if v, ok := r.values["compact-hash-check-time"]; ok && (v == "0s" || strings.HasPrefix(v, "-")) {
		faults.add(settingField("compact-hash-check-time"), "must be over 0")
	}
}

// number is a setting's value, or etcd's default.
func (r *resolved) number(name string, def uint64) uint64 {
	if n, err := strconv.ParseUint(r.values[name], 10, 32); err == nil {
		return n
	}
	return def
}

func (r *resolved) checkPairs(faults *Faults) {
	if r.values["enable-lease-checkpoint-persist"] == "true" && r.values["enable-lease-checkpoint"] != "true" {
		faults.add(settingField("enable-lease-checkpoint-persist"), "needs enable-lease-checkpoint=true")
	}
	if lowest := r.values["tls-min-version"]; lowest == "TLS1.3" {
		if r.values["tls-max-version"] == "TLS1.2" {
			faults.add(settingField("tls-max-version"), "must not be below tls-min-version")
		}
		if r.values["cipher-suites"] != "" {
			faults.add(settingField("cipher-suites"), "must not be set where only TLS 1.3 is spoken: Go chooses")
		}
	}
	if !r.Bare && len(r.ListenClientURLs) > 0 && len(r.AdvertiseClientURLs) == 0 {
		faults.add("AdvertiseClientURLs", "must be set with ListenClientURLs")
	}
	if r.table.Minor() == 4 && !r.table.IsZero() && orElse(r.values["logger"], "capnslog") == "capnslog" && strings.Contains(r.values["log-outputs"], ",") {
		faults.add(settingField("log-outputs"), "must be one only for the logger of 3.4: set logger to zap")
	}
	if r.WALDir != "" && r.WALDir == r.DataDir {
		faults.add("WALDir", "must not be DataDir")
	}
}
