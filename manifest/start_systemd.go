package manifest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/etcdjoin/etcdjoin/member"
)

// unitMode is what systemd expects: it warns about units that not all may read.
const unitMode = 0o644

// A Runner runs a command to its end. The error says what the command did, with
// its output.
type Runner func(ctx context.Context, name string, args ...string) error

// Exec is the [Runner] that starts processes.
func Exec(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// SystemdStart is a start hook for [member.Config]: it writes spec's environment
// file, to Unit.EnvironmentFile, and its unit, to unitFile in a directory that
// systemd reads, has systemd take note of it, enables the unit and starts it. It
// does not wait for etcd: a learner reports late that it serves. A nil run is
// [Exec].
//
// A running etcd is restarted where a file had to be written, and for another
// member, whose ID stands in a comment, if all else is the same. A crash in
// between is made good by the next call, as by [ConfigFileStart].
func SystemdStart(unitFile string, spec Spec, run Runner) func(context.Context, member.StartSpec) error {
	return func(ctx context.Context, start member.StartSpec) error {
		files, err := spec.systemdFiles(ctx, unitFile, start)
		if err != nil {
			return err
		}
		return files.start(ctx, func(ctx context.Context, restart bool) error {
			return run.systemctl(ctx, startCommands(filepath.Base(unitFile), restart))
		})
	}
}

// SystemdStop is the stop hook that belongs to [SystemdStart]: it stops and
// disables the unit, and returns when etcd has ended. A unit file that is
// missing is no error. The files stay.
func SystemdStop(unitFile string, run Runner) func(context.Context) error {
	return func(ctx context.Context) error {
		if info, err := lookAt(unitFile); err != nil || info == nil {
			return err
		}
		return run.systemctl(ctx, [][]string{{"disable", "--now", filepath.Base(unitFile)}})
	}
}

func (s Spec) systemdFiles(ctx context.Context, unitFile string, start member.StartSpec) (service, error) {
	env := orElse(s.Unit.EnvironmentFile, defaultEnvironmentFile)
	settings, err := s.fileFor(ctx, Environment, env, start)
	if err != nil {
		return nil, err
	}
	unit, err := s.UnitFile()
	return service{{env, settings, fileMode}, {unitFile, unit, unitMode}}, err
}

func startCommands(unit string, restart bool) [][]string {
	if restart {
		return [][]string{{"daemon-reload"}, {"enable", unit}, {"restart", "--no-block", unit}}
	}
	return [][]string{{"enable", unit}, {"start", "--no-block", unit}}
}

func (run Runner) systemctl(ctx context.Context, commands [][]string) error {
	if run == nil {
		run = Exec
	}
	for _, args := range commands {
		if err := run(ctx, "systemctl", args...); err != nil {
			return err
		}
	}
	return nil
}
