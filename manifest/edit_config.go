package manifest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etcdjoin/etcdjoin/version"
)

// A fileEdit changes keys of a config file.
type fileEdit struct {
	yamlEdit
	scan    *fileScan
	want    map[string]string
	touched map[string]bool     // keys
	taken   map[*yaml.Node]bool // values that are taken out
}

func openFile(data []byte) (*fileEdit, error) {
	scan, err := scanFile(data)
	if err != nil {
		return nil, err
	}
	return &fileEdit{yamlEdit: yamlEdit{yamlDoc: scan.yamlDoc}, scan: scan, want: wanted(scan.found()), touched: map[string]bool{}, taken: map[*yaml.Node]bool{}}, nil
}

func (e *fileEdit) settings() []found        { return e.scan.found() }
func (e *fileEdit) version() version.Version { return version.Version{} }
func (e *fileEdit) spell(name string, v version.Version) (spelling, bool) {
	return spellInFile(name, v)
}

// scalarText is a value as YAML, and whether the text is a string.
func scalarText(k valueKind, value string) (text string, isString bool) {
	v := fileValue(k, value)
	if s, ok := v.(string); ok {
		return s, true
	}
	return yamlScalar(v), false
}

func (e *fileEdit) replace(i int, value string) error {
	k := e.scan.keys[i]
	if k.kind() == list && (k.key == nil || k.node.Kind != yaml.SequenceNode || len(k.node.Content) == 0) {
		return e.rewrite(k, spelling{key: k.name, kind: list}, value)
	}
	e.note(k.name, value)
	if k.kind() == list {
		return e.editList(k.node, splitList(value), k.label)
	}
	return e.setValue(k, k.kind(), value)
}

func (e *fileEdit) note(key, value string) {
	e.want[key] = value
	e.touched[key] = true
}

// setValue gives a key's scalar another text.
func (e *fileEdit) setValue(k keyUse, kind valueKind, value string) error {
	text, isString := scalarText(kind, value)
	if k.key == nil {
		return fault(k.line, "%s comes from elsewhere in the file: edit it by hand", k.label)
	}
	if k.node.Kind == yaml.ScalarNode && k.node.Value == "" && k.node.Style == 0 {
		return e.fillEmpty(k, text, isString)
	}
	if isString {
		return e.setScalar(k.node, text, k.label)
	}

	if _, err := e.own(k.node, k.label); err != nil {
		return err
	}
	start, end, ok := e.scalarSpan(k.node)
	if !ok {
		return fault(k.line, "%s cannot be edited: edit it by hand", k.label)
	}
	e.splice(start, end, text)
	return nil
}

// fillEmpty writes a value behind a key that has none.
func (e *fileEdit) fillEmpty(k keyUse, text string, isString bool) error {
	inFlow, err := e.own(k.key, k.label)
	if err != nil {
		return err
	}
	_, end, ok := e.scalarSpan(k.key)
	if !ok || end >= len(e.data) || e.data[end] != ':' || k.node.Anchor != "" {
		return fault(k.line, "%s cannot be edited: edit it by hand", k.label)
	}
	if isString && (e.isJSON || !plainSafe(text, inFlow)) {
		text = doubleQuoted(text)
	}
	e.splice(end+1, end+1, " "+text)
	return nil
}

// rename writes another key, in place where it stays in its block.
func (e *fileEdit) rename(i int, to spelling, value string) error {
	k := e.scan.keys[i]
	block, name := cutBlock(to.key)
	if oldBlock, _ := cutBlock(k.name); oldBlock != block || k.key == nil {
		return e.rewrite(k, to, value)
	}
	delete(e.want, k.name)
	e.touched[k.name] = true
	e.note(to.key, value)
	if err := e.setScalar(k.key, name, k.label); err != nil {
		return err
	}
	if value == k.value && to.kind == k.kind() {
		return nil
	}
	return e.setValue(k, to.kind, value)
}

// rewrite takes a key out and puts another in.
func (e *fileEdit) rewrite(k keyUse, to spelling, value string) error {
	if err := e.take(k); err != nil {
		return err
	}
	return e.insert(to, value)
}

func (e *fileEdit) remove(i int) error { return e.take(e.scan.keys[i]) }

func (e *fileEdit) take(k keyUse) error {
	delete(e.want, k.name)
	e.touched[k.name] = true
	at := slices.Index(k.parent.Content, k.key)
	if k.key == nil || at < 0 {
		return fault(k.line, "%s comes from elsewhere in the file: edit it by hand", k.label)
	}
	e.taken[k.node] = true
	return e.removeItems(k.parent, at, at+1, 2, k.label)
}

// cutBlock is the block and the key in it; "" is the top level.
func cutBlock(key string) (block, name string) {
	i := strings.LastIndexByte(key, '.')
	return key[:max(i, 0)], key[i+1:]
}

// insert puts a key behind the last one before it in the alphabet.
func (e *fileEdit) insert(s spelling, value string) error {
	e.note(s.key, value)
	block, name := cutBlock(s.key)
	parent := followed(e.root)
	for _, part := range strings.FieldsFunc(block, func(r rune) bool { return r == '.' }) {
		_, next := entry(parent, part)
		if followed(next) == nil || len(followed(next).Content) == 0 {
			return e.insertBlock(s, value)
		}
		parent = followed(next)
	}
	after := e.valueBefore(parent, name)
	if after == nil {
		return fault(parent.Line, "key %s has no neighbour to stand behind: edit it by hand", s.key)
	}
	return e.insertAfter(parent, after, func(inFlow bool) string {
		return keyText(name, s.kind, value, inFlow)
	}, false, "key "+s.key)
}

// insertBlock writes a block that is not there.
func (e *fileEdit) insertBlock(s spelling, value string) error {
	block, name := cutBlock(s.key)
	root := followed(e.root)
	if strings.Contains(block, ".") || child(root, block) != nil || root.Style&yaml.FlowStyle != 0 {
		return fault(root.Line, "key %s has no block to stand in: edit it by hand", s.key)
	}
	e.touched[block] = true
	after := e.valueBefore(root, block)
	if after == nil {
		return fault(root.Line, "key %s has no neighbour to stand behind: edit it by hand", s.key)
	}
	return e.insertAfter(root, after, func(bool) string {
		return block + ":" + e.newline() + "  " + keyText(name, s.kind, value, false)
	}, false, "key "+s.key)
}

// valueBefore is the value of the last key before a name in the alphabet, or of
// the last key; never one that goes.
func (e *fileEdit) valueBefore(parent *yaml.Node, name string) *yaml.Node {
	var best, last *yaml.Node
	bestName := ""
	for i := 0; i+1 < len(parent.Content); i += 2 {
		key, value := parent.Content[i], parent.Content[i+1]
		if e.losing(value) || e.nodeEnd(value) < 0 {
			continue
		}
		last = value
		if key.Value < name && key.Value >= bestName {
			best, bestName = value, key.Value
		}
	}
	if best == nil {
		return last
	}
	return best
}

// losing reports whether a value, or something in it, is taken out: then its end
// is no place to stand behind.
func (e *fileEdit) losing(value *yaml.Node) bool {
	return e.taken[value] || slices.ContainsFunc(value.Content, e.losing)
}

// keyText is a key and its value on one line.
func keyText(name string, k valueKind, value string, inFlow bool) string {
	if k == list {
		words := splitList(value)
		for i, w := range words {
			words[i] = doubleQuoted(w)
		}
		return name + ": [" + strings.Join(words, ", ") + "]"
	}
	text, isString := scalarText(k, value)
	if isString && (inFlow || !plainSafe(text, false)) {
		text = doubleQuoted(text) // within brackets always: the file may be JSON
	}
	if inFlow {
		name = doubleQuoted(name)
	}
	return name + ": " + text
}

// result looks at the changed file.
func (e *fileEdit) result() ([]byte, error) {
	out, err := e.output()
	if err != nil {
		return nil, err
	}
	again, err := openFile(out)
	if err != nil {
		return nil, fault(asSource(err).Line, "cannot be edited safely: the result %s", asSource(err).Rule)
	}
	if err := checkResult(again.root, again.root, nil, e.want, again.want); err != nil {
		return nil, err
	}
	if !slices.Equal(e.untouched(), again.untouchedBy(e.touched)) {
		return nil, fault(0, "cannot be edited safely: more would change than should")
	}
	return out, nil
}

func (e *fileEdit) untouched() []string { return e.untouchedBy(e.touched) }

// untouchedBy is every key and value of the file but those that were touched.
func (e *fileEdit) untouchedBy(touched map[string]bool) []string {
	var all []string
	var walk func(n *yaml.Node, prefix string)
	walk = func(n *yaml.Node, prefix string) {
		for i, c := range n.Content {
			path := prefix
			if n.Kind == yaml.MappingNode && i%2 == 1 {
				path += "." + n.Content[i-1].Value
			}
			if touched[strings.TrimPrefix(path, ".")] && path != prefix {
				continue
			}
			if c.Tag == "!!null" {
				continue // what a block becomes when its last key goes
			}
			if c.Kind == yaml.ScalarNode && (n.Kind != yaml.MappingNode || i%2 == 1) || c.Kind == yaml.AliasNode {
				all = append(all, path+" "+c.Tag+" "+c.Value)
			}
			walk(c, path)
		}
	}
	walk(e.root, "")
	slices.Sort(all)
	return all
}
