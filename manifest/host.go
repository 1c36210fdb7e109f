package manifest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/member"
)

// StaticPod is the config of a joiner on a host where the kubelet starts etcd, from
// the static pod at path: what [StaticPodStart] and [StaticPodStop] do, the data
// directory, the version, and the metrics URL that the Spec makes.
//
// The whole Spec is checked before the member is added (see [Spec.Check]), by
// MayAdd; who has a MayAdd of his own calls the one that is there from his. All
// other knobs are the caller's to set, as in [Spec.Systemd], [Spec.ConfigFile] and
// [Spec.Process].
func (s Spec) StaticPod(path string) member.Config {
	return s.host(StaticPod, path, member.Config{
		Start: StaticPodStart(path, s),
		Stop:  StaticPodStop(path),
	})
}

// Systemd is the same where systemd starts etcd: by [SystemdStart] and
// [SystemdStop]. A nil run is [Exec].
func (s Spec) Systemd(unitFile string, run Runner) member.Config {
	config := s.host(Environment, orElse(s.Unit.EnvironmentFile, defaultEnvironmentFile), member.Config{
		Start: SystemdStart(unitFile, s, run),
		Stop:  SystemdStop(unitFile, run),
	})
	return alsoCheck(config, func() error {
		if _, err := s.UnitFile(); err != nil {
			return err
		}
		return writable(unitFile)
	})
}

// ConfigFile is the same where a supervisor of the caller's starts etcd with
// --config-file=path: by [ConfigFileStart], with the caller's run and stop.
func (s Spec) ConfigFile(path string, run func(ctx context.Context, restart bool) error, stop func(context.Context) error) member.Config {
	return s.host(ConfigFile, path, member.Config{
		Start: ConfigFileStart(path, s, run),
		Stop:  stop,
	})
}

// Process is the same where this program starts etcd itself, with
// --config-file=path, as p. It says how etcd ended, too.
//
// An etcd that an earlier run of this program has left behind and that still runs
// on the data is taken for started if the file is as it should be; otherwise, and
// for the stop hook, it is [ErrInUse]: it is not ours to stop.
func (s Spec) Process(path string, p *Process) member.Config {
	run := func(ctx context.Context, restart bool) error {
		if left := s.leftBehind(p); left != nil {
			return onlyIf(restart, left)
		}
		return p.start(ctx, restart, []string{"--config-file=" + path})
	}
	stop := func(ctx context.Context) error {
		if err := p.Stop(ctx); err != nil {
			return err
		}
		return s.leftBehind(p)
	}
	config := s.host(ConfigFile, path, member.Config{Start: ConfigFileStart(path, s, run), Stop: stop, Exited: p.Exited})
	return alsoCheck(config, func() error {
		if _, err := exec.LookPath(p.Program); err != nil {
			return err
		}
		if p.Log == "" {
			return nil
		}
		return writable(p.Log)
	})
}

// leftBehind is an error where a process runs on the data that is not p's.
func (s Spec) leftBehind(p *Process) error {
	d := s.dataDir()
	if p.Running() || !locked(d.database()) {
		return nil
	}
	return fmt.Errorf("%w in %s, which an earlier run has left behind: stop it", ErrInUse, d.Dir)
}

func onlyIf(ok bool, err error) error {
	if ok {
		return err
	}
	return nil
}

// host adds to a config what the Spec knows.
func (s Spec) host(form Form, path string, config member.Config) member.Config {
	config.DataDir = s.dataDir()
	config.ServerVersion = s.Version
	config.MetricsURL = s.metricsURL()
	config.MayAdd = func(_ context.Context, m cluster.Member) error {
		if err := s.Check(form, m); err != nil {
			return err
		}
		return writable(path)
	}
	return config
}

// alsoCheck is the config with one more check before the add.
func alsoCheck(config member.Config, check func() error) member.Config {
	first := config.MayAdd
	config.MayAdd = func(ctx context.Context, m cluster.Member) error {
		return errors.Join(first(ctx, m), check())
	}
	return config
}

// Check is all faults of the file that would start etcd as this member, as far as
// they can be known before it is added: everything but the initial cluster.
func (s Spec) Check(form Form, m cluster.Member) error {
	all, err := BuildInitialCluster(InitialMember{Name: m.Name, PeerURLs: m.PeerURLs}, nil)
	if err != nil {
		return err
	}
	s.founds = false
	s, err = s.For(member.StartSpec{Name: m.Name, PeerURLs: m.PeerURLs, InitialCluster: all.String()})
	if err != nil {
		return err
	}
	_, err = s.Render(form)
	return err
}

// writable reports what keeps a file from being written, as far as a look tells.
func writable(path string) error {
	if _, err := lookAt(path); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Dir(path))
	return err
}

// metricsURL is where this host asks the etcd that the Spec starts, "" if nowhere.
// A Spec that does not know its own address yet has that of IPv4.
func (s Spec) metricsURL() string {
	urls := s.withDefaults().MetricsURLs
	if len(urls) == 0 && !s.Bare && len(s.AdvertisePeerURLs)+len(s.AdvertiseClientURLs) == 0 {
		urls = Spec{Without: s.Without, AdvertiseClientURLs: []string{"http://127.0.0.1:2379"}}.withURLs().MetricsURLs
	}
	u := firstURL(urls)
	if u == nil {
		return ""
	}
	t := targetAt(u, "")
	return u.Scheme + "://" + joinPort(t.host, u.Port())
}
