package manifest

import (
	"bufio"
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteFileSaysWhetherItWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd.yaml")
	for _, step := range []struct {
		data string
		want bool
	}{{"a", true}, {"a", false}, {"b", true}, {"b", false}, {"", true}, {"", false}} {
		changed, err := WriteFile(path, []byte(step.data))
		require.NoError(t, err)
		assert.Equal(t, step.want, changed, "write %q", step.data)
		assert.Equal(t, step.data, read(t, path))
		assert.Equal(t, fileMode, mode(t, path))
	}
	assert.Equal(t, []string{"etcd.yaml"}, names(t, filepath.Dir(path)))
}

// What watches the file must not see it move while nothing changes.
func TestUnchangedFileIsNotTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd.yaml")
	_, err := WriteFile(path, []byte("same"))
	require.NoError(t, err)
	before, err := os.Stat(path)
	require.NoError(t, err)
	_, err = WriteFile(path, []byte("same"))
	require.NoError(t, err)
	after, err := os.Stat(path)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
	assert.Equal(t, before.ModTime(), after.ModTime())
}

func TestTooWideAModeIsNarrowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd.env")
	require.NoError(t, os.WriteFile(path, []byte("same"), 0o600))
	require.NoError(t, os.Chmod(path, 0o644))
	changed, err := WriteFile(path, []byte("same"))
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, fileMode, mode(t, path))
}

func TestWriteFileRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(t *testing.T, path string)
		want error
	}{
		"a link to a file":  {func(t *testing.T, path string) { link(t, touch(t, path+".real"), path) }, ErrLink},
		"a link to nothing": {func(t *testing.T, path string) { link(t, path+".none", path) }, ErrLink},
		"a directory":       {func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, ErrNotRegular},
		"no directory":      {func(t *testing.T, path string) { require.NoError(t, os.Remove(filepath.Dir(path))) }, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "d", "etcd.yaml")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			tc.make(t, path)
			before := tree(t, filepath.Dir(path))

			changed, err := WriteFile(path, []byte("new"))
			require.ErrorIs(t, err, tc.want)
			require.ErrorContains(t, err, path)
			assert.False(t, changed)
			assert.Equal(t, before, tree(t, filepath.Dir(path)))
		})
	}
}

func TestRemoveFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd.yaml")
	require.NoError(t, removeFile(path), "nothing to remove")
	touch(t, path)
	require.NoError(t, removeFile(path))
	assert.NoFileExists(t, path)
	link(t, touch(t, path+".real"), path)
	require.ErrorIs(t, removeFile(path), ErrLink)
	assert.FileExists(t, path)
}

// Killed at any moment, the old file or the new one is there, whole.
func TestKilledWriterLeavesAWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd.yaml")
	seen := map[string]int{}
	for range 25 {
		killWriter(t, path, time.Duration(rand.Int64N(int64(10*time.Millisecond))))
		got := read(t, path)
		require.Contains(t, contents, got, "%d bytes that were never written", len(got))
		assert.Equal(t, fileMode, mode(t, path))
		seen[got[:1]]++
	}
	t.Logf("found after a kill: %v", seen)
	for _, name := range names(t, filepath.Dir(path)) {
		if name != "etcd.yaml" {
			assert.Regexp(t, `^\.etcd\.yaml\d+$`, name, "what a kill leaves begins with a dot")
		}
	}
}

const writerEnv = "ETCDJOIN_TEST_WRITE_TO"

var contents = []string{string(bytes.Repeat([]byte("a"), 300<<10)), string(bytes.Repeat([]byte("b"), 200<<10))}

func killWriter(t *testing.T, path string, after time.Duration) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestWriterChild$", "-test.v")
	child.Env = append(os.Environ(), writerEnv+"="+path)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "writing"; {
	}
	time.Sleep(after)
	require.NoError(t, child.Process.Kill())
	require.EqualError(t, child.Wait(), "signal: killed")
}

// TestWriterChild is the process that TestKilledWriterLeavesAWholeFile kills.
func TestWriterChild(t *testing.T) {
	path := os.Getenv(writerEnv)
	if path == "" {
		return
	}
	for n := 0; ; n++ {
		if _, err := WriteFile(path, []byte(contents[n%2])); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			os.Stdout.WriteString("\nwriting\n")
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.Mode()
}

func touch(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	return path
}

func link(t *testing.T, to, path string) {
	t.Helper()
	require.NoError(t, os.Symlink(to, path))
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// tree lists what is under dir, with the content of files.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if path == dir && os.IsNotExist(err) {
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		found[rel] = e.Type().String()
		if err == nil && e.Type().IsRegular() {
			found[rel] = read(t, path)
		}
		return err
	}))
	return found
}
