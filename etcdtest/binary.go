package etcdtest

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// templates hold one Go module per release. A real go.mod would make each
// folder a module of its own, which can be neither embedded nor shipped with
// this one, so the files carry another ending until they are written out.
//
//go:embed servers/*/*.tmpl
var templates embed.FS

// buildWithin is how long one build may take, the download of modules included.
const buildWithin = 8 * time.Minute

// Versions are the etcd releases [Binary] and [WithVersion] know, oldest first.
func Versions() []string {
	dirs, err := templates.ReadDir("servers")
	if err != nil {
		panic(err) // embedded: cannot be missing
	}
	var versions []string
	for _, d := range dirs {
		versions = append(versions, d.Name())
	}
	slices.SortFunc(versions, compareVersions)
	return versions
}

// Binary is the path of an etcd server of this release. The first call of a
// machine builds it with the go command, which may take a minute and asks the
// module proxy; every later one, of any process, finds it in the user's cache
// directory, under etcdjoin/servers. It fails the test if the release is not
// among [Versions] or the build fails.
func Binary(tb testing.TB, version string) string {
	tb.Helper()
	bin, err := build(tb.Context(), version)
	if err != nil {
		tb.Fatal(err)
	}
	return bin
}

// Program builds a program of the test's own in the module of an etcd release,
// and returns the path of its binary: what is asked of etcd's packages of one
// release, such as how its configuration is read, does not depend on the
// release the test itself is linked with. The source is one file of package
// main. It may import the standard library and every package the server of
// that release is made of, by the paths they have there: since 3.5
// go.etcd.io/etcd/server/v3/…, for 3.4 go.etcd.io/etcd/…, for 3.3
// github.com/coreos/etcd/…
//
// It is built once and kept beside the servers of [Binary], under
// etcdjoin/programs. It fails the test where Binary would, and if the source
// does not compile.
func Program(tb testing.TB, version, source string) string {
	tb.Helper()
	bin, err := recipe{version: version, source: source}.build(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return bin
}

// build builds the server of version.
func build(ctx context.Context, version string) (string, error) {
	return recipe{version: version}.build(ctx)
}

// A recipe is what a binary is built from: the module of a release, and the
// source of a program if it is not to be the server.
type recipe struct {
	version, source string
}

func (r recipe) build(ctx context.Context) (string, error) {
	dir, err := r.cacheDir()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, r.name())
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	ctx, cancel := context.WithTimeout(ctx, buildWithin)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(bin); err == nil { // another process was faster
		return bin, nil
	}
	if err := r.buildInto(ctx, dir); err != nil {
		return "", fmt.Errorf("etcdtest: build %s of etcd %s: %w", r.name(), r.version, err)
	}
	return bin, nil
}

func (r recipe) name() string {
	if r.source == "" {
		return "etcd"
	}
	return "program"
}

// cacheDir is where the binary is kept. Its name changes with everything that
// may change the binary.
func (r recipe) cacheDir() (string, error) {
	files, err := fs.Glob(templates, path.Join("servers", r.version, "*.tmpl"))
	if err != nil || len(files) == 0 || strings.ContainsAny(r.version, `/*?[\`) {
		return "", fmt.Errorf("etcdtest: no etcd %q here, only %s", r.version, strings.Join(Versions(), ", "))
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, f := range files {
		data, err := r.read(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, f, len(data))
		sum.Write(data)
	}
	root, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("etcdtest: servers are kept in the user's cache directory: %w", err)
	}
	kind := "servers"
	if r.source != "" {
		kind = "programs"
	}
	return filepath.Join(root, "etcdjoin", kind, r.version+"-"+hex.EncodeToString(sum.Sum(nil))[:12]), nil
}

// read is the content of one of the release's templates, the program's source
// in place of the server's.
func (r recipe) read(template string) ([]byte, error) {
	if r.source != "" && path.Base(template) == "main.go.tmpl" {
		return []byte(r.source), nil
	}
	return templates.ReadFile(template)
}

// buildInto builds beside dir and renames when all is there, so that dir is
// complete or absent.
func (r recipe) buildInto(ctx context.Context, dir string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	src, out := filepath.Join(tmp, "src"), filepath.Join(tmp, "out")
	if err := r.write(src); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(out, r.name()), ".")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "GO111MODULE=on", "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	// The go command passes a kill on to nobody: without a bound, Wait would
	// wait for its compilers' output.
	cmd.WaitDelay = 10 * time.Second
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", errors.Join(err, context.Cause(ctx)), said)
	}
	return os.Rename(out, dir)
}

func (r recipe) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		data, err := r.read(path.Join("servers", r.version, name+".tmpl"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// lock takes the lock file at path, which the kernel frees if we die.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		// Not the blocking call: it would not end with ctx.
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("etcdtest: lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("etcdtest: another process builds what %s guards: %w", path, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
