package manifest

import (
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/version"
)

// How a setting is told decides what etcd does with one that it does not know.

func (f found) isVariable() bool { return strings.HasPrefix(f.label, "ETCD_") }
func (f found) isKey() bool      { return strings.HasPrefix(f.label, "key ") }

// toldAlike reports whether both are flags, variables or keys.
func (f found) toldAlike(o found) bool {
	return f.isVariable() == o.isVariable() && f.isKey() == o.isKey()
}

// checkTwice refuses a setting that is given twice, as etcd does for a flag
// beside its variable, an empty one too. Go's flags let the last one win, which
// nobody can see; --feature-gates alone adds up. Two names of one setting are not
// refused here: see settle.
func checkTwice(all []found) error {
	seen := map[string][]found{}
	for _, f := range all {
		for _, first := range seen[f.canonical()] {
			if err := twice(first, f); err != nil {
				return err
			}
		}
		seen[f.canonical()] = append(seen[f.canonical()], f)
	}
	return nil
}

func twice(first, f found) error {
	switch {
	case first.label == f.label && f.isGates() && !f.isVariable() && !f.isKey():
		return nil
	case first.label == f.label:
		return fault(f.line, "%s is given twice, first in line %d", f.label, first.line)
	case first.toldAlike(f):
		return nil
	}
	return givenTwice(first, f, "")
}

func givenTwice(first, f found, why string) error {
	return fault(f.line, "%s is given twice, first as %s in line %d%s", f.label, first.label, first.line, why)
}

// settle is what counts of what was found: nothing that etcd takes for not
// given, no variable that it only warns of, and of two names for one setting the
// one that etcd of this version goes by.
func (r *Reading) settle(all []found, v version.Version) ([]found, error) {
	var kept []found
	for _, f := range all {
		if f.none {
			continue
		}
		if !f.knownTo(v) && f.isVariable() {
			r.unplaced(f.line, f.label, "etcd %s does not know it: it warns of it and goes on", v)
			continue
		}
		i := slices.IndexFunc(kept, func(o found) bool { return o.canonical() == f.canonical() && !f.isGates() })
		if i < 0 {
			kept = append(kept, f)
			continue
		}
		wins, err := r.goesBy(kept[i], f, v)
		if err != nil {
			return nil, err
		}
		kept[i] = wins
	}
	return kept, nil
}

// knownTo reports whether a version takes the setting by this name; of an
// unknown version or setting nothing is said.
func (f found) knownTo(v version.Version) bool {
	if v.IsZero() || f.rows == nil {
		return true
	}
	return slices.ContainsFunc(f.rows, func(s spelling) bool { return s.in.Has(v) })
}

// goesBy is which of two names of one setting counts. Only 3.6 takes both: the
// former one wins there (etcdmain's parse), but for the one it exits at.
func (r *Reading) goesBy(first, f found, v version.Version) (found, error) {
	same := sameValue(first, mustNormal(f))
	switch {
	case !first.knownTo(v) || !f.knownTo(v):
		return f, givenTwice(first, f, ": etcd "+v.String()+" does not know both and exits")
	case !v.IsZero() && f.canonical() == bothExit:
		return f, givenTwice(first, f, ": etcd exits")
	case same:
		return first, nil
	case v.IsZero() || f.canonical() == "log-outputs":
		return f, givenTwice(first, f, " with another value, and which one counts depends on etcd's version, and on more")
	}
	former, newer := first, f
	if strings.Contains(f.name, "experimental-") {
		former, newer = f, first
	}
	r.unplaced(newer.line, newer.label, "is overruled by %s in line %d", former.label, former.line)
	return former, nil
}

// bothExit is the setting at whose two names 3.6 exits.
const bothExit = "warning-unary-request-duration"

// mustNormal is a value in normal form, as it is if it has none.
func mustNormal(f found) string {
	if normal, err := normalValue(f.canonical(), f.kind(), f.value); err == nil {
		return normal
	}
	return f.value
}
