package version

import (
	"fmt"
	"strings"
)

// Range is a set of releases, written the way change logs speak of them:
//
//	3.4.29+, 3.5.11+, 3.6+   from a patch on in each branch; the last goes on for ever
//	3.5.1 to 3.5.19          both ends included
//	3.5.4                    this release only
//	3.4                      the whole branch
//
// An entry with "+" that is not the last holds in its own branch only. "3.6+"
// begins with the first pre-release of 3.6, "3.6.0+" with the release. The zero
// Range is empty.
type Range struct {
	text  string
	spans []span
}

// span is from a version to another, both included, within branches first to
// last. A zero version leaves its end to the branch, a zero last is open.
type span struct {
	from, to    Version
	first, last branch
}

// ParseRange reads a range. Its error names the entry at fault.
func ParseRange(text string) (Range, error) {
	entries := strings.Split(text, ",")
	r := Range{text: text, spans: make([]span, len(entries))}
	for i, entry := range entries {
		s, err := parseSpan(strings.TrimSpace(entry), i == len(entries)-1)
		if err != nil {
			return Range{}, fmt.Errorf("version range %q: %w", text, err)
		}
		r.spans[i] = s
	}
	return r, nil
}

// MustRange is [ParseRange] for tables and tests: it panics on an error.
func MustRange(text string) Range {
	r, err := ParseRange(text)
	if err != nil {
		panic(err)
	}
	return r
}

// Has reports whether v is in the range. An unknown version is in none.
func (r Range) Has(v Version) bool {
	if v.IsZero() {
		return false
	}
	for _, s := range r.spans {
		if s.has(v) {
			return true
		}
	}
	return false
}

// IsZero reports whether the range is empty.
func (r Range) IsZero() bool { return len(r.spans) == 0 }

// String is the range as it was written.
func (r Range) String() string { return r.text }

func (s span) has(v Version) bool {
	switch b := v.branch(); {
	case b.before(s.first), s.last != branch{} && s.last.before(b):
		return false
	case !s.from.IsZero() && v.Compare(s.from) < 0:
		return false
	}
	return s.to.IsZero() || v.Compare(s.to) <= 0
}

func parseSpan(entry string, last bool) (span, error) {
	if from, to, found := strings.Cut(entry, " to "); found {
		return parseFromTo(from, to)
	}
	start, open := strings.CutSuffix(entry, "+")
	v, b, err := parseBound(start)
	if err != nil {
		return span{}, err
	}
	s := span{from: v, first: b, last: b}
	switch {
	case open && last:
		s.last = branch{}
	case !open:
		s.to = v
	}
	return s, nil
}

func parseFromTo(from, to string) (span, error) {
	f, first, err := parseBound(from)
	if err != nil {
		return span{}, err
	}
	t, last, err := parseBound(to)
	if err != nil {
		return span{}, err
	}
	if last.before(first) || !t.IsZero() && t.Compare(f) < 0 {
		return span{}, fmt.Errorf("%s comes after %s", from, to)
	}
	return span{from: f, to: t, first: first, last: last}, nil
}

// parseBound reads "3.5.11", or "3.5" for a branch as a whole.
func parseBound(text string) (Version, branch, error) {
	if strings.Count(text, ".") == 1 {
		v, err := Parse(text + ".0")
		return Version{}, v.branch(), err
	}
	v, err := Parse(text)
	return v, v.branch(), err
}
