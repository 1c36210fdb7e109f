package etcdtest

import (
	"strconv"
	"strings"
)

// quotaBytes is the largest quota etcd suggests.
const quotaBytes = 8 << 30

// flags are the arguments of a server process, in names all releases know.
func (s *Server) flags(how start) []string {
	args := []string{
		"--name=" + s.Name,
		"--data-dir=" + s.Dir,
		"--listen-peer-urls=" + s.ListenPeerURL,
		"--initial-advertise-peer-urls=" + strings.Join(published(s.set.peerURLs, s.PeerURL), ","),
		"--listen-client-urls=" + s.ClientURL,
		"--advertise-client-urls=" + strings.Join(published(s.set.clientURLs, s.ClientURL), ","),
		"--listen-metrics-urls=" + s.MetricsURL,
		"--initial-cluster=" + how.initial,
		"--initial-cluster-state=" + how.state,
		"--initial-cluster-token=" + s.c.token,
		"--quota-backend-bytes=" + strconv.FormatInt(s.set.quota, 10),
	}
	// With this flag 3.4 keeps its log in a buffer of its own, which a kill loses.
	if !s.set.fsync && minor(s.set.version) >= 5 {
		args = append(args, "--unsafe-no-fsync")
	}
	client, peer := s.c.Files()
	if s.set.clientScheme == "https" {
		args = append(args, tlsFlags("", client)...)
	}
	if s.set.peerScheme == "https" {
		args = append(args, tlsFlags("peer-", peer)...)
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
