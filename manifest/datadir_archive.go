package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// ErrInUse is what [DataDir.Archive] returns when a process still runs on the
// data.
var ErrInUse = errors.New("an etcd process still uses the data")

// Archive moves the data aside, so that etcd starts here as a new member. It
// never deletes or overwrites, and what it moves stays on its own file system.
// An empty directory (see [DataDir.Inspect]) is left as it is.
//
// The archive of Dir/member is Dir/member-archived-TIME: a rename within Dir is
// one step, needs no room, and works where Dir is a mounted volume or a
// symbolic link, which could not be renamed themselves; Dir keeps its owner and
// mode. etcd ignores other names in there. A WALDir outside is archived beside
// itself, as WALDir-archived-TIME: what lies inside one, a starting etcd
// deletes.
//
// After an error, or a crash, everything is either where it was or archived,
// and the next call does what is missing: the log, which alone tells whose the
// data is, moves last. Where a server still runs on the data, Archive waits for
// it to end, for Release at most, and then returns [ErrInUse]; stop the server
// first. A member directory or WALDir that is a symbolic link is refused before
// anything is moved. A WALDir that is a mount point cannot be archived; etcd
// could not make it anew either.
func (d DataDir) Archive(ctx context.Context) error {
	info, err := d.Inspect(ctx)
	if err != nil || info.Kind == cluster.DataEmpty {
		return err
	}
	if err := d.archive(ctx); err != nil {
		return fmt.Errorf("archive data directory %s: %w", d.Dir, err)
	}
	return nil
}

func (d DataDir) archive(ctx context.Context) error {
	parts := d.parts()
	for _, path := range parts {
		if err := refuseLink(path); err != nil {
			return err
		}
	}
	if err := d.awaitRelease(ctx); err != nil {
		return err
	}
	stamp := time.Now().UTC().Format("20060102T150405Z")
	for _, path := range parts {
		if err := moveAside(path, stamp); err != nil {
			return err
		}
	}
	return nil
}

// parts are the directories to move, in that order.
func (d DataDir) parts() []string {
	if d.WALDir == "" || within(d.walDir(), d.memberDir()) {
		return []string{d.memberDir()}
	}
	return []string{d.memberDir(), d.walDir()}
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

var errLink = errors.New("it is a symbolic link, and a renamed link would not be what etcd makes anew: move it by hand")

func refuseLink(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return &fs.PathError{Op: "rename", Path: path, Err: errLink}
	}
	return err
}

// moveAside renames path, durably. A path that is missing has been moved before.
func moveAside(path, stamp string) error {
	to, err := freeName(path + "-archived-" + stamp)
	if err != nil {
		return err
	}
	err = os.Rename(path, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// freeName is name, or name with the first number that nothing is called.
func freeName(name string) (string, error) {
	free := name
	for n := 2; ; n++ {
		_, err := os.Lstat(free)
		if errors.Is(err, fs.ErrNotExist) {
			return free, nil
		}
		if err != nil {
			return "", err
		}
		free = name + "-" + strconv.Itoa(n)
	}
}

// awaitRelease returns once no process holds the database. etcd keeps it locked
// from its first moment to its end.
func (d DataDir) awaitRelease(ctx context.Context) error {
	release := d.Release
	if release == 0 {
		release = time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, release, fmt.Errorf("%w after %v: stop it first", ErrInUse, release))
	defer cancel()
	for pause := 5 * time.Millisecond; locked(d.database()); pause = min(2*pause, time.Second) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is locked: %w", d.database(), context.Cause(ctx))
		case <-time.After(pause):
		}
	}
	return nil
}
