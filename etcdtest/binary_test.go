package etcdtest_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// reports is what a release calls itself, where that is not its own name.
var reports = map[string]string{"3.8.0-alpha.0": "3.7.0-beta.0"}

// everyRun are the releases of a plain run, embedded among them: each further one
// costs a fresh machine most of a minute.
var everyRun = []string{"", "3.5.35", process}

// needs skips a test of servers that a plain run does not build.
func needs(t *testing.T, version string) {
	t.Helper()
	if !slices.Contains(everyRun, version) && os.Getenv("ETCDJOIN_ALL_VERSIONS") != "1" {
		t.Skipf("etcd %s is built only with ETCDJOIN_ALL_VERSIONS=1 in the environment, as .ci/run has it", version)
	}
}

// On a machine that has built none of them and is told to play all, this takes
// minutes: let CI run it alone and first, with -timeout 30m.
func TestEveryVersionServesAndSaysItsName(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			needs(t, version)
			cluster := etcdtest.Start(t, 1, etcdtest.WithVersion(version), etcdtest.WithTLS())
			status, err := cluster.Client().Status(t.Context(), cluster.Endpoints()[0])
			require.NoError(t, err)
			want := version
			if r, ok := reports[version]; ok {
				want = r
			}
			assert.Equal(t, want, status.Version)
		})
	}
}
