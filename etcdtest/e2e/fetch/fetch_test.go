// Package fetch_test does what strangers will do: fetch the library, its test kit and an
// example as modules, outside the repository.
package fetch_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	ours    = "github.com/etcdjoin/etcdjoin"
	version = "v0.0.0" // what our modules require of each other, as nothing is tagged
	repo    = "../../.."
)

// What a stranger's test looks like.
const strangersTest = `package installer

import (
	"context"
	"testing"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

func TestJoins(t *testing.T) {
	c := etcdtest.Start(t, 1)
	s := c.NewServer("second")
	j, err := learner.NewJoiner(cluster.NewClient(c.Client(), cluster.ClientConfig{}), s.Name, member.Config{
		Start: func(_ context.Context, spec member.StartSpec) error { return s.Start(spec.InitialCluster) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.Join(t.Context(), s.PeerURL)
	if err != nil {
		t.Fatal(err)
	}
	if r.Voters != 2 {
		t.Fatalf("%+v", r)
	}
}
`

func TestAStrangerFetchesTheModules(t *testing.T) {
	g := newStranger(t)
	g.write("go.mod", "module example.org/installer\n\ngo 1.26.0\n")
	g.run("go", "get", ours+"@"+version)
	g.run("go", "get", ours+"/etcdtest@"+version)
	g.write("installer_test.go", strangersTest)
	g.run("go", "mod", "tidy")
	g.run("go", "test", "./...")

	// What is required is no more than that: the kit brings nothing of ours with it.
	kit := g.run("go", "mod", "edit", "-json", filepath.Join(g.proxyMod("/etcdtest")))
	assert.NotContains(t, kit, `"`+ours+`"`, "etcdtest requires something of ours")

	g.run("go", "install", ours+"/examples/minimal@"+version)
	assert.FileExists(t, filepath.Join(g.dir, "bin", "minimal"))
}

func TestNoModuleReplacesAnything(t *testing.T) {
	require.NoError(t, filepath.WalkDir(repo, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		outside := strings.HasPrefix(path, filepath.Join(repo, "bench")) || strings.HasPrefix(path, filepath.Join(repo, "manifest", "podpatch"))
		out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", path).Output()
		require.NoError(t, err)
		var mod struct{ Replace []any }
		require.NoError(t, json.Unmarshal(out, &mod))
		assert.True(t, outside || len(mod.Replace) == 0, "%s replaces something: nobody could install from it", path)
		return nil
	}))
}

// stranger is a folder outside the repository, with a module cache in which ours come
// from a proxy made of this checkout and all others are those of this machine.
type stranger struct {
	t          *testing.T
	dir, proxy string
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	g := &stranger{t, t.TempDir(), t.TempDir()}
	for _, sub := range []string{"", "/etcdtest", "/examples"} {
		g.publish(sub)
	}
	g.borrowCache()
	return g
}

// publish puts a module into the proxy.
func (g *stranger) publish(sub string) {
	g.t.Helper()
	m := module.Version{Path: ours + sub, Version: version}
	at := strings.TrimSuffix(g.proxyMod(sub), ".mod")
	require.NoError(g.t, os.MkdirAll(filepath.Dir(at), 0o755))
	mod, err := os.ReadFile(filepath.Join(repo, sub, "go.mod"))
	require.NoError(g.t, err)
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	require.NoError(g.t, err)
	for ending, text := range map[string][]byte{".mod": mod, ".info": info} {
		require.NoError(g.t, os.WriteFile(at+ending, text, 0o600))
	}
	require.NoError(g.t, os.WriteFile(filepath.Join(filepath.Dir(at), "list"), []byte(version+"\n"), 0o600))
	f, err := os.Create(at + ".zip")
	require.NoError(g.t, err)
	require.NoError(g.t, zip.CreateFromDir(f, m, filepath.Join(repo, sub)))
	require.NoError(g.t, f.Close())
}

func (g *stranger) proxyMod(sub string) string {
	return filepath.Join(g.proxy, ours+sub, "@v", version+".mod")
}

// borrowCache makes a module cache of links into this machine's, without ours: what is
// fetched of ours leaves no trace in it, and nothing is fetched twice.
func (g *stranger) borrowCache() {
	g.t.Helper()
	out, err := exec.CommandContext(g.t.Context(), "go", "env", "GOMODCACHE").Output()
	require.NoError(g.t, err)
	real, cache := strings.TrimSpace(string(out)), g.cache()
	for _, part := range []string{"", "cache/download"} {
		for _, level := range []string{"", "github.com"} {
			require.NoError(g.t, os.MkdirAll(filepath.Join(cache, part, level), 0o755))
			entries, err := os.ReadDir(filepath.Join(real, part, level))
			require.NoError(g.t, err)
			for _, e := range entries {
				if e.Name() == "github.com" || e.Name() == "etcdjoin" || part == "" && level == "" && e.Name() == "cache" {
					continue
				}
				require.NoError(g.t, os.Symlink(filepath.Join(real, part, level, e.Name()), filepath.Join(cache, part, level, e.Name())))
			}
		}
	}
}

func (g *stranger) cache() string { return filepath.Join(g.dir, "modcache") }

func (g *stranger) write(name, text string) {
	g.t.Helper()
	require.NoError(g.t, os.MkdirAll(filepath.Join(g.dir, "installer"), 0o755))
	require.NoError(g.t, os.WriteFile(filepath.Join(g.dir, "installer", name), []byte(text), 0o600))
}

// run runs the go command as the stranger would.
func (g *stranger) run(name string, args ...string) string {
	g.t.Helper()
	cmd := exec.CommandContext(g.t.Context(), name, args...)
	cmd.Dir = filepath.Join(g.dir, "installer")
	proxies, err := exec.CommandContext(g.t.Context(), "go", "env", "GOPROXY").Output()
	require.NoError(g.t, err)
	cmd.Env = append(os.Environ(),
		"GOWORK=off", "GOFLAGS=-trimpath -modcacherw", "GOMODCACHE="+g.cache(), "GOBIN="+filepath.Join(g.dir, "bin"),
		"GOPROXY=file://"+g.proxy+","+strings.TrimSpace(string(proxies)), "GONOSUMDB="+ours+"*", "GONOSUMCHECK=1")
	out, err := cmd.CombinedOutput()
	require.NoError(g.t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return string(out)
}
