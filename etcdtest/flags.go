package etcdtest

import "strconv"

// quotaBytes is the largest quota etcd suggests; a test that wants a full one
// sets its own.
const quotaBytes = 8 << 30

// flags are the arguments of a server process, in names all releases know.
func (s *Server) flags(how start) []string {
	args := []string{
		"--name=" + s.Name,
		"--data-dir=" + s.Dir,
		"--listen-peer-urls=" + s.ListenPeerURL,
		"--initial-advertise-peer-urls=" + s.PeerURL,
		"--listen-client-urls=" + s.ClientURL,
		"--advertise-client-urls=" + s.ClientURL,
		"--listen-metrics-urls=" + s.MetricsURL,
		"--initial-cluster=" + how.initial,
		"--initial-cluster-state=" + how.state,
		"--initial-cluster-token=" + s.c.token,
		"--quota-backend-bytes=" + strconv.Itoa(quotaBytes),
	}
	// With this flag 3.4 keeps its log in a buffer of its own, which a kill loses.
	if !s.set.fsync && minor(s.set.version) >= 5 {
		args = append(args, "--unsafe-no-fsync")
	}
	if s.c.certs != nil {
		args = append(args, tlsFlags("", s.c.certs.client.files)...)
		args = append(args, tlsFlags("peer-", s.c.certs.peer.files)...)
	}
	return append(args, s.set.args...)
}

func tlsFlags(prefix string, f TLSFiles) []string {
	return []string{
		"--" + prefix + "trusted-ca-file=" + f.CA,
		"--" + prefix + "cert-file=" + f.Cert,
		"--" + prefix + "key-file=" + f.Key,
		"--" + prefix + "client-cert-auth",
	}
}
