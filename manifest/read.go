package manifest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etcdjoin/etcdjoin/version"
)

// A Reading is what a file says: a Spec that renders to the same settings, and
// what the Spec has no place for. The Spec is Bare, has a Version only if the
// file tells one (a static pod's image), and its initial-cluster-state may be
// "new", which [Spec.For] replaces.
type Reading struct {
	Spec     Spec
	Unplaced []Unplaced
}

// Unplaced is something in a file that rendering the Spec would lose.
type Unplaced struct {
	Line int    // 0 if it has none
	What string // "spec.containers[1]", "--name"
	Why  string
}

func (u Unplaced) String() string { return fmt.Sprintf("line %d: %s: %s", u.Line, u.What, u.Why) }

// Read reads a file in a form. The file's name is for errors only and may be
// empty. Every error is a [*SourceError] that names the file, the line where
// there is one, and the rule: the first fault, for behind it the rest is guessed.
//
// Refused is what etcd itself would refuse, or the kubelet, and what would not
// mean what it says: a setting given twice (by two of its names only if their
// values differ and nobody knows which counts); a value of the wrong type; an
// initial-cluster in which etcd would merge this member with another; a template;
// for pods, two etcd containers, none, neither command nor variables, a shell.
//
// Types are those of etcd's own reader and the kubelet's, which speak YAML 1.1.
// What etcd ignores or only warns of, an unknown key or variable, is unplaced,
// and its value not shown.
func Read(form Form, file string, data []byte) (Reading, error) {
	var reading Reading
	var err error
	switch form {
	case StaticPod:
		reading, err = readPod(data)
	case ConfigFile:
		reading, err = readConfigFile(data)
	case Environment:
		reading, err = readEnvironment(data)
	default:
		err = fault(0, "form must be StaticPod, ConfigFile or Environment, not %q", form)
	}
	if err != nil {
		return Reading{}, inFile(err, file)
	}
	return reading, nil
}

// A found is one setting as a file has it.
type found struct {
	rows  []spelling // what its name means, newest first; nil if nobody knows it
	name  string     // of the flag or key, as written; of a variable its flag's
	label string     // for messages: "--name", "ETCD_NAME"
	value string
	line  int
	none  bool // etcd takes it for not given: an empty variable, a null key
}

// canonical is the setting's name.
func (f found) canonical() string {
	if f.rows == nil {
		return f.name
	}
	return f.rows[0].name
}

// kind is the type of its value.
func (f found) kind() valueKind {
	if f.rows == nil {
		return text
	}
	return f.rows[0].kind
}

// isGates reports whether this is --feature-gates, which holds many settings.
func (f found) isGates() bool { return f.name == featureGates }

// place puts what was found into a Spec. The version is that of the etcd which
// will read it, zero if nobody knows.
func (r *Reading) place(all []found, v version.Version) error {
	if err := checkTwice(all); err != nil {
		return err
	}
	all, err := r.settle(all, v)
	if err != nil {
		return err
	}
	r.Spec.Bare = true
	for _, f := range all {
		if err := r.placeOne(f, all); err != nil {
			return err
		}
	}
	return r.checkCluster(all)
}

func (r *Reading) placeOne(f found, all []found) error {
	switch {
	case f.isGates():
		return r.placeGates(f, all)
	case f.rows == nil:
		return r.placeUnknown(f)
	case f.value == "" && f.mayBeEmpty():
		r.unplaced(f.line, f.label, "is empty, which no other form can say")
		return nil
	}
	return r.set(f, f.rows[0], f.value)
}

// mayBeEmpty: texts and lists; but some flags look at their words and take no
// empty one.
func (f found) mayBeEmpty() bool {
	switch f.canonical() {
	case "cors", "discovery-fallback", "initial-cluster-state", "proxy", "v2-deprecation":
		return f.isKey()
	}
	switch f.kind() {
	case text, urls, commas, list, origins:
		return true
	}
	return false
}

// set puts one setting into its field or among the others.
func (r *Reading) set(f found, s spelling, value string) error {
	if hint := template(value); hint != "" {
		return fault(f.line, "%s %s", f.label, hint)
	}
	normal, err := normalValue(s.name, s.kind, value)
	if err != nil {
		return fault(f.line, "%s %v%s", f.label, err, unexpanded(value))
	}
	if field := fieldOf(s.name); field != nil {
		field.set(&r.Spec, normal)
		return nil
	}
	if r.Spec.Settings == nil {
		r.Spec.Settings = map[string]string{}
	}
	r.Spec.Settings[s.name] = normal
	return nil
}

// placeUnknown keeps a flag that nobody here knows. What etcd only warns of, a
// variable, or ignores, a key, must not become a flag, at which it would exit;
// nor is its value ours to show, for it may be somebody's password.
func (r *Reading) placeUnknown(f found) error {
	switch {
	case f.isVariable():
		r.unplaced(f.line, f.label, "is no setting known here: etcd warns of it and goes on")
	case plainText(f.value) == nil && flagName(f.name):
		r.setUnknown(f.name, f.value)
	default:
		r.unplaced(f.line, f.label, "is no setting known here, and its name or value is not for every form")
	}
	return nil
}

func (r *Reading) setUnknown(name, value string) {
	if r.Spec.Unknown == nil {
		r.Spec.Unknown = map[string]string{}
	}
	if old := r.Spec.Unknown[name]; old != "" {
		value = old + "," + value
	}
	r.Spec.Unknown[name] = value
}

// placeGates takes --feature-gates apart; given repeatedly, it adds up. A gate
// beside the flag that it was is refused, as by etcd.
func (r *Reading) placeGates(f found, all []found) error {
	gates, err := parseGates(f.value)
	if err != nil {
		return fault(f.line, "%s %v", f.label, err)
	}
	for _, g := range gates {
		rows := byGate[g.name]
		if rows == nil {
			r.setUnknown(featureGates, g.name+"="+g.value)
			continue
		}
		name := rows[0].name
		if i := slices.IndexFunc(all, func(o found) bool { return o.canonical() == name }); i >= 0 {
			return fault(f.line, "gate %s is given twice, also as %s in line %d", g.name, all[i].label, all[i].line)
		}
		if old, twice := r.Spec.Settings[name]; twice && old != g.value {
			return fault(f.line, "gate %s is given twice, as %s and as %s", g.name, old, g.value)
		}
		if err := r.set(f, rows[0], g.value); err != nil {
			return err
		}
	}
	return nil
}

// checkCluster refuses an initial cluster that means something else than it says.
func (r *Reading) checkCluster(all []found) error {
	i := slices.IndexFunc(all, func(f found) bool { return f.canonical() == "initial-cluster" })
	if i < 0 || r.Spec.InitialCluster == "" {
		return nil
	}
	cluster, err := ParseInitialCluster(r.Spec.InitialCluster)
	if err != nil {
		return fault(all[i].line, "%s: %v", all[i].label, err)
	}
	if u := sharedURL(cluster); u != "" {
		return fault(all[i].line, "%s must not have %s twice: etcd exits", all[i].label, u)
	}
	for _, m := range cluster {
		if m.Name == r.Spec.Name && len(r.Spec.AdvertisePeerURLs) > 0 && len(m.PeerURLs) > len(r.Spec.AdvertisePeerURLs) {
			return fault(all[i].line, "%s %s", all[i].label, mergedEntry(m, r.Spec.AdvertisePeerURLs))
		}
	}
	return nil
}

func (r *Reading) unplaced(line int, what, why string, args ...any) {
	r.Unplaced = append(r.Unplaced, Unplaced{line, what, fmt.Sprintf(why, args...)})
}

// asSource is an error as a *SourceError, for callers that need its line.
func asSource(err error) *SourceError {
	var source *SourceError
	if errors.As(err, &source) {
		return source
	}
	return &SourceError{Rule: err.Error(), Err: err}
}
