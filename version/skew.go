package version

import (
	"errors"
	"fmt"
)

// ErrSkew is what every [*SkewError] is.
var ErrSkew = errors.New("this etcd version cannot join a cluster of that version")

// SkewError has the two versions that do not go together.
type SkewError struct {
	Joiner  Version
	Cluster Version // the lowest of the cluster's
}

func (e *SkewError) Error() string {
	return fmt.Sprintf("%v: the joiner runs %s, the cluster %d.%d (lowest member %s); "+
		"it must be the same minor version or one above", ErrSkew, e.Joiner, e.Cluster.Major(), e.Cluster.Minor(), e.Cluster)
}

// Is makes errors.Is(err, ErrSkew) true.
func (e *SkewError) Is(target error) bool { return target == ErrSkew }

// Skew holds a joiner to the versions of the cluster, of which the lowest counts:
// it decides the cluster's version. The joiner's minor version must be the same,
// or one above as during an upgrade; patch levels and pre-releases do not matter.
//
// Below, etcd itself refuses to start ("incompatible with current running
// cluster", exit 1). More than one above, its own gate lets it in, and it
// panics: run with 3.7 into 3.5. One door stays shut here that etcd opens, 3.4.32
// with --next-cluster-version-compatible into 3.5, for it is a way back, no join.
//
// An unknown joiner falls under no rule. A known joiner and a cluster nobody
// knows is [ErrNoVersion], other failures are a [*SkewError].
func Skew(joiner Version, cluster []Version) error {
	if joiner.IsZero() {
		return nil
	}
	low := Lowest(cluster...)
	if low.IsZero() {
		return fmt.Errorf("%w: the joiner runs %s", ErrNoVersion, joiner)
	}
	above := joiner.Minor() - low.Minor()
	if joiner.Major() != low.Major() || above < 0 || above > 1 {
		return &SkewError{Joiner: joiner, Cluster: low}
	}
	return nil
}
