package kit

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// AllVersions is the switch that plays every release, and what is large, as
// .ci/run does. A plain run plays and builds [EveryRun] alone.
const AllVersions = "ETCDJOIN_ALL_VERSIONS"

// Faults is the switch that plays faults drawn at random on real servers, for as
// long as it says.
const Faults = "ETCDJOIN_FAULTS"

// EveryRun are the releases of a plain run: the newest, and the last that names
// things the old way. Each further one costs a fresh machine most of a minute.
var EveryRun = []string{"3.5.35", "3.7.3"}

// All reports whether the run plays everything.
func All() bool { return os.Getenv(AllVersions) == "1" }

// Plays reports whether the run plays a release.
func Plays(version string) bool { return All() || slices.Contains(EveryRun, version) }

// NotInEveryRun skips what takes long and shows for one more version or size
// what another test shows already.
func NotInEveryRun(t *testing.T) {
	t.Helper()
	if !All() {
		t.Skipf("played only with %s=1 in the environment, as .ci/run has it", AllVersions)
	}
}

// Sampled picks the rows of a table that is too large for a plain run: that plays one
// of twelve, the same at each run.
func Sampled(t *testing.T) (take func() bool) {
	t.Helper()
	const of = 12
	if All() {
		return func() bool { return true }
	}
	t.Logf("one row of %d; all with %s=1 in the environment, as .ci/run has it", of, AllVersions)
	r := rand.New(rand.NewPCG(of, of))
	return func() bool { return r.IntN(of) == 0 }
}

// Needs skips a test of servers that a plain run does not build.
func Needs(t *testing.T, versions ...string) {
	t.Helper()
	for _, v := range versions {
		if !Plays(v) {
			t.Skipf("etcd %s is built only with %s=1 in the environment, as .ci/run has it", v, AllVersions)
		}
	}
}

// FaultsFor is how long faults are to be drawn; without the switch it skips.
func FaultsFor(t *testing.T) time.Duration {
	t.Helper()
	if os.Getenv(Faults) == "" {
		t.Skipf("played only with %s in the environment, a duration such as 10m", Faults)
	}
	d, err := time.ParseDuration(os.Getenv(Faults))
	require.NoError(t, err, Faults)
	return d
}
