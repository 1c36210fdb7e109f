package etcdtest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// reports is what a release calls itself, where that is not its own name.
var reports = map[string]string{"3.8.0-alpha.0": "3.7.0-beta.0"}

// On a machine that has built none of them this takes minutes: let CI run it
// alone and first, with -timeout 30m.
func TestEveryVersionServesAndSaysItsName(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
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
