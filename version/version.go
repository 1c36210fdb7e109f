// Package version knows what an etcd release can do. It is pure data and
// functions: nothing here talks to a server. Other packages of this module name
// no version numbers, but for manifest's table of settings, written in [Range].
//
//   - [Version] is a release; [Parse] reads what a server says of itself.
//   - [Guard] decides, over everything one look has read, whether the cluster
//     knows learners at all. It comes before the first write: etcd 3.3 takes
//     "add as learner" for "add a voter".
//   - [Version.Can] answers what a release can do: each [Ability] has the range
//     of releases that have it. Fixes are backported, so a range names a first
//     patch for each branch, as in "3.4.29+, 3.5.11+, 3.6+"; see [Range].
//   - [Hazards] lists what is known to go wrong when a server of one version
//     joins servers of others: which releases, what happens, what to do.
//     [Refusal] turns the findings nobody accepted into an error.
//   - [Skew] is the rule which server may join which cluster.
//
// The zero [Version] means "not known". It can nothing, is in no range and
// falls under no rule; whoever must not act on the unknown asks [Version.IsZero].
package version

import (
	"github.com/coreos/go-semver/semver"
)

// Version is an etcd release. It is comparable: == tells equal texts, build
// metadata included, where [Version.Compare] tells precedence. The zero value
// is a version nobody knows.
type Version struct{ v semver.Version }

// IsZero reports whether the version is not known.
func (v Version) IsZero() bool { return v == Version{} }

// Major is the first number: 3 of 3.5.16.
func (v Version) Major() int { return int(v.v.Major) }

// Minor is the second number: 5 of 3.5.16.
func (v Version) Minor() int { return int(v.v.Minor) }

// Patch is the third number: 16 of 3.5.16.
func (v Version) Patch() int { return int(v.v.Patch) }

// Compare is -1 if v comes before w, 1 if after, else 0. A pre-release comes
// before its release, build metadata does not count, and an unknown version
// comes before all others.
func (v Version) Compare(w Version) int { return v.v.Compare(w.v) }

// AtLeast reports whether v is w or comes after it.
func (v Version) AtLeast(w Version) bool { return v.Compare(w) >= 0 }

// SameMinor reports whether both belong to one branch, as 3.5.0 and 3.5.16 do.
// An unknown version belongs to none.
func (v Version) SameMinor(w Version) bool {
	return !v.IsZero() && !w.IsZero() && v.branch() == w.branch()
}

// String is the version as etcd prints it, without a "v"; "unknown" if it is.
func (v Version) String() string {
	if v.IsZero() {
		return "unknown"
	}
	return v.v.String()
}

// MarshalText is the version's text, empty if it is not known.
func (v Version) MarshalText() ([]byte, error) {
	if v.IsZero() {
		return nil, nil
	}
	return []byte(v.String()), nil
}

// UnmarshalText reads what MarshalText writes and what [Parse] accepts.
func (v *Version) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*v = Version{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// Lowest is the lowest of the known versions, unknown if none is known. The
// lowest server sets the version of a cluster.
func Lowest(vs ...Version) Version {
	var low Version
	for _, v := range vs {
		if !v.IsZero() && (low.IsZero() || v.Compare(low) < 0) {
			low = v
		}
	}
	return low
}

// branch is the minor release a version belongs to.
type branch struct{ major, minor int64 }

func (v Version) branch() branch { return branch{v.v.Major, v.v.Minor} }

func (b branch) before(c branch) bool {
	return b.major < c.major || b.major == c.major && b.minor < c.minor
}
