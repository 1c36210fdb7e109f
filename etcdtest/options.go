package etcdtest

import (
	"context"
	"errors"

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

// WithTLS makes every client and peer port demand a certificate of the
// cluster's own authorities, one for clients and one for peers. See
// [Cluster.ClientTLS], [Cluster.PeerTLS], [Cluster.WrongTLS] and
// [Cluster.Files]. The metrics port stays plain HTTP.
func WithTLS() Option { return clusterOption(func(s *settings) { s.tls = true }) }

// WithLinks puts a [Link] before each server's peer port: PeerURL leads to the
// link, and [Server.Link] controls it. A link carries the connections others
// make to its server, so cutting a server off altogether takes the links of
// both sides. It is there while the server is down too, and resets connections
// then where the port alone would refuse them.
func WithLinks() Option { return clusterOption(func(s *settings) { s.links = true }) }

type settings struct {
	server     serverSettings
	tls, links bool
}

type serverSettings struct {
	version string // "" is embedded
	fsync   bool
	args    []string
	changes []func(*embed.Config)
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
	case !s.embedded() && len(s.changes) > 0:
		return errors.New("etcdtest: WithConfig is for embedded servers, and this one is a process: use WithArgs")
	}
	return nil
}

// binary is what a process of these settings runs, built if need be now: a
// start, perhaps inside of a hook that must be quick, finds it ready.
func (s serverSettings) binary(ctx context.Context) (string, error) {
	if s.embedded() {
		return "", nil
	}
	return build(ctx, s.version)
}

// joiner is what a joiner of a cluster with these settings gets: flags and
// configuration are passed on to a server of the same version only, because
// another one may not know them.
func (s serverSettings) joiner(opts []ServerOption) (serverSettings, error) {
	own := serverSettings{version: s.version, fsync: s.fsync}
	for _, o := range opts {
		o.applyServer(&own)
	}
	if err := own.check(); err != nil {
		return serverSettings{}, err
	}
	if own.version == s.version {
		own.args = append(append([]string{}, s.args...), own.args...)
		own.changes = append(append([]func(*embed.Config){}, s.changes...), own.changes...)
	}
	return own, nil
}
