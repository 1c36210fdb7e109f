// Package deps holds the library to what its importers have to compile.
package deps

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ours = "github.com/etcdjoin/etcdjoin/"

// forbidden are a server and its parts, what belongs in tests (the fake too is
// for programs), and what only the nested modules need.
var forbidden = []string{
	"go.etcd.io/etcd/server", "go.etcd.io/etcd/pkg", "go.etcd.io/etcd/tests", "go.etcd.io/raft", "go.etcd.io/bbolt",
	"testing", "github.com/stretchr/testify", ours + "etcdtest", "k8s.io",
}

func TestNothingForbiddenIsReached(t *testing.T) {
	reach := reaches(t)
	for _, pkg := range []string{"version", "cluster", "member", "learner", "manifest", "cluster/clustertest"} {
		reached := reach[ours+pkg]
		require.Greater(t, len(reached), 10, pkg)
		for _, path := range reached {
			for _, f := range forbidden {
				assert.False(t, path == f || strings.HasPrefix(path, f+"/"), "%s reaches %s", pkg, path)
			}
		}
	}
}

// What an importer compiles of others, beyond the client and the standard library.
// Of those that come with manifest, nine are a YAML library's, and one reads the
// units of systemd (coreos/go-systemd, in the graph through the client already).
func TestAnImporterCompilesLittleMore(t *testing.T) {
	reach := reaches(t)
	client := reach["go.etcd.io/etcd/client/v3"]
	require.Greater(t, len(client), 50)
	for name, tc := range map[string]struct {
		packages []string
		most     int
	}{
		"a program that joins":              {[]string{"version", "cluster", "member", "learner"}, 1},
		"one that joins, and has the fake":  {[]string{"version", "member", "learner", "cluster/clustertest"}, 1},
		"one that writes manifests as well": {[]string{"version", "member", "learner", "manifest"}, 12}, // go-systemd reads units
	} {
		t.Run(name, func(t *testing.T) {
			var beyond []string
			for _, pkg := range tc.packages {
				for _, path := range append(reach[ours+pkg], ours+pkg) {
					if !standard(path) && !strings.HasPrefix(path, ours) && !slices.Contains(client, path) && path != "go.etcd.io/etcd/client/v3" && !slices.Contains(beyond, path) {
						beyond = append(beyond, path)
					}
				}
			}
			slices.Sort(beyond)
			t.Logf("%d packages beyond the client's:\n\t%s", len(beyond), strings.Join(beyond, "\n\t"))
			assert.LessOrEqual(t, len(beyond), tc.most, "a new one needs a reason")
		})
	}
}

func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// reaches is what each package of the module, and the client, depends on, as an
// importer has it: without the workspace.
func reaches(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}}:{{join .Deps " "}}`, "./...", "go.etcd.io/etcd/client/v3")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		t.Fatalf("go list: %v\n%s", err, failed.Stderr)
	}
	require.NoError(t, err)
	deps := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		path, list, _ := strings.Cut(line, ":")
		deps[path] = strings.Fields(list)
	}
	return deps
}
