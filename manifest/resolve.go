package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/version"
)

// resolved is a Spec with everything decided: what each renderer starts from.
type resolved struct {
	Spec                      // with its defaults
	table   version.Version   // whose names are used
	values  map[string]string // by canonical name, in normal form
	unknown map[string]string
}

var (
	oldest = version.MustParse("3.4.0")
	newest = version.MustParse("3.8.0-alpha.0")
)

// resolve decides everything and collects all faults. What it returns is of use
// only if there are none.
func (s Spec) resolve() (resolved, Faults) {
	var faults Faults
	r := resolved{values: map[string]string{}, unknown: maps.Clone(s.Unknown)}
	r.table = s.tableVersion(&faults)
	s = s.overridden(&faults)
	r.Spec = s.withDefaults()
	r.takeFields(&faults)
	r.takeSettings(&faults)
	r.takeDefaults()
	r.takeCompaction()
	if len(faults) == 0 || !r.table.IsZero() {
		r.checkSupport(&faults)
	}
	r.checkUnknown(&faults)
	r.check(&faults)
	return r, faults
}

// tableVersion is the version whose names are used.
func (s Spec) tableVersion(faults *Faults) version.Version {
	v, field := s.Version, "Version"
	if !s.TreatAs.IsZero() {
		v, field = s.TreatAs, "TreatAs"
	}
	switch {
	case s.Version.IsZero():
		faults.add("Version", "must be set: it decides how etcd is told things")
		return version.Version{}
	case v.Compare(oldest) < 0:
		faults.addErr(ErrUnknownVersion, field, "must be %s or newer, not %s", oldest, v)
		return version.Version{}
	case v.Compare(newest) > 0:
		faults.addErr(ErrUnknownVersion, field, "etcd %s is newer than %s, the newest known here: TreatAs must say which known version to take it for", v, newest)
		return version.Version{}
	}
	return v
}

// overridden moves identity settings into their fields, where that is allowed.
func (s Spec) overridden(faults *Faults) Spec {
	rest := maps.Clone(s.Settings)
	for _, f := range fields {
		value, ok := rest[f.name]
		if !ok {
			continue
		}
		delete(rest, f.name)
		switch {
		case f.identity && s.OverrideIdentity:
			f.set(&s, value)
		case f.identity:
			faults.add(settingField(f.name), "is one node's own: use %s, or say OverrideIdentity", f.path)
		default:
			faults.add(settingField(f.name), "has a field of its own: use %s", f.path)
		}
	}
	s.Settings = rest
	return s
}

func (r *resolved) takeFields(faults *Faults) {
	for _, f := range fields {
		value := f.get(&r.Spec)
		if value == "" {
			continue
		}
		r.take(f.path, f.name, value, faults)
	}
}

func (r *resolved) takeSettings(faults *Faults) {
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		value := r.Settings[name]
		switch {
		case name == featureGates:
			r.takeGates(value, faults)
		case byName[name] == nil:
			faults.add(settingField(name), "%s", r.unknownSetting(name))
		default:
			r.take(settingField(name), name, value, faults)
		}
	}
}

// takeGates takes "A=true,B=false" apart into the settings that the gates are.
func (r *resolved) takeGates(value string, faults *Faults) {
	gates, err := parseGates(value)
	if err != nil {
		faults.add(settingField(featureGates), "%v", err)
		return
	}
	for _, g := range gates {
		rows := byGate[g.name]
		if rows == nil {
			faults.add(settingField(featureGates), "knows no gate %s: put it into Unknown", g.name)
			continue
		}
		if _, twice := r.Settings[rows[0].name]; twice {
			faults.add(settingField(rows[0].name), "is also given as gate %s", g.name)
			continue
		}
		r.take(settingField(featureGates), rows[0].name, g.value, faults)
	}
}

func (r *resolved) take(field, name, value string, faults *Faults) {
	normal, err := normalValue(name, byName[name][0].kind, value)
	if err != nil {
		faults.add(field, "%v", err)
		return
	}
	r.values[name] = normal
}

// takeDefaults adds what nobody set, where the version has it.
func (r *resolved) takeDefaults() {
	if r.Bare {
		return
	}
	for _, d := range defaults {
		_, given := r.values[d.Name]
		if given || slices.Contains(r.Without, d.Name) || !d.in.IsZero() && !d.in.Has(r.table) {
			continue
		}
		if _, ok := spell(d.Name, r.table); ok {
			r.values[d.Name] = d.Value
		}
	}
}

// takeCompaction says the mode that a retention is in: the config file of 3.4 and
// 3.5 has no default for it, and etcd exits.
func (r *resolved) takeCompaction() {
	_, retains := r.values["auto-compaction-retention"]
	if _, given := r.values["auto-compaction-mode"]; retains && !given {
		r.values["auto-compaction-mode"] = "periodic"
	}
}

// checkSupport refuses what the version cannot be told.
func (r *resolved) checkSupport(faults *Faults) {
	if r.table.IsZero() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if _, ok := spell(name, r.table); !ok {
			faults.addErr(ErrUnsupported, fieldName(name), "etcd %s has no %s: it is %s", r.Version, name, history(name))
		}
		if c, ok := chosen(name, r.values[name]); ok && !c.in.Has(r.table) {
			faults.addErr(ErrUnsupported, fieldName(name), "must not be %s for etcd %s, but for %s", c.value, r.Version, c.in)
		}
	}
	for _, name := range r.Without {
		if byName[name] == nil {
			faults.add("Without", "%s", r.unknownSetting(name))
		}
	}
}

// checkUnknown keeps the escape for what is really unknown.
func (r *resolved) checkUnknown(faults *Faults) {
	for _, name := range slices.Sorted(maps.Keys(r.unknown)) {
		field := fmt.Sprintf("Unknown[%q]", name)
		value := r.unknown[name]
		switch {
		case name == featureGates:
			r.checkUnknownGates(field, value, faults)
		case byFlag[name] != nil || byName[name] != nil:
			faults.add(field, "is known: use %s", fieldName(canonical(name)))
		case slices.Contains(notSettings, name):
			faults.add(field, "is no setting: it decides how etcd is told its settings")
		case !flagName(name):
			faults.add(field, "must be a flag's name: small letters, digits and dashes")
		default:
			if err := plainText(value); err != nil {
				faults.add(field, "%v", err)
			}
		}
	}
}

func (r *resolved) checkUnknownGates(field, value string, faults *Faults) {
	if _, ok := r.gateSpelling(); !ok && !r.table.IsZero() {
		faults.addErr(ErrUnsupported, field, "etcd %s has no --feature-gates: they came with 3.6.0", r.Version)
	}
	gates, err := parseGates(value)
	if err != nil {
		faults.add(field, "%v", err)
	}
	for _, g := range gates {
		if rows := byGate[g.name]; rows != nil {
			faults.add(field, "gate %s is known: use %s", g.name, settingField(rows[0].name))
		}
	}
}

// gateSpelling is any gate the version takes.
func (r *resolved) gateSpelling() (spelling, bool) { return spell("set-member-local-addr", r.table) }

// unknownSetting is the rule for a name that is no canonical one.
func (r *resolved) unknownSetting(name string) string {
	if rows := byFlag[name]; rows != nil {
		return "is a former name: use " + rows[0].name
	}
	if rows := byGate[name]; rows != nil {
		return "is a gate's name: use " + rows[0].name
	}
	return fmt.Sprintf("no etcd from %s to %s has such a setting: if this one does, put it into Unknown", oldest, newest)
}

// canonical is the canonical name of a flag, whichever of its names it is.
func canonical(flag string) string {
	if rows := byFlag[flag]; rows != nil {
		return rows[0].name
	}
	return flag
}

func settingField(name string) string { return fmt.Sprintf("Settings[%q]", name) }

// fieldName is where a setting is said in a Spec.
func fieldName(name string) string {
	if f := fieldOf(name); f != nil {
		return f.path
	}
	return settingField(name)
}

func flagName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && name[0] != '-'
}

// gateValue is one gate of --feature-gates.
type gateValue struct{ name, value string }

// parseGates reads "A=true,B=false" as etcd's pkg/featuregate does, but refuses
// a gate that is given two values.
func parseGates(text string) ([]gateValue, error) {
	var gates []gateValue
	for _, pair := range strings.Split(text, ",") {
		if pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		normal, err := normalBool(strings.TrimSpace(value))
		if !ok || err != nil || name == "" || plainText(name) != nil {
			return nil, fmt.Errorf("must be gates as Name=true or Name=false between commas, not %q%s", text, unexpanded(text))
		}
		i := slices.IndexFunc(gates, func(g gateValue) bool { return g.name == name })
		switch {
		case i < 0:
			gates = append(gates, gateValue{name, normal})
		case gates[i].value != normal:
			return nil, fmt.Errorf("must not have gate %s twice", name)
		}
	}
	return gates, nil
}
