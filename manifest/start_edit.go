package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/member"
)

// EditStart is a start hook for [member.Config] that keeps the file at path, which
// must be there, and changes in it only what a start decides (see [Identity] and
// [Edit]): for files that people write, or other programs. Then it calls run, as
// [ConfigFileStart] does: what has etcd run from the file. For a static pod run may
// be nil, since the kubelet watches the file. [SystemdRun] is one for a unit that is
// there.
//
// Once the member has its data, the initial cluster of the file stays. A config
// file or an environment file gets a comment in its first line with the member's
// ID, so that another member's file is another file; a config file in JSON has no
// place for it.
func EditStart(form Form, path string, run func(ctx context.Context, restart bool) error) func(context.Context, member.StartSpec) error {
	if run == nil {
		run = func(context.Context, bool) error { return nil }
	}
	return func(ctx context.Context, start member.StartSpec) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := putBack(path); err != nil {
			return err
		}
		data, err := editedFor(ctx, form, path, start)
		if err != nil {
			return err
		}
		if form == StaticPod {
			if _, err := WriteFile(path, data); err != nil {
				return err
			}
			return run(ctx, false)
		}
		return service{{path, data, fileMode}}.start(ctx, run)
	}
}

// EditStop is the stop hook that belongs to [EditStart] of a static pod: it moves
// the file to .NAME.stopped beside it, which the kubelet ignores, and the next
// start moves it back. A file that is missing is no error.
func EditStop(path string) func(context.Context) error {
	return func(context.Context) error {
		info, err := lookAt(path)
		if err != nil || info == nil {
			return err
		}
		if err := os.Rename(path, stoppedName(path)); err != nil {
			return err
		}
		return syncDir(filepath.Dir(path))
	}
}

func stoppedName(path string) string {
	dir, name := filepath.Split(path)
	return filepath.Join(dir, "."+name+".stopped")
}

// putBack undoes EditStop, unless somebody has put another file there.
func putBack(path string) error {
	info, err := lookAt(path)
	if err != nil || info != nil {
		return err
	}
	stopped := stoppedName(path)
	if _, err := lookAt(stopped); err != nil {
		return err
	}
	err = os.Rename(stopped, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the read that follows says what is missing
	}
	return err
}

// editedFor is the file at path for one start.
func editedFor(ctx context.Context, form Form, path string, start member.StartSpec) ([]byte, error) {
	old, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reading, err := Read(form, path, old)
	if err != nil {
		return nil, err
	}
	if reading.Spec.DataDir == "" {
		return nil, &SourceError{File: path, Rule: "must say data-dir: etcd would keep its data in the directory it happens to be started in"}
	}
	info, err := reading.Spec.dataDir().Inspect(ctx)
	if err != nil {
		return nil, err
	}
	if info.Kind == cluster.DataMember && info.MemberID == start.MemberID && reading.Spec.InitialCluster != "" {
		start.InitialCluster = reading.Spec.InitialCluster
	}
	edited, err := Edit(form, path, old, Identity(start))
	if err != nil || form == StaticPod {
		return edited, err
	}
	return withID(edited, start.MemberID), nil
}

// withID has the member's ID in a comment in the first line.
func withID(data []byte, id cluster.ID) []byte {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return data
	}
	if first, rest, _ := bytes.Cut(data, []byte("\n")); bytes.HasPrefix(first, []byte("# "+memberKey+": ")) {
		data = rest
	}
	return append(fmt.Appendf(nil, "# %s: %s\n", memberKey, id), data...)
}

// SystemdRun is a run for [EditStart] and [ConfigFileStart] that has systemd start
// a unit that is there, by its name, without waiting for etcd. A nil run is [Exec].
func SystemdRun(unit string, run Runner) func(ctx context.Context, restart bool) error {
	return func(ctx context.Context, restart bool) error {
		return run.systemctl(ctx, startCommands(unit, restart))
	}
}
