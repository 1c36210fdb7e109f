package deps

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every package that has tests ends them by looking for goroutines that are left, in
// every module of the workspace and in those outside.
func TestEveryPackageLooksForLeaks(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := 0
	for _, module := range modules(t, root) {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", `{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}`, "./...")
		cmd.Dir = module
		out, err := cmd.Output()
		require.NoError(t, err, module)
		for dir := range strings.FieldsSeq(string(out)) {
			seen++
			assert.True(t, looksForLeaks(t, dir), "%s has tests, and no TestMain with goleak", dir)
		}
	}
	assert.Greater(t, seen, 20)
}

// modules are the folders of all go.mod files.
func modules(t *testing.T, root string) (dirs []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case d.Name() == "go.mod":
			dirs = append(dirs, filepath.Dir(path))
		}
		return nil
	}))
	return dirs
}

func looksForLeaks(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		main, leaks := false, false
		for lines := bufio.NewScanner(f); lines.Scan(); {
			main = main || strings.HasPrefix(lines.Text(), "func TestMain(")
			leaks = leaks || strings.Contains(lines.Text(), "goleak.VerifyTestMain(m") || strings.Contains(lines.Text(), "kit.Main(m)")
		}
		require.NoError(t, f.Close())
		if main && leaks {
			return true
		}
	}
	return false
}
