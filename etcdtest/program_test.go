package etcdtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// reader prints the name that etcd's own reader finds in a configuration file,
// or why it refuses the file.
const reader = `package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	cfg, err := embed.ConfigFromFile(os.Args[1])
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println(cfg.Name)
}
`

func TestAProgramAsksAReleasesOwnPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	require.NoError(t, os.WriteFile(good, []byte("name: node-1\n"), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte("name: [node-1]\n"), 0o600))
	for _, version := range []string{"3.5.35", "3.7.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			bin := etcdtest.Program(t, version, reader)
			said, err := exec.Command(bin, good).Output()
			require.NoError(t, err)
			assert.Equal(t, "node-1\n", string(said))
			said, err = exec.Command(bin, bad).Output()
			require.NoError(t, err)
			assert.Contains(t, string(said), "refused:")
			assert.Equal(t, bin, etcdtest.Program(t, version, reader), "built once")
			assert.NotEqual(t, bin, etcdtest.Binary(t, version))
		})
	}
}
