package manifest

import (
	"maps"
	"slices"
)

// Warnings are what etcd takes and warns of when it starts, in the order of the
// fields: a certificate of its own that it does not make because there is one,
// and settings that a later version will not have. They are no faults.
func (s Spec) Warnings() Faults {
	var warnings Faults
	r, _ := s.resolve()
	for _, t := range []struct {
		field string
		tls   TLS
	}{{"ClientTLS", r.ClientTLS}, {"PeerTLS", r.PeerTLS}} {
		if t.tls.Auto && t.tls.CertFile != "" {
			warnings.add(t.field+".Auto", "is ignored by etcd, for there is a CertFile")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if why := deprecatedIn(name, r.table); why != "" {
			warnings.add(fieldName(name), "is deprecated in etcd %s: %s", r.Version, why)
		}
	}
	return warnings
}
