package version

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrHazard is what every [*HazardError] is.
var ErrHazard = errors.New("known hazard of these etcd versions")

// Severity is what a joiner should do about a hazard.
type Severity int

const (
	// Note: the joiner keeps clear of it by itself, or notices and says so. Worth
	// knowing when something looks odd.
	Note Severity = iota
	// Warn: the join is safe, but something else, a crash or an upgrade or an
	// operator's command, can set the bug off. Somebody should be told.
	Warn
	// Refuse: the join itself can lose data or quorum. It needs somebody to accept
	// the hazard by name.
	Refuse
)

// String is "note", "warn" or "refuse".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warn:
		return "warn"
	case Refuse:
		return "refuse"
	}
	return fmt.Sprintf("severity %d", int(s))
}

// Hazard is something that is known to go wrong with some releases.
type Hazard struct {
	Name     string // by which a caller accepts it, in kebab-case
	Severity Severity
	Servers  Range // releases of the cluster's servers it is about
	Joiner   Range // releases of the joiner it is about
	Together bool  // only a server in Servers with a joiner in Joiner; else either is enough
	What     string
	Do       string
	Issues   []string // URLs
}

// Finding is a hazard that two sides of a join are in.
type Finding struct {
	Hazard
	Found []Version // the servers' versions that are in it, each once, rising
	By    Version   // the joiner's version if that is in it
}

// String is the finding on one line, for a log.
func (f Finding) String() string {
	var who []string
	for _, v := range f.Found {
		who = append(who, "server "+v.String())
	}
	if !f.By.IsZero() {
		who = append(who, "joiner "+f.By.String())
	}
	return fmt.Sprintf("%s (%s): %s; %s [%s]", f.Name, strings.Join(who, ", "), f.What, f.Do, strings.Join(f.Issues, " "))
}

// Hazards finds what is known to go wrong when a joiner joins servers of these
// versions, the worst first. Versions that are not known are in no hazard: of a
// joiner that is not, only what the servers have is found.
func Hazards(servers []Version, joiner Version) []Finding {
	var found []Finding
	for _, h := range hazards {
		if f, ok := h.find(servers, joiner); ok {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
	return found
}

// AllHazards is the whole table, for documents and for who must accept by name.
func AllHazards() []Hazard { return slices.Clone(hazards) }

func (h Hazard) find(servers []Version, joiner Version) (Finding, bool) {
	f := Finding{Hazard: h}
	for _, v := range servers {
		if h.Servers.Has(v) && !slices.Contains(f.Found, v) {
			f.Found = append(f.Found, v)
		}
	}
	slices.SortFunc(f.Found, Version.Compare)
	if h.Joiner.Has(joiner) {
		f.By = joiner
	}
	byServers, byJoiner := len(f.Found) > 0, !f.By.IsZero()
	if h.Together {
		return f, byServers && byJoiner
	}
	return f, byServers || byJoiner
}

// HazardError has the findings that forbid a join.
type HazardError struct{ Findings []Finding }

func (e *HazardError) Error() string {
	texts := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		texts[i] = f.String()
	}
	return fmt.Sprintf("%v: %s", ErrHazard, strings.Join(texts, "; "))
}

// Is makes errors.Is(err, ErrHazard) true.
func (e *HazardError) Is(target error) bool { return target == ErrHazard }

// Refusal is a [*HazardError] of the findings that forbid a join and whose names
// are not among the accepted; nil if there is none.
func Refusal(findings []Finding, accepted []string) error {
	var refused []Finding
	for _, f := range findings {
		if f.Severity == Refuse && !slices.Contains(accepted, f.Name) {
			refused = append(refused, f)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return &HazardError{refused}
}

// CheckAccepted finds a name that no hazard has: a misspelt one would accept
// nothing, and be noticed at the join that needed it.
func CheckAccepted(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(hazards, func(h Hazard) bool { return h.Name == name }) {
			return fmt.Errorf("accepted hazard %q: no hazard has this name", name)
		}
	}
	return nil
}
