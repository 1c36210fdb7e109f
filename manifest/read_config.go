package manifest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
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
	if err := r.place(f.found()); err != nil {
		return Reading{}, err
	}
	for _, k := range f.loose {
		f.placeLoose(&r, k)
	}
	for _, doc := range f.more {
		r.unplaced(doc.Line, "a further document", "is not read by etcd, which takes the first")
	}
	return r, nil
}

// placeLoose keeps a key nobody knows, if it is one flag's: etcd ignores it
// silently, or knows better than we do.
func (f *fileScan) placeLoose(r *Reading, k keyUse) {
	n := followed(k.node)
	if k.parent == followed(f.root) && n.Kind == yaml.ScalarNode && flagName(k.name) && plainText(n.Value) == nil &&
		byFlag[k.name] == nil && byName[k.name] == nil && !slices.Contains(notSettings, k.name) {
		r.setUnknown(k.name, n.Value)
		return
	}
	r.unplaced(k.line, k.name, "is no setting known here")
}

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
	k := keyUse{found: found{rows: byKey[name], name: name, label: "key " + name, line: key.Line}, key: key, node: node, parent: parent}
	switch {
	case blocks[name]:
		if value.Kind != yaml.MappingNode && value.Tag != "!!null" {
			return fault(key.Line, "key %s must be a mapping, not %s", name, describe(value))
		}
		return f.walk(value, name+".")
	case k.rows == nil && name != featureGates:
		f.loose = append(f.loose, k)
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

// merged notes keys that come from elsewhere in the file: they are settings, but
// no byte here is theirs alone.
func (f *fileScan) merged(n *yaml.Node, prefix string) {
	for _, source := range mergeSources(n) {
		for i := 0; source != nil && source.Kind == yaml.MappingNode && i+1 < len(source.Content); i += 2 {
			name := prefix + source.Content[i].Value
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
func (k keyUse) text(n *yaml.Node) (string, error) {
	if n.Tag == "!!null" {
		return "", nil
	}
	want := k.kind()
	if want == list {
		return k.listText(n)
	}
	if n.Kind != yaml.ScalarNode {
		return "", fault(k.line, "%s must be a single value, not %s", k.label, describe(n))
	}
	switch {
	case want == duration:
		return k.durationText(n)
	case want == boolean:
		return k.boolText(n)
	case (want == number || want == signed) && n.Tag != "!!int":
		return "", fault(k.line, "%s must be a whole number without quotes: etcd exits", k.label)
	}
	return k.stringText(n)
}

// boolText also takes the words of YAML 1.1, which etcd's reader speaks.
func (k keyUse) boolText(n *yaml.Node) (string, error) {
	if v, ok := bool11(n); ok {
		return v, nil
	}
	return "", fault(k.line, "%s must be true or false without quotes: etcd exits", k.label)
}

// stringText is a text; etcd's reader turns whole numbers into one.
func (k keyUse) stringText(n *yaml.Node) (string, error) {
	_, isBool := bool11(n)
	_, decimal := strconv.ParseInt(n.Value, 10, 64)
	if isBool || n.Tag != "!!str" && (n.Tag != "!!int" || decimal != nil || n.Value[0] == '0' && n.Value != "0") {
		return "", fault(k.line, "%s must have quotes around %s, which reads as another type", k.label, n.Value)
	}
	return n.Value, nil
}

// bool11 is a plain scalar that YAML 1.1 takes for a truth value.
func bool11(n *yaml.Node) (string, bool) {
	if n.Style != 0 {
		return "", false
	}
	switch strings.ToLower(n.Value) {
	case "true", "yes", "on":
		return "true", true
	case "false", "no", "off":
		return "false", true
	}
	return "", false
}

func (k keyUse) durationText(n *yaml.Node) (string, error) {
	ns, err := strconv.ParseInt(n.Value, 0, 64)
	if err != nil || n.Tag != "!!int" {
		return "", fault(k.line, "%s must be whole nanoseconds in a config file, as 5000000000 for 5s: etcd exits", k.label)
	}
	return shortDuration(time.Duration(ns)), nil
}

func (k keyUse) listText(n *yaml.Node) (string, error) {
	if n.Kind != yaml.SequenceNode {
		return "", fault(k.line, "%s must be a list, not %s: etcd exits", k.label, describe(n))
	}
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
