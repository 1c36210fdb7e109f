package manifest

import (
	"strconv"
	"strings"
)

// A field is a setting that has its own place in [Spec]. An identity is one
// node's alone.
type field struct {
	name     string // canonical
	path     string // in Go
	identity bool
	get      func(*Spec) string
	set      func(*Spec, string)
}

func textField(name, path string, at func(*Spec) *string) field {
	return field{
		name: name, path: path,
		get: func(s *Spec) string { return *at(s) },
		set: func(s *Spec, v string) { *at(s) = v },
	}
}

func urlsField(name, path string, at func(*Spec) *[]string) field {
	f := textField(name, path, nil)
	f.get = func(s *Spec) string { return strings.Join(*at(s), ",") }
	f.set = func(s *Spec, v string) { *at(s) = splitList(v) }
	f.identity = true
	return f
}

// boolField is not set where it is false: that is etcd's default for each.
func boolField(name, path string, at func(*Spec) *bool) field {
	f := textField(name, path, nil)
	f.get = func(s *Spec) string { return only(*at(s), "true") }
	f.set = func(s *Spec, v string) { *at(s), _ = strconv.ParseBool(v) }
	return f
}

func identity(f field) field {
	f.identity = true
	return f
}

// fields lists them in the order in which faults are told.
var fields = []field{
	identity(textField("name", "Name", func(s *Spec) *string { return &s.Name })),
	textField("data-dir", "DataDir", func(s *Spec) *string { return &s.DataDir }),
	textField("wal-dir", "WALDir", func(s *Spec) *string { return &s.WALDir }),
	urlsField("initial-advertise-peer-urls", "AdvertisePeerURLs", func(s *Spec) *[]string { return &s.AdvertisePeerURLs }),
	urlsField("listen-peer-urls", "ListenPeerURLs", func(s *Spec) *[]string { return &s.ListenPeerURLs }),
	urlsField("advertise-client-urls", "AdvertiseClientURLs", func(s *Spec) *[]string { return &s.AdvertiseClientURLs }),
	urlsField("listen-client-urls", "ListenClientURLs", func(s *Spec) *[]string { return &s.ListenClientURLs }),
	urlsField("listen-metrics-urls", "MetricsURLs", func(s *Spec) *[]string { return &s.MetricsURLs }),
	identity(textField("initial-cluster", "InitialCluster", func(s *Spec) *string { return &s.InitialCluster })),
	identity(textField("initial-cluster-state", "InitialClusterState", func(s *Spec) *string { return &s.InitialClusterState })),
	textField("cert-file", "ClientTLS.CertFile", func(s *Spec) *string { return &s.ClientTLS.CertFile }),
	textField("key-file", "ClientTLS.KeyFile", func(s *Spec) *string { return &s.ClientTLS.KeyFile }),
	textField("trusted-ca-file", "ClientTLS.TrustedCAFile", func(s *Spec) *string { return &s.ClientTLS.TrustedCAFile }),
	boolField("client-cert-auth", "ClientTLS.ClientCertAuth", func(s *Spec) *bool { return &s.ClientTLS.ClientCertAuth }),
	textField("client-cert-file", "ClientTLS.ClientCertFile", func(s *Spec) *string { return &s.ClientTLS.ClientCertFile }),
	textField("client-key-file", "ClientTLS.ClientKeyFile", func(s *Spec) *string { return &s.ClientTLS.ClientKeyFile }),
	boolField("auto-tls", "ClientTLS.Auto", func(s *Spec) *bool { return &s.ClientTLS.Auto }),
	textField("peer-cert-file", "PeerTLS.CertFile", func(s *Spec) *string { return &s.PeerTLS.CertFile }),
	textField("peer-key-file", "PeerTLS.KeyFile", func(s *Spec) *string { return &s.PeerTLS.KeyFile }),
	textField("peer-trusted-ca-file", "PeerTLS.TrustedCAFile", func(s *Spec) *string { return &s.PeerTLS.TrustedCAFile }),
	boolField("peer-client-cert-auth", "PeerTLS.ClientCertAuth", func(s *Spec) *bool { return &s.PeerTLS.ClientCertAuth }),
	textField("peer-client-cert-file", "PeerTLS.ClientCertFile", func(s *Spec) *string { return &s.PeerTLS.ClientCertFile }),
	textField("peer-client-key-file", "PeerTLS.ClientKeyFile", func(s *Spec) *string { return &s.PeerTLS.ClientKeyFile }),
	boolField("peer-auto-tls", "PeerTLS.Auto", func(s *Spec) *bool { return &s.PeerTLS.Auto }),
}

// fieldOf is the field of a setting, nil if it has none.
func fieldOf(name string) *field {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

// splitList is a comma-separated value as a list; etcd's flags drop space
// around URLs.
func splitList(v string) []string {
	if v == "" {
		return nil
	}
	parts := strings.Split(v, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
