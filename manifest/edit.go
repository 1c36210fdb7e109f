package manifest

import (
	"maps"
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// Identity is what one start decides, by canonical name, as [Edit] takes it:
// name, initial-advertise-peer-urls, initial-cluster, and the state "existing".
// Edit moves the other URLs of a file to the host of these peer URLs.
func Identity(start member.StartSpec) map[string]string {
	return map[string]string{
		"name":                        start.Name,
		"initial-advertise-peer-urls": strings.Join(start.PeerURLs, ","),
		"initial-cluster":             start.InitialCluster,
		"initial-cluster-state":       existing,
	}
}

// Edit gives settings of a file new values and keeps everything else, byte for
// byte: comments, order, quotes, other containers, volumes, annotations. A
// setting that is not there yet is put behind its neighbour in the alphabet. In a
// static pod, the annotation and the probes that follow a changed URL change with
// it, if they followed it before, and a volume that is all a changed directory's
// moves with it; a directory or file that would be in no volume is refused.
//
// With other peer URLs the file becomes another host's: all URLs at the former
// host, to listen at and to advertise, move to the new one, so that a copied file
// keeps no address of the host it comes from. An address that is neither's, or
// peer URLs by name where an address must be listened at, are faults that say
// what to set as well.
//
// Settings are named canonically, or exactly as the file has them if no table
// knows them. An edit that would change more than it should (a value shared
// through an anchor, a text over several lines) fails and says so. So does one
// after which the file would not read back as intended. The file's name is for
// errors only. Every error is a [*SourceError], or [Faults] for a value.
func Edit(form Form, file string, data []byte, set map[string]string) ([]byte, error) {
	values, err := editValues(set)
	if err != nil {
		return nil, err
	}
	out, err := edit(form, data, values)
	if err != nil {
		return nil, inFile(err, file)
	}
	return out, nil
}

// editValues is what to set, each value in normal form.
func editValues(set map[string]string) (map[string]string, error) {
	values := map[string]string{}
	var faults Faults
	for _, name := range slices.Sorted(maps.Keys(set)) {
		k := text
		if rows := byName[name]; rows != nil {
			k = rows[0].kind
		}
		normal, err := normalValue(name, k, set[name])
		if err != nil {
			faults.add(fieldName(name), "%v", err)
		}
		if name == "initial-cluster-state" && normal == "new" {
			faults.add("InitialClusterState", "must be %q: a member that joins and starts as new founds another cluster", existing)
		}
		values[name] = normal
	}
	if name, cluster := values["name"], values["initial-cluster"]; name != "" && cluster != "" {
		checkEditCluster(name, cluster, splitList(values["initial-advertise-peer-urls"]), &faults)
	}
	return values, faults.err()
}

func checkEditCluster(name, value string, urls []string, faults *Faults) {
	cluster, err := ParseInitialCluster(value)
	if err != nil {
		faults.add("InitialCluster", "%v", err)
		return
	}
	if rule := ownEntry(cluster, name, urls); rule != "" {
		faults.add("InitialCluster", "%s", rule)
	}
}

// An editor changes the settings of one file. Settings are counted as settings
// lists them.
type editor interface {
	settings() []found
	version() version.Version // zero if the file does not tell
	spell(name string, v version.Version) (spelling, bool)
	replace(i int, value string) error
	rename(i int, to spelling, value string) error
	remove(i int) error
	insert(s spelling, value string) error
	// result is the changed file, after a look at it.
	result() ([]byte, error)
}

func openEditor(form Form, data []byte) (editor, error) {
	switch form {
	case StaticPod:
		return openPod(data)
	case ConfigFile:
		return openFile(data)
	case Environment:
		return openEnv(data)
	}
	return nil, fault(0, "form must be StaticPod, ConfigFile or Environment, not %q", form)
}

func edit(form Form, data []byte, values map[string]string) ([]byte, error) {
	e, err := openEditor(form, data)
	if err != nil {
		return nil, err
	}
	if err := moveHost(e, values); err != nil {
		return nil, err
	}
	if pod, ok := e.(*podEdit); ok {
		if err := pod.follow(values); err != nil {
			return nil, err
		}
	}
	gates := gateSet{editor: e}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := editOne(e, &gates, name, values[name]); err != nil {
			return nil, err
		}
	}
	if err := gates.write(); err != nil {
		return nil, err
	}
	return e.result()
}

func editOne(e editor, gates *gateSet, name, value string) error {
	there := false
	for i, f := range e.settings() {
		if f.canonical() != name {
			continue
		}
		there = true
		if sameValue(f, value) {
			continue
		}
		if err := e.replace(i, value); err != nil {
			return err
		}
	}
	if there {
		return nil
	}
	if gate := gates.named(name); gate != "" {
		return gates.set(gate, value)
	}
	s, err := spellingFor(e, name)
	switch {
	case err != nil:
		return err
	case s.gate != "":
		return gates.set(s.gate, value)
	}
	return e.insert(s, value)
}

// sameValue keeps a file from being touched for another spelling of its value.
func sameValue(f found, value string) bool {
	normal, err := normalValue(f.canonical(), f.kind(), f.value)
	return err == nil && normal == value
}

// spellingFor is how a setting is told that the file does not have: as its
// version wants it, or in the only way there is.
func spellingFor(e editor, name string) (spelling, error) {
	if v := e.version(); !v.IsZero() {
		if s, ok := e.spell(name, v); ok {
			return s, nil
		}
		f := fault(0, "etcd %s cannot be told %s here", v, name)
		f.Err = ErrUnsupported
		return spelling{}, f
	}
	rows := byName[name]
	if len(rows) != 1 {
		return spelling{}, fault(0, "%s has no name that every version takes in this file, and it does not tell the version: set it by hand", name)
	}
	return rows[0], nil
}

// A gateSet collects changes to --feature-gates, which holds many settings in
// one value.
type gateSet struct {
	editor
	loaded  bool
	at      int   // which setting it is, -1 if none
	more    []int // the others, where the flag is repeated
	gates   []gateValue
	changed bool
}

func (g *gateSet) load() error {
	if g.loaded {
		return nil
	}
	g.loaded = true
	all := g.settings()
	g.at = slices.IndexFunc(all, found.isGates)
	for i, f := range all {
		if !f.isGates() {
			continue
		}
		gates, err := parseGates(f.value)
		if err != nil {
			return fault(f.line, "%s %v", f.label, err)
		}
		for _, v := range gates {
			if said := g.value(v.name); said != "" && said != v.value {
				return fault(f.line, "gate %s is given twice, as %s and as %s", v.name, said, v.value)
			}
			g.gates = append(g.gates, v)
		}
		if i != g.at {
			g.more = append(g.more, i)
		}
	}
	return nil
}

// named is the gate that a setting is in the file, "" if it is none there.
func (g *gateSet) named(name string) string {
	if g.load() != nil {
		return ""
	}
	for _, v := range g.gates {
		if rows := byGate[v.name]; rows != nil && rows[0].name == name {
			return v.name
		}
	}
	return ""
}

// value is what a gate is set to, "" if it is not.
func (g *gateSet) value(name string) string {
	for _, v := range g.gates {
		if v.name == name {
			return v.value
		}
	}
	return ""
}

func (g *gateSet) set(name, value string) error {
	if err := g.load(); err != nil {
		return err
	}
	if i := slices.IndexFunc(g.gates, func(v gateValue) bool { return v.name == name }); i >= 0 {
		g.changed = g.changed || g.gates[i].value != value
		g.gates[i].value = value
		return nil
	}
	g.changed = true
	g.gates = append(g.gates, gateValue{name, value})
	return nil
}

func (g *gateSet) text() string {
	parts := make([]string, len(g.gates))
	for i, v := range g.gates {
		parts[i] = v.name + "=" + v.value
	}
	return strings.Join(parts, ",")
}

// write puts the gates into the file, if they changed.
func (g *gateSet) write() error {
	switch {
	case !g.changed:
		return nil
	case g.at >= 0:
		for _, i := range g.more {
			if err := g.remove(i); err != nil {
				return err
			}
		}
		return g.replace(g.at, g.text())
	}
	return g.insert(gatesFlag, g.text())
}

// gatesFlag is --feature-gates itself.
var gatesFlag = spelling{name: featureGates, flag: featureGates, kind: text, key: featureGates}
