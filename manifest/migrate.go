package manifest

import (
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/version"
)

// Migration is where [Migrate] goes.
type Migration struct {
	// To is the etcd that will run, from 3.4.0 to 3.8.0-alpha.0. Required.
	To version.Version
	// Image replaces a static pod's image. A tag that is a version must agree with
	// To. It may be empty where the pod has that image already, or with KeepImage.
	Image string
	// KeepImage leaves a static pod's image as it is, whatever etcd it is: the
	// say-so of who changes it elsewhere, before the pod is started.
	KeepImage bool
}

// A ChangeKind is what [Migrate] did with a setting.
type ChangeKind string

// The kinds. The last two change nothing: they are for a person to look at.
const (
	Renamed    ChangeKind = "renamed"    // the same setting and value, by the version's name
	Moved      ChangeKind = "moved"      // the same, in another block of the config file
	Gated      ChangeKind = "gate"       // a flag became a feature gate, or a gate a flag
	Replaced   ChangeKind = "replaced"   // another value, which the version takes and which means the same
	Dropped    ChangeKind = "dropped"    // gone: the version has no such setting, or it was there twice
	Probed     ChangeKind = "probe"      // a probe asks another path, or a port
	Reimaged   ChangeKind = "image"      // the image
	Unknown    ChangeKind = "unknown"    // no table here knows it, and it is left as it is
	Deprecated ChangeKind = "deprecated" // the version takes it, and a later one will not
)

// A Change is one setting that [Migrate] changed, or has something to say of,
// and why.
type Change struct {
	Kind    ChangeKind
	Setting string // canonical
	From    string // as it was in the file, "--experimental-initial-corrupt-check=true"
	To      string // as it is now, "" if it is gone
	Why     string
	// Lost says that etcd will behave differently: the setting is gone, and its
	// value was not what etcd does without it.
	Lost bool
}

// Migrate rewrites a file for another version of etcd: former names become those
// the version takes, gates become flags or flags gates, what it does not have is
// dropped, a probe that it does not answer asks what it does, and everything else
// stays byte for byte, as with [Edit]. It works in both directions. A setting
// that is given by two of its names is given once afterwards, if both say the
// same; if not, that is a fault.
//
// Settings nobody here knows stay and are listed as [Unknown], without their
// value, for it may be anything. An empty list means that nothing is to be done
// and nothing to be said: the file is returned as it is. The file's name is for
// errors only. Every error is a [*SourceError].
func Migrate(form Form, file string, data []byte, m Migration) ([]byte, []Change, error) {
	if !inTables(m.To) {
		f := fault(0, "must be migrated to an etcd from %s to %s, not %s", oldest, newest, m.To)
		f.Err = ErrUnknownVersion
		return nil, nil, inFile(f, file)
	}
	out, changes, err := migrate(form, data, m)
	if err != nil {
		return nil, nil, inFile(err, file)
	}
	return out, changes, nil
}

func migrate(form Form, data []byte, m Migration) ([]byte, []Change, error) {
	e, err := openEditor(form, data)
	if err != nil {
		return nil, nil, err
	}
	g := &migrator{editor: e, to: m.To, gates: gateSet{editor: e}}
	if err := g.run(); err != nil {
		return nil, nil, err
	}
	if pod, ok := e.(*podEdit); ok {
		if err := g.pod(pod, m); err != nil {
			return nil, nil, err
		}
	}
	out, err := e.result()
	if err != nil {
		return nil, nil, err
	}
	return out, g.changes, nil
}

// A migrator goes through the settings of one file.
type migrator struct {
	editor
	to      version.Version
	gates   gateSet
	spare   []int  // settings that became gates: one of them makes room for the flag
	later   []told // what goes in when all that goes is out
	changes []Change
}

func (m *migrator) run() error {
	if err := m.gates.load(); err != nil {
		return err
	}
	if err := m.oldGates(); err != nil {
		return err
	}
	if err := m.all(); err != nil {
		return err
	}
	m.ignored()
	if err := m.writeGates(); err != nil {
		return err
	}
	for _, t := range m.later {
		if err := m.insert(t.spelling, t.value); err != nil {
			return err
		}
	}
	return nil
}

// all goes through the settings that are no gates.
func (m *migrator) all() error {
	twice, err := m.givenTwice()
	if err != nil {
		return err
	}
	for i, f := range m.settings() {
		switch {
		case f.isGates() || f.none:
			continue
		case twice[i]:
			m.note(Dropped, f, "", "the same is said by another name of it", false)
			err = m.remove(i)
		default:
			err = m.one(i, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// givenTwice finds settings that are given by two names: one of them goes, which
// is not the one whose name the version has.
func (m *migrator) givenTwice() (map[int]bool, error) {
	goes, first := map[int]bool{}, map[string]int{}
	all := m.settings()
	for i, f := range all {
		j, twice := first[f.canonical()]
		switch {
		case f.isGates() || f.rows == nil || f.none:
			continue
		case !twice:
			first[f.canonical()] = i
			continue
		case mustNormal(all[j]) != mustNormal(f):
			return nil, givenTwice(all[j], f, " with another value: say once what etcd is to do")
		}
		if to, ok := m.spell(f.canonical(), m.to); ok && (f.name == to.flag || f.name == to.key) {
			i, first[f.canonical()] = j, i
		}
		goes[i] = true
	}
	return goes, nil
}

// ignored tells of keys that etcd ignores.
func (m *migrator) ignored() {
	file, ok := m.editor.(*fileEdit)
	if !ok {
		return
	}
	for _, k := range file.scan.loose {
		m.changes = append(m.changes, Change{Kind: Unknown, Setting: k.name, From: k.name, To: k.name, Why: looseKey(k.name)})
	}
}

// one decides about one setting.
func (m *migrator) one(i int, f found) error {
	if f.rows == nil {
		m.changes = append(m.changes, Change{Kind: Unknown, Setting: f.name, From: f.label, To: f.label, Why: m.unknown(f)})
		return nil
	}
	to, ok := m.spell(f.canonical(), m.to)
	switch {
	case !ok:
		return m.drop(i, f)
	case to.gate != "":
		return m.toGate(i, f, to)
	}
	if c, known := chosen(f.canonical(), f.value); known && !c.in.Has(m.to) {
		return m.oldValue(i, f, c)
	}
	m.deprecated(f, to)
	if written(f, "") == m.writtenAs(to, f, "") {
		return nil
	}
	m.note(m.renaming(f, to), f, m.writtenAs(to, f, f.value), "etcd "+m.to.String()+" has it under this name", false)
	return m.rename(i, to, f.value)
}

func (m *migrator) unknown(f found) string {
	if f.isVariable() {
		return "no table here knows it: etcd warns of a variable that it does not know, and goes on"
	}
	return "no table here knows it: see whether etcd " + m.to.String() + " does"
}

func (m *migrator) renaming(f found, to spelling) ChangeKind {
	from, _ := cutBlock(f.name)
	into, _ := cutBlock(to.key)
	if f.isKey() && from != into {
		return Moved
	}
	return Renamed
}

// oldValue replaces or drops a setting whose value the version does not take.
func (m *migrator) oldValue(i int, f found, c choice) error {
	why := "etcd " + m.to.String() + " does not take this value, which is for " + c.in.String()
	if f.canonical() == "logger" {
		m.note(Replaced, f, written(f, "zap"), why, false)
		return m.replace(i, "zap")
	}
	m.note(Dropped, f, "", why, m.isLost(f.canonical(), f.value))
	return m.remove(i)
}

// drop takes a setting out that the version does not have.
func (m *migrator) drop(i int, f found) error {
	if f.canonical() == "debug" && mustNormal(f) == "true" && !m.hasSetting("log-level") {
		to := byName["log-level"][0]
		m.note(Replaced, f, m.writtenAs(to, f, "debug"), "debug was removed in 3.5.0, log-level says the same", false)
		return m.rename(i, to, "debug")
	}
	m.note(Dropped, f, "", "etcd "+m.to.String()+" has no such setting here: it is "+history(f.canonical()), m.isLost(f.canonical(), f.value))
	return m.remove(i)
}

func (m *migrator) hasSetting(name string) bool {
	return slices.ContainsFunc(m.settings(), func(f found) bool { return f.canonical() == name })
}

// toGate moves a flag into --feature-gates.
func (m *migrator) toGate(i int, f found, to spelling) error {
	value, err := normalBool(f.value)
	if err != nil {
		return fault(f.line, "%s %v%s", f.label, err, unexpanded(f.value))
	}
	if gate := m.gates.named(f.canonical()); gate != "" && m.gates.value(gate) != value {
		return fault(f.line, "%s is %s, but the gate %s is %s: say once what etcd is to do", f.label, value, gate, m.gates.value(gate))
	}
	m.note(Gated, f, m.writtenAs(gatesFlag, f, to.gate+"="+value), "since 3.6.0 it is a feature gate", false)
	m.spare = append(m.spare, i)
	return m.gates.set(to.gate, value)
}

// oldGates turns gates the version does not have into what it has.
func (m *migrator) oldGates() error {
	if m.gates.at < 0 {
		return nil
	}
	f := m.settings()[m.gates.at]
	var kept []gateValue
	for _, g := range m.gates.gates {
		keep, err := m.oldGate(f, g)
		if err != nil {
			return err
		}
		if keep {
			kept = append(kept, g)
		}
	}
	m.gates.changed = len(kept) < len(m.gates.gates)
	m.gates.gates = kept
	return nil
}

// oldGate decides about one gate.
func (m *migrator) oldGate(f found, g gateValue) (keep bool, err error) {
	pair := g.name + "=" + g.value
	rows := byGate[g.name]
	if rows == nil {
		return m.unknownGate(f, pair), nil
	}
	name := rows[0].name
	to, ok := m.spell(name, m.to)
	switch {
	case ok && to.gate != "":
		return true, nil
	case ok:
		m.noteGate(Gated, f, name, pair, m.writtenAs(to, f, g.value), "before 3.6.0 there were no gates", false)
		return false, m.asFlag(f, to, g)
	}
	m.noteGate(Dropped, f, name, pair, "", "etcd "+m.to.String()+" has no such gate: it is "+history(name), m.isLost(name, g.value))
	return false, nil
}

// asFlag has a flag say what the gate said, unless it does already.
func (m *migrator) asFlag(f found, to spelling, g gateValue) error {
	for _, o := range m.settings() {
		if o.canonical() != to.name || o.none {
			continue
		}
		if mustNormal(o) != g.value {
			return fault(f.line, "gate %s is %s, but %s is %s: say once what etcd is to do", g.name, g.value, o.label, o.value)
		}
		return nil
	}
	m.later = append(m.later, told{to, g.value})
	return nil
}

// unknownGate stays where there are gates at all.
func (m *migrator) unknownGate(f found, pair string) (keep bool) {
	name, _, _ := strings.Cut(pair, "=")
	if _, gates := spell("set-member-local-addr", m.to); !gates {
		m.noteGate(Dropped, f, name, pair, "", "etcd "+m.to.String()+" has no --feature-gates", true)
		return false
	}
	m.noteGate(Unknown, f, name, pair, m.writtenAs(gatesFlag, f, pair), "no table here knows this gate: see whether etcd "+m.to.String()+" does", false)
	return true
}

// writeGates puts --feature-gates in, in the place of the first setting that
// became one, or takes it out where none is left.
func (m *migrator) writeGates() error {
	spare := m.spare
	if m.gates.changed && m.gates.at < 0 && len(spare) > 0 {
		if err := m.rename(spare[0], gatesFlag, m.gates.text()); err != nil {
			return err
		}
		m.gates.changed = false
		spare = spare[1:]
	}
	for _, i := range spare {
		if err := m.remove(i); err != nil {
			return err
		}
	}
	if m.gates.changed && len(m.gates.gates) == 0 {
		return m.remove(m.gates.at)
	}
	return m.gates.write()
}

func (m *migrator) note(kind ChangeKind, f found, to, why string, lost bool) {
	from := written(f, f.value)
	if f.canonical() == "discovery-password" {
		from, to = strings.ReplaceAll(from, f.value, "***"), strings.ReplaceAll(to, f.value, "***")
	}
	m.changes = append(m.changes, Change{kind, f.canonical(), from, to, why, lost})
}

func (m *migrator) noteGate(kind ChangeKind, f found, setting, pair, to, why string, lost bool) {
	m.changes = append(m.changes, Change{kind, setting, m.writtenAs(gatesFlag, f, pair), to, why, lost})
}

// written is a setting as the file has it, for people.
func written(f found, value string) string {
	if key, ok := strings.CutPrefix(f.label, "key "); ok {
		return key + ": " + value
	}
	return f.label + "=" + value
}

// writtenAs is a setting as it will be.
func (m *migrator) writtenAs(s spelling, f found, value string) string {
	if strings.HasPrefix(f.label, "key ") {
		return s.key + ": " + value
	}
	if strings.HasPrefix(f.label, "ETCD_") {
		return variable(s.flag) + "=" + value
	}
	return "--" + s.flag + "=" + value
}
