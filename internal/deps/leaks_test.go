package deps

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var looksForLeaks = regexp.MustCompile(`(?s)\nfunc TestMain\(.*(goleak\.VerifyTestMain\(m|kit\.Main\(m\))`)

// Every package that has tests ends them by looking for goroutines that are left, in
// every module of the workspace and in those outside.
func TestEveryPackageLooksForLeaks(t *testing.T) {
	tested, looks := map[string]bool{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		dir := filepath.Dir(path)
		tested[dir], looks[dir] = true, looks[dir] || looksForLeaks.Match(text)
		return err
	}))
	assert.Greater(t, len(tested), 20)
	for dir := range tested {
		assert.True(t, looks[dir], "%s has tests, and no TestMain with goleak", dir)
	}
}
