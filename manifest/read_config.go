package manifest

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etcdjoin/etcdjoin/version"
)

// A fileScan is a config file with its settings found.
type fileScan struct {
	*yamlDoc
	keys  []keyUse
	loose []keyUse // what no setting here is told by
}

// keyUse is a setting in the config file.
type keyUse struct {
	found
	key, node *yaml.Node // key is nil where it was merged in
	parent    *yaml.Node
}

func readConfigFile(data []byte) (Reading, error) {
	f, err := scanFile(data)
	if err != nil {
		return Reading{}, err
	}
	var r Reading
	if err := r.place(f.found(), version.Version{}); err != nil {
		return Reading{}, err
	}
	for _, k := range f.loose {
		r.unplaced(k.line, k.name, "%s", looseKey(k.name))
	}
	for _, doc := range f.more {
		r.unplaced(doc.Line, "a further document", "is not read by etcd, which takes the first")
	}
	return r, nil
}

// looseKey is what to say of a key that etcd ignores, without a word; its value
// is not shown, for it may be anything. Many are a flag's name where the file has
// another, or another block.
func looseKey(name string) string {
	if _, only := withoutFlag[name]; only {
		return "has no flag at etcd, so that no other form can say it"
	}
	flag := name[strings.LastIndexByte(name, '.')+1:]
	for _, s := range byFlag[flag] {
		if s.key != "" && s.key != name {
			return "is no key of etcd's, which ignores it: it has " + s.key
		}
	}
	return "is no key known here: etcd ignores it"
}

// withoutFlag are keys that only the config file has.
var withoutFlag = map[string]valueKind{clientTLS + ".allowed-cn": list, clientTLS + ".skip-client-san-verification": boolean}

func (f *fileScan) found() []found {
	all := make([]found, len(f.keys))
	for i, k := range f.keys {
		all[i] = k.found
	}
	return all
}

// scanFile finds the settings of a config file. Errors are [*SourceError].
func scanFile(data []byte) (*fileScan, error) {
	doc, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	f := &fileScan{yamlDoc: doc}
	root := followed(doc.root)
	if root.Kind != yaml.MappingNode {
		return nil, fault(root.Line, "is not a config file but %s", describe(root))
	}
	if err := f.walk(root, ""); err != nil {
		return nil, err
	}
	return f, checkTwice(f.found())
}

// walk takes each key, and goes into the blocks that etcd has.
func (f *fileScan) walk(n *yaml.Node, prefix string) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, node := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			f.merged(n, prefix)
			continue
		}
		if err := f.take(n, key, node, prefix+key.Value); err != nil {
			return err
		}
	}
	return nil
}

func (f *fileScan) take(parent, key, node *yaml.Node, name string) error {
	value := followed(node)
	name = folded(name)
	k := keyUse{found: found{rows: byKey[name], name: name, label: "key " + name, line: key.Line}, key: key, node: node, parent: parent}
	switch {
	case blocks[name]:
		if value.Kind != yaml.MappingNode && !isNull(value) {
			return fault(key.Line, "key %s must be a mapping, not %s", name, describe(value))
		}
		return f.walk(value, name+".")
	case k.rows == nil && name != featureGates:
		f.loose = append(f.loose, k)
		if kind, only := withoutFlag[name]; only {
			k.rows = []spelling{{kind: kind}}
			_, err := k.text(value)
			return err
		}
		return nil
	}
	text, err := k.text(value)
	if err != nil {
		return err
	}
	k.value = text
	f.keys = append(f.keys, k)
	return nil
}

// folded is a key as etcd's reader finds it: JSON's, in any case.
func folded(name string) string {
	if lower := strings.ToLower(name); byKey[lower] != nil || blocks[lower] || lower == featureGates {
		return lower
	}
	return name
}

// merged notes keys that come from elsewhere in the file: they are settings, but
// no byte here is theirs alone.
func (f *fileScan) merged(n *yaml.Node, prefix string) {
	for _, source := range mergeSources(n) {
		for i := 0; source != nil && source.Kind == yaml.MappingNode && i+1 < len(source.Content); i += 2 {
			name := folded(prefix + source.Content[i].Value)
			if own, _ := entry(n, source.Content[i].Value); own != nil || f.has(name) {
				continue
			}
			k := keyUse{found: found{rows: byKey[name], name: name, label: "key " + name, line: source.Content[i].Line}, node: source.Content[i+1], parent: n}
			text, err := k.text(followed(k.node))
			if k.rows == nil || err != nil {
				f.loose = append(f.loose, k)
				continue
			}
			k.value = text
			f.keys = append(f.keys, k)
		}
	}
}

func (f *fileScan) has(name string) bool {
	for _, k := range f.keys {
		if k.name == name {
			return true
		}
	}
	return false
}

// blocks are the keys that hold further keys etcd knows.
var blocks = func() map[string]bool {
	all := map[string]bool{}
	for key := range byKey {
		for i := strings.LastIndexByte(key, '.'); i > 0; i = strings.LastIndexByte(key, '.') {
			key = key[:i]
			all[key] = true
		}
	}
	return all
}()

// text is a value as its flag would have it. The types are those etcd insists on.
func (k *keyUse) text(n *yaml.Node) (string, error) {
	s := as11(n)
	switch want := k.kind(); {
	case s.kind == null11 && strings.HasPrefix(k.name, "experimental-"):
		return "", fault(k.line, "%s must have a value: etcd 3.6 panics at an experimental one without", k.label)
	case s.kind == null11:
		k.none = true
		return "", nil
	case want == list:
		return k.listText(n)
	case n.Kind != yaml.ScalarNode:
		return "", fault(k.line, "%s must be a single value, not %s: etcd exits", k.label, describe(n))
	case want == duration:
		return k.durationText(s)
	case want == boolean && s.kind != bool11:
		return "", fault(k.line, "%s must be true or false without quotes: etcd exits", k.label)
	case want.isNumber() && s.kind != number11:
		return "", fault(k.line, "%s must be a whole number without quotes: etcd exits", k.label)
	case want == boolean || want.isNumber():
		return s.value, nil
	}
	k.none = n.Value == "" && k.kind() != text // no URLs
	return k.stringText(n)
}

func (k *keyUse) stringText(n *yaml.Node) (string, error) {
	s := as11(n)
	if s.kind != text11 {
		return "", fault(k.line, "%s must have quotes around %s, which reads as another type: etcd exits", k.label, n.Value)
	}
	return s.value, nil
}

func (k *keyUse) durationText(s scalar11) (string, error) {
	ns, err := strconv.ParseInt(s.value, 10, 64)
	if err != nil || s.kind != number11 {
		return "", fault(k.line, "%s must be whole nanoseconds in a config file, as 5000000000 for 5s: etcd exits", k.label)
	}
	return shortDuration(time.Duration(ns)), nil
}

func (k *keyUse) listText(n *yaml.Node) (string, error) {
	if n.Kind != yaml.SequenceNode {
		return "", fault(k.line, "%s must be a list, not %s: etcd exits", k.label, describe(n))
	}
	k.none = len(n.Content) == 0
	words := make([]string, len(n.Content))
	for i, item := range n.Content {
		var err error
		if words[i], err = k.stringText(followed(item)); err != nil {
			return "", err
		}
		if strings.Contains(words[i], ",") {
			return "", fault(item.Line, "%s must not have a comma in an entry: no flag could say it", k.label)
		}
	}
	return strings.Join(words, ","), nil
}
