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

// On a machine that has built none of them this takes minutes: let CI run it
// alone and first, with -timeout 30m.
// everyRun are the releases that a plain run needs in any case: each costs a fresh
// machine most of a minute.
var everyRun = []string{"3.3.27", "3.4.13", "3.5.35", "3.6.16", "3.7.3"}

func TestEveryVersionServesAndSaysItsName(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(everyRun, version) && os.Getenv("ETCDJOIN_ALL_VERSIONS") != "1" {
				t.Skip("built only with ETCDJOIN_ALL_VERSIONS=1 in the environment, as .ci/run has it")
			}
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
