package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"net"

	"go.etcd.io/etcd/server/v3/embed"
)

// An Option is a setting of a cluster, given to [Start].
type Option interface{ applyCluster(*settings) }

// A ServerOption is a setting of a single server. Given to [Start] it holds for
// all voters, and joiners inherit it; given to [Cluster.NewServer] it holds for
// that joiner.
type ServerOption interface {
	Option
	applyServer(*serverSettings)
}

// WithVersion makes the server a process of this etcd release, such as
// "3.6.16", built by [Binary] when it is first needed. Without it, or with "",
// servers are embedded in the test process.
func WithVersion(version string) ServerOption {
	return serverOption(func(s *serverSettings) { s.version = version })
}

// WithArgs gives a server process further flags, such as "--max-learners=2",
// after our own: of a flag given twice, etcd takes the last. Joiners inherit
// them only if they are of the same version. An embedded server has no flags,
// so there it fails the test.
func WithArgs(args ...string) ServerOption {
	return serverOption(func(s *serverSettings) { s.args = append(s.args, args...) })
}

// WithConfig lets change change an embedded server's configuration right
// before each start. Joiners inherit it. A server process has no such
// configuration, so there it fails the test.
func WithConfig(change func(*embed.Config)) ServerOption {
	return serverOption(func(s *serverSettings) { s.changes = append(s.changes, change) })
}

// WithFsync makes servers sync their writes to the disk, as etcd does outside
// of tests. Killing a process loses nothing without it, because what was
// written stays in the kernel's page cache; it is for tests that measure.
// Servers of version 3.3 always sync.
func WithFsync() ServerOption {
	return serverOption(func(s *serverSettings) { s.fsync = true })
}

// WithTLS is [WithSchemes] with "https" for both.
func WithTLS() ServerOption { return WithSchemes("https", "https") }

// WithSchemes says how the server's client and peer ports are spoken to, "http"
// or "https". One of https demands a certificate of the cluster's own
// authorities, of which there is one for clients and one for peers. See
// [Cluster.ClientTLS], [Cluster.PeerTLS], [Cluster.WrongTLS] and
// [Cluster.Files]. The metrics port stays plain HTTP. A server of plain peers
// knows no authority, so it cannot dial others whose peers are not.
func WithSchemes(client, peer string) ServerOption {
	return serverOption(func(s *serverSettings) { s.clientScheme, s.peerScheme = client, peer })
}

// WithHost makes the server listen at this address and say so in its URLs: an
// IP of this machine's loopback such as "::1" or, on Linux, "127.0.0.2", or
// "localhost". It is 127.0.0.1 without. Certificates are good for ::1,
// localhost and 127.0.0.1 to 127.0.0.9.
func WithHost(host string) ServerOption {
	return serverOption(func(s *serverSettings) { s.host = host })
}

// WithClientURLs says which client URLs the server publishes in the member
// list, and in which order, given its own: a dead one first perhaps, such as
// the [Link.URL] of a link that refuses or drops. It listens at its own, and
// clients of [Cluster.Client] know that one alone.
func WithClientURLs(publish func(own string) []string) ServerOption {
	return serverOption(func(s *serverSettings) { s.clientURLs = publish })
}

// WithPeerURLs is the same for the peer URLs that the server advertises, which
// are those in the list and in the initial cluster: another spelling of its own
// perhaps, or one more. It listens behind its own.
func WithPeerURLs(advertise func(own string) []string) ServerOption {
	return serverOption(func(s *serverSettings) { s.peerURLs = advertise })
}

// WithQuota is how large the server's database may grow, in bytes, before it
// raises NOSPACE; 8 GiB without. [Cluster.FillQuota] fills a small one.
func WithQuota(bytes int64) ServerOption {
	return serverOption(func(s *serverSettings) { s.quota = bytes })
}

// WithEnv gives a server process further variables, "NAME=value". Of the test's
// own environment it gets all but etcd's and those that name a proxy: where the
// test runs must not decide what a server dials. An embedded server has the
// test's environment, so there it fails the test; Go uses no proxy for loopback.
func WithEnv(vars ...string) ServerOption {
	return serverOption(func(s *serverSettings) { s.env = append(s.env, vars...) })
}

// ForVoter holds options for one voter alone, counted from 1 as their names
// are. What it says is not inherited by joiners.
func ForVoter(n int, opts ...ServerOption) Option {
	return clusterOption(func(s *settings) {
		if s.voters == nil {
			s.voters = map[int][]ServerOption{}
		}
		s.voters[n] = append(s.voters[n], opts...)
	})
}

// WithLinks puts a [Link] before each server's peer port: PeerURL leads to the
// link, and [Server.Link] controls it. A link carries the connections others
// make to its server, so cutting a server off altogether takes the links of
// both sides. It is there while the server is down too, and resets connections
// then where the port alone would refuse them.
func WithLinks() Option { return clusterOption(func(s *settings) { s.links = true }) }

type settings struct {
	server serverSettings
	voters map[int][]ServerOption // by number, from 1
	links  bool
}

type serverSettings struct {
	version string // "" is embedded
	fsync   bool
	args    []string
	changes []func(*embed.Config)

	host                     string
	clientScheme, peerScheme string
	clientURLs, peerURLs     func(own string) []string // nil: its own
	quota                    int64
	env                      []string
}

func defaults() serverSettings {
	return serverSettings{host: "127.0.0.1", clientScheme: "http", peerScheme: "http", quota: quotaBytes}
}

type clusterOption func(*settings)

func (f clusterOption) applyCluster(s *settings) { f(s) }

type serverOption func(*serverSettings)

func (f serverOption) applyCluster(s *settings)      { f(&s.server) }
func (f serverOption) applyServer(s *serverSettings) { f(s) }
func (s serverSettings) embedded() bool              { return s.version == "" }

// check refuses a setting that would silently have no effect.
func (s serverSettings) check() error {
	switch {
	case s.embedded() && len(s.args) > 0:
		return errors.New("etcdtest: WithArgs is for processes, and this server is embedded: use WithConfig, or WithVersion")
	case s.embedded() && len(s.env) > 0:
		return errors.New("etcdtest: WithEnv is for processes, and this server is embedded: use WithVersion")
	case !isScheme(s.clientScheme) || !isScheme(s.peerScheme):
		return fmt.Errorf("etcdtest: WithSchemes(%q, %q): they are http or https", s.clientScheme, s.peerScheme)
	case s.host != "localhost" && net.ParseIP(s.host) == nil:
		return fmt.Errorf("etcdtest: WithHost(%q): etcd listens at an IP or at localhost", s.host)
	case !s.embedded() && len(s.changes) > 0:
		return errors.New("etcdtest: WithConfig is for embedded servers, and this one is a process: use WithArgs")
	}
	return nil
}

func isScheme(s string) bool { return s == "http" || s == "https" }

// binary is what a process of these settings runs, built if need be now: a
// start, perhaps inside of a hook that must be quick, finds it ready.
func (s serverSettings) binary(ctx context.Context) (string, error) {
	if s.embedded() {
		return "", nil
	}
	return build(ctx, s.version)
}

// with is what a server gets whose own options are opts, in a cluster with
// these settings: flags, variables and configuration are passed on to a server
// of the same version only, because another one may not know them.
func (s serverSettings) with(opts []ServerOption) (serverSettings, error) {
	own := s
	own.args, own.changes, own.env = nil, nil, nil
	for _, o := range opts {
		o.applyServer(&own)
	}
	if err := own.check(); err != nil {
		return serverSettings{}, err
	}
	if own.version == s.version {
		own.args = append(append([]string{}, s.args...), own.args...)
		own.changes = append(append([]func(*embed.Config){}, s.changes...), own.changes...)
		own.env = append(append([]string{}, s.env...), own.env...)
	}
	return own, nil
}
