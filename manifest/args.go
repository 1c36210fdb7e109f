package manifest

import (
	"maps"
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/version"
)

// A told is one setting in the words of one version: the flag and its value.
type told struct {
	spelling
	value string
}

// Args is what follows the program on etcd's command line: one --flag=value for
// each setting, sorted by flag.
func (s Spec) Args() ([]string, error) {
	r, faults := s.resolve()
	if err := faults.err(); err != nil {
		return nil, err
	}
	return r.args(), nil
}

func (r *resolved) args() []string {
	flags := r.flags()
	args := make([]string, 0, len(flags))
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		args = append(args, "--"+name+"="+flags[name])
	}
	return args
}

// flags is every setting by the flag of the version, gates gathered in one.
func (r *resolved) flags() map[string]string {
	flags := make(map[string]string)
	for name, value := range r.unknown {
		if name != featureGates {
			flags[name] = value
		}
	}
	var gates []string
	for _, t := range r.told(spell) {
		if t.gate != "" {
			gates = append(gates, t.gate+"="+t.value)
			continue
		}
		flags[t.flag] = t.value
	}
	if all := r.gates(gates); all != "" {
		flags[featureGates] = all
	}
	return flags
}

// told is every setting in the words that spell finds for it, sorted by name.
// What has none is left out; resolve has refused that for flags.
func (r *resolved) told(spell func(string, version.Version) (spelling, bool)) []told {
	var all []told
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if s, ok := spell(name, r.table); ok {
			all = append(all, told{s, r.values[name]})
		}
	}
	return all
}

// gates is the value of --feature-gates: the known ones, sorted, and the
// unknown ones as they were given.
func (r *resolved) gates(known []string) string {
	slices.Sort(known)
	if more := r.unknown[featureGates]; more != "" {
		known = append(known, more)
	}
	return strings.Join(known, ",")
}
