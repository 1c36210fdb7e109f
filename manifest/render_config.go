package manifest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/version"
)

// checkFile refuses what the config file cannot say: etcd ignores unknown keys
// without a word, so that a setting would be lost.
func (r *resolved) checkFile(faults *Faults) {
	if r.table.IsZero() {
		return
	}
	if _, ok := spellInFile(validity, r.table); !ok && r.hasSetting(validity) && (r.ClientTLS.Auto || r.PeerTLS.Auto) {
		faults.addErr(ErrUnsupported, fieldName("auto-tls"), "the config file of etcd %s has no %s, and without it etcd exits: use flags or variables", r.Version, validity)
	}
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if _, ok := spellInFile(name, r.table); !ok {
			if _, known := spell(name, r.table); known {
				faults.addErr(ErrUnsupported, fieldName(name), "the config file of etcd %s has no %s: use flags or variables", r.Version, name)
			}
		}
	}
}

// validity is 1 year by default, but none in the config file of 3.5.0.
const validity = "self-signed-cert-validity"

// hasSetting reports whether the version can be told a setting at all.
func (r *resolved) hasSetting(name string) bool {
	_, ok := spell(name, r.table)
	return ok
}

// fileTree is the config file, keys sorted. Beside a config file etcd ignores
// all flags and variables.
func (r *resolved) fileTree() yamlMap {
	values := make(map[string]any)
	for name, value := range r.unknown {
		if name != featureGates {
			values[name] = untyped(value)
		}
	}
	var gates []string
	for _, t := range r.told(spellInFile) {
		if t.gate != "" {
			gates = append(gates, t.gate+"="+t.value)
			continue
		}
		values[t.key] = fileValue(t.kind, t.value)
	}
	if all := r.gates(gates); all != "" {
		values[featureGates] = all
	}
	if name := onlyFlagDefault; onByFlag.Has(r.table) && values[name] == nil {
		values[name] = true
	}
	return nest(values)
}

// onlyFlagDefault is on by default, but for the config file of 3.4, which has to
// say so.
const onlyFlagDefault = "enable-grpc-gateway"

var onByFlag = version.MustRange("3.4")

// nest turns keys such as "a.b" into blocks.
func nest(values map[string]any) yamlMap {
	var m yamlMap
	blocks := make(map[string]map[string]any)
	for key, value := range values {
		if block, rest, ok := strings.Cut(key, "."); ok {
			if blocks[block] == nil {
				blocks[block] = make(map[string]any)
			}
			blocks[block][rest] = value
			continue
		}
		m = append(m, yamlField{key, value})
	}
	for block, inner := range blocks {
		m = append(m, yamlField{block, nest(inner)})
	}
	slices.SortFunc(m, func(a, b yamlField) int { return strings.Compare(a.key, b.key) })
	return m
}

// fileValue is a value in the type its key has: embed.Config's and configJSON's.
func fileValue(k valueKind, value string) any {
	switch k {
	case number, number32, signed:
		return rawScalar(value)
	case boolean:
		return value == "true"
	case duration:
		d, _ := time.ParseDuration(value)
		return rawScalar(strconv.FormatInt(int64(d), 10))
	case list:
		var seq yamlSeq
		for _, word := range splitList(value) {
			seq = append(seq, word)
		}
		return seq
	}
	return value
}

// rawScalar is written as it is: a number of any size.
type rawScalar string

// untyped is the value of a key nobody here knows: a number or truth value where
// it reads as one, else a string.
func untyped(value string) any {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && strconv.FormatInt(n, 10) == value {
		return rawScalar(value)
	}
	if value == "true" || value == "false" {
		return value == "true"
	}
	return value
}
