package version

import (
	"fmt"
	"strings"

	"github.com/coreos/go-semver/semver"
)

// ParseError says which part of a text kept it from being a version, and by
// which rule.
type ParseError struct {
	Text  string
	Field string // "version", "major", "minor", "patch", "pre-release" or "build metadata"
	Rule  string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("etcd version %q: %s %s", e.Text, e.Field, e.Rule)
}

// Parse reads a version as etcd prints it: three numbers, perhaps with a "v" in
// front and a pre-release or build metadata behind. Every error is a
// [*ParseError].
//
//   - "3.5" is refused: what a release can do depends on its patch number.
//   - A cluster version that is "not_decided", or empty, is refused: it is not
//     known, and unknown must be said, not guessed.
//   - A bare number behind a dash is no pre-release but the revision of a
//     container image, as Kubernetes tags them: "3.5.24-0" is 3.5.24, printed
//     "3.5.24+0". No etcd pre-release was ever called so.
//   - Any other suffix, "-rc.1" or a vendor's, is a pre-release and comes before
//     the release, which errs towards fewer abilities.
func Parse(text string) (Version, error) {
	numbers, pre, meta := split(strings.TrimPrefix(text, "v"))
	if err := check(text, numbers); err != nil {
		return Version{}, err
	}
	switch {
	case !identifiers(pre):
		return Version{}, &ParseError{text, "pre-release", identifierRule}
	case !identifiers(meta):
		return Version{}, &ParseError{text, "build metadata", identifierRule}
	}
	v, err := semver.NewVersion(strings.TrimPrefix(text, "v"))
	if err != nil {
		return Version{}, &ParseError{text, "version", "must be numbers that fit 64 bits: " + err.Error()}
	}
	if v.Major == 0 && v.Minor == 0 && v.Patch == 0 {
		return Version{}, &ParseError{text, "version", "0.0.0 is no release"}
	}
	return Version{imageRevision(*v)}, nil
}

// MustParse is [Parse] for tables and tests: it panics on an error.
func MustParse(text string) Version {
	v, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return v
}

// split cuts a text into its numbers and what follows "-" and "+"; nil says
// that the sign is not there.
func split(text string) (numbers string, pre, meta *string) {
	rest, m, hasMeta := strings.Cut(text, "+")
	numbers, p, hasPre := strings.Cut(rest, "-")
	if hasMeta {
		meta = &m
	}
	if hasPre {
		pre = &p
	}
	return numbers, pre, meta
}

// check holds the three numbers to semver's rules, which go-semver does not:
// it takes signs and leading zeros.
func check(text, numbers string) error {
	switch text {
	case "":
		return &ParseError{text, "version", "must not be empty"}
	case "not_decided":
		return &ParseError{text, "version", "must be known: the cluster has not decided on one yet"}
	}
	parts := strings.Split(numbers, ".")
	if len(parts) != 3 {
		return &ParseError{text, "version", "must be three numbers, like 3.5.16"}
	}
	for i, field := range []string{"major", "minor", "patch"} {
		switch {
		case parts[i] == "" || strings.Trim(parts[i], "0123456789") != "":
			return &ParseError{text, field, "must be a decimal number"}
		case len(parts[i]) > 1 && parts[i][0] == '0':
			return &ParseError{text, field, "must not have leading zeros"}
		}
	}
	return nil
}

const identifierRule = "must be letters, digits and dashes between dots"

// identifiers reports whether a suffix, if it is there, is semver's list of
// identifiers between dots.
func identifiers(suffix *string) bool {
	if suffix == nil {
		return true
	}
	for _, id := range strings.Split(*suffix, ".") {
		if id == "" || strings.ContainsFunc(id, notIdentifier) {
			return false
		}
	}
	return true
}

func notIdentifier(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-'
}

// imageRevision moves a bare number from the pre-release to the metadata.
func imageRevision(v semver.Version) semver.Version {
	revision := string(v.PreRelease)
	if revision == "" || strings.Trim(revision, "0123456789") != "" {
		return v
	}
	if v.Metadata != "" {
		revision += "." + v.Metadata
	}
	v.PreRelease, v.Metadata = "", revision
	return v
}
