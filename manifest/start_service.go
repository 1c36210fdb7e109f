package manifest

import (
	"context"
	"path/filepath"

	"github.com/etcdjoin/etcdjoin/member"
)

// ConfigFileStart is a start hook for [member.Config]: it writes spec as etcd's
// config file to path and then calls run, which has etcd started with
// --config-file=path. etcd must be able to read a file that belongs to the
// caller and has mode 0600.
//
// With restart, the file is new, or another member's: an etcd that runs must be
// restarted. Without, etcd need only run. An error of run ends the hook, and
// restart comes again until run has succeeded, over crashes too: a file beside
// path, .NAME.restart, remembers it.
//
// What is said of the file in [StaticPodStart] holds here, too. Its stop hook is
// whatever stops what run has started.
func ConfigFileStart(path string, spec Spec, run func(ctx context.Context, restart bool) error) func(context.Context, member.StartSpec) error {
	return func(ctx context.Context, start member.StartSpec) error {
		data, err := spec.fileFor(ctx, ConfigFile, path, start)
		if err != nil {
			return err
		}
		return service{{path, data, fileMode}}.start(ctx, run)
	}
}

// A service is the files that a process is started from.
type service []ownFile

// start writes the files and calls run. That a restart is due is on disk before
// the first file changes, so that it is not forgotten by a crash in between.
func (s service) start(ctx context.Context, run func(ctx context.Context, restart bool) error) error {
	restart, err := s.noteRestart()
	if err != nil {
		return err
	}
	for _, f := range s {
		if _, err := f.write(); err != nil {
			return err
		}
	}
	if err := run(ctx, restart); err != nil {
		return err
	}
	return removeFile(s.note())
}

// noteRestart reports whether a restart is due, and has it on disk if so.
func (s service) noteRestart() (bool, error) {
	for _, f := range s {
		there, err := f.there()
		if err != nil {
			return false, err
		}
		if !there {
			_, err := WriteFile(s.note(), nil)
			return true, err
		}
	}
	noted, err := lookAt(s.note())
	return noted != nil, err
}

// note is the path of the file that says that a restart is due.
func (s service) note() string {
	dir, name := filepath.Split(s[0].path)
	return filepath.Join(dir, "."+name+".restart")
}
