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
	// Image replaces a static pod's image. Empty leaves it: the old etcd would
	// then be started with the new one's flags.
	Image string
}

// A Change is one setting that [Migrate] changed, and why.
type Change struct {
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
// dropped, and everything else stays byte for byte, as with [Edit]. It works in
// both directions. Settings nobody here knows stay and are listed as unchanged
// (From equals To), for the version may refuse them. Probes stay: an older
// version's are answered by a newer one.
//
// An empty list means that the file is right as it is, and is returned as it is.
// The file's name is for errors only. Every error is a [*SourceError].
func Migrate(form Form, file string, data []byte, m Migration) ([]byte, []Change, error) {
	if m.To.Compare(oldest) < 0 || m.To.Compare(newest) > 0 {
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
	if err := g.image(m.Image); err != nil {
		return nil, nil, err
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
	for i, f := range m.settings() {
		if f.isGates() {
			continue
		}
		if err := m.one(i, f); err != nil {
			return err
		}
	}
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

// one decides about one setting.
func (m *migrator) one(i int, f found) error {
	if f.rows == nil {
		m.note(f, f.name, written(f, f.value), "no table here knows it: see whether etcd "+m.to.String()+" does", false)
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
	if written(f, "") == m.writtenAs(to, f, "") {
		return nil
	}
	m.note(f, f.canonical(), m.writtenAs(to, f, f.value), "etcd "+m.to.String()+" has it under this name", false)
	return m.rename(i, to, f.value)
}

// oldValue replaces or drops a setting whose value the version does not take.
func (m *migrator) oldValue(i int, f found, c choice) error {
	why := "etcd " + m.to.String() + " does not take this value, which is for " + c.in.String()
	if f.canonical() == "logger" {
		m.note(f, "logger", written(f, "zap"), why, false)
		return m.replace(i, "zap")
	}
	m.note(f, f.canonical(), "", why, isLost(f.canonical(), f.value))
	return m.remove(i)
}

// withoutIt is what etcd does where a dropped setting is not there; "" says that
// it does the same whatever the value was.
var withoutIt = map[string]string{
	"debug": "false", "enable-v2": "false", "proxy": "off", "max-learners": "1",
	"next-cluster-version-compatible": "false", "fast-lease-keep-alive": "false", "priority-request": "false",
	"log-format": "json", "discovery": "", "discovery-fallback": "", "discovery-proxy": "", "v2-deprecation": "",
}

// isLost reports whether etcd does something else without a setting.
func isLost(name, value string) bool {
	usual, known := withoutIt[name]
	return !known || usual != value && usual != ""
}

// drop takes a setting out that the version does not have.
func (m *migrator) drop(i int, f found) error {
	if f.canonical() == "debug" && f.value == "true" && !m.hasSetting("log-level") {
		to := byName["log-level"][0]
		m.note(f, "debug", m.writtenAs(to, f, "debug"), "debug was removed in 3.5.0, log-level says the same", false)
		return m.rename(i, to, "debug")
	}
	m.note(f, f.canonical(), "", "etcd "+m.to.String()+" has no such setting here: it is "+history(f.canonical()), isLost(f.canonical(), f.value))
	return m.remove(i)
}

func (m *migrator) hasSetting(name string) bool {
	return slices.ContainsFunc(m.settings(), func(f found) bool { return f.canonical() == name })
}

// toGate moves a flag into --feature-gates.
func (m *migrator) toGate(i int, f found, to spelling) error {
	value, err := normalBool(f.value)
	if err != nil {
		return fault(f.line, "%s %v", f.label, err)
	}
	m.note(f, f.canonical(), m.writtenAs(gatesFlag, f, to.gate+"="+value), "since 3.6.0 it is a feature gate", false)
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
		m.noteGate(f, name, pair, m.writtenAs(to, f, g.value), "before 3.6.0 there were no gates", false)
		m.later = append(m.later, told{to, g.value})
		return false, nil
	}
	m.noteGate(f, name, pair, "", "etcd "+m.to.String()+" has no such gate: it is "+history(name), isLost(name, g.value))
	return false, nil
}

// unknownGate stays where there are gates at all.
func (m *migrator) unknownGate(f found, pair string) (keep bool) {
	name, _, _ := strings.Cut(pair, "=")
	if _, gates := spell("set-member-local-addr", m.to); !gates {
		m.noteGate(f, name, pair, "", "etcd "+m.to.String()+" has no --feature-gates", true)
		return false
	}
	m.noteGate(f, name, pair, m.writtenAs(gatesFlag, f, pair), "no table here knows this gate: see whether etcd "+m.to.String()+" does", false)
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

func (m *migrator) image(image string) error {
	pod, ok := m.editor.(*podEdit)
	if !ok || image == "" {
		return nil
	}
	old := scalar(child(pod.scan.container, "image"))
	if old != image {
		m.changes = append(m.changes, Change{"image", old, image, "the etcd that will run", false})
	}
	return pod.setImage(image)
}

func (m *migrator) note(f found, setting, to, why string, lost bool) {
	m.changes = append(m.changes, Change{setting, written(f, f.value), to, why, lost})
}

func (m *migrator) noteGate(f found, setting, pair, to, why string, lost bool) {
	m.changes = append(m.changes, Change{setting, m.writtenAs(gatesFlag, f, pair), to, why, lost})
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
