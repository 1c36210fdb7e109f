package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// A yamlDoc is a YAML file with what is needed to change single bytes of it: a
// round trip through the library would reindent it and drop its blank lines.
type yamlDoc struct {
	data  []byte
	root  *yaml.Node // of the first document: the kubelet and etcd read no other
	more  []*yaml.Node
	lines []int               // where each line starts
	used  map[*yaml.Node]bool // anchored nodes that an alias repeats

	isJSON bool // and stays it
}

// parseYAML reads a file. Errors are [*SourceError] and name the line.
func parseYAML(data []byte) (*yamlDoc, error) {
	if !utf8.Valid(data) {
		return nil, fault(0, "is not UTF-8 text")
	}
	docs, err := loadAll(data)
	if err != nil {
		return nil, yamlFault(data, err)
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 {
		return nil, fault(0, "has no YAML document")
	}
	d := &yamlDoc{isJSON: json.Valid(data), data: data, root: docs[0].Content[0], lines: lineStarts(data), used: map[*yaml.Node]bool{}}
	for _, doc := range docs[1:] {
		d.more = append(d.more, doc.Content...)
	}
	if err := d.checkTree(d.root); err != nil {
		return nil, err
	}
	return d, nil
}

func loadAll(data []byte) ([]*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var docs []*yaml.Node
	for {
		doc := new(yaml.Node)
		err := loader.Load(doc)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
}

// yamlFault is the library's error as ours. A template that nobody filled in is
// rarely YAML.
func yamlFault(data []byte, err error) error {
	if at := templates.FindIndex(data); at != nil {
		return fault(1+bytes.Count(data[:at[0]], []byte("\n")), "%s", template(string(data[at[0]:at[1]])))
	}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		f := fault(load.Mark.Line, "is not YAML: %s", load.Message)
		if strings.Contains(load.Message, "cannot start any token") {
			f.Rule += " (a tab must not indent)"
		}
		return f
	}
	return fault(0, "is not YAML: %v", err)
}

// checkTree refuses a key that comes twice in one mapping, of which readers take
// the one or the other, and notes which anchors are used.
func (d *yamlDoc) checkTree(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		d.used[n.Alias] = true
		return nil
	}
	if n.Kind == yaml.ScalarNode && as11(n).kind == never11 {
		return fault(n.Line, "has %q, which becomes no JSON: etcd and the kubelet refuse the file", n.Value)
	}
	if n.Kind == yaml.MappingNode {
		if err := checkKeys(n); err != nil {
			return err
		}
	}
	for _, child := range n.Content {
		if err := d.checkTree(child); err != nil {
			return err
		}
	}
	return nil
}

func checkKeys(n *yaml.Node) error {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.MappingNode {
			return fault(key.Line, "has {{ }}, or another mapping for a key, which no reader takes: if it is a template, render it first")
		}
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			continue
		}
		if line, twice := seen[key.Value]; twice {
			return fault(key.Line, "has key %q twice in one mapping, first in line %d", key.Value, line)
		}
		seen[key.Value] = key.Line
	}
	return nil
}

// lineStarts counts lines as the library does: its line breaks are those of
// YAML 1.1, and a byte order mark is no column.
func lineStarts(data []byte) []int {
	starts := []int{len(data) - len(bytes.TrimPrefix(data, []byte("\ufeff")))}
	for i := 0; i < len(data); {
		width := breakWidth(data[i:])
		if width == 0 {
			i++
			continue
		}
		i += width
		starts = append(starts, i)
	}
	return starts
}

var lineBreaks = []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"}

// breakWidth is how many bytes of a line break the text begins with.
func breakWidth(text []byte) int {
	if c := text[0]; c != '\r' && c != '\n' && c != 0xc2 && c != 0xe2 {
		return 0
	}
	for _, b := range lineBreaks {
		if bytes.HasPrefix(text, []byte(b)) {
			return len(b)
		}
	}
	return 0
}

// offset is where a node starts, -1 if it cannot be found. Columns count runes.
func (d *yamlDoc) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(d.lines) {
		return -1
	}
	at := d.lines[n.Line-1]
	for col := 1; col < n.Column; col++ {
		_, width := utf8.DecodeRune(d.data[at:])
		if width == 0 {
			return -1
		}
		at += width
	}
	return at
}

// lineEnd is where the line that holds an offset ends, before its break.
func (d *yamlDoc) lineEnd(at int) int {
	for at < len(d.data) && breakWidth(d.data[at:]) == 0 {
		at++
	}
	return at
}

// lineStart is where the line that holds an offset starts.
func (d *yamlDoc) lineStart(at int) int {
	start := 0
	for _, s := range d.lines {
		if s > at {
			break
		}
		start = s
	}
	return start
}

// newline is the line break that the file uses.
func (d *yamlDoc) newline() string {
	if i := bytes.IndexByte(d.data, '\n'); i > 0 && d.data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// scalarSpan is where a scalar's text is, quotes included, tag and anchor not.
// It is not ok where a scalar spans lines or is a block: such are not edited.
func (d *yamlDoc) scalarSpan(n *yaml.Node) (start, end int, ok bool) {
	start = d.offset(n)
	if start < 0 {
		return 0, 0, false
	}
	if n.Kind == yaml.AliasNode {
		end = start + len("*"+n.Value)
		return start, end, end <= len(d.data) && string(d.data[start:end]) == "*"+n.Value
	}
	start = d.skipProperties(start)
	end = scalarEnd(d.data, start, n)
	return start, end, end > start
}

// skipProperties steps over a tag and an anchor on the same line.
func (d *yamlDoc) skipProperties(at int) int {
	for at < len(d.data) && (d.data[at] == '&' || d.data[at] == '!') {
		for at < len(d.data) && breakWidth(d.data[at:]) == 0 && d.data[at] != ' ' && d.data[at] != '\t' {
			at++
		}
		for at < len(d.data) && (d.data[at] == ' ' || d.data[at] == '\t') {
			at++
		}
	}
	return at
}

// scalarEnd is where the scalar that starts at an offset ends, 0 if unknown.
func scalarEnd(data []byte, start int, n *yaml.Node) int {
	if start >= len(data) {
		return 0
	}
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0 && data[start] == '"':
		return quotedEnd(data, start, '\\')
	case n.Style&yaml.SingleQuotedStyle != 0 && data[start] == '\'':
		return quotedEnd(data, start, '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || n.Value == "":
		return 0
	case bytes.HasPrefix(data[start:], []byte(n.Value)):
		return start + len(n.Value)
	}
	return 0
}

// quotedEnd finds the closing quote. In double quotes a backslash escapes; in
// single quotes a quote does, by standing before another.
func quotedEnd(data []byte, start int, escape byte) int {
	quote := data[start]
	for i := start + 1; i < len(data); i++ {
		switch {
		case data[i] == escape && (escape == '\\' || i+1 < len(data) && data[i+1] == quote):
			i++
		case data[i] == quote:
			return i + 1
		}
	}
	return 0
}

// child is the value of a key, through aliases and merge keys as the readers of
// these files follow them; nil if there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	_, value := entry(n, key)
	return value
}

// entry is a mapping's key and value; the key is nil where the value comes from
// a mapping that was merged in.
func entry(n *yaml.Node, key string) (keyNode, value *yaml.Node) {
	return entryWithin(n, key, 10)
}

// entryWithin follows merges so many levels deep: an anchor may hold itself.
func entryWithin(n *yaml.Node, key string, depth int) (keyNode, value *yaml.Node) {
	n = followed(n)
	if depth == 0 || n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return k, n.Content[i+1]
		}
	}
	for _, source := range mergeSources(n) {
		if _, value := entryWithin(source, key, depth-1); value != nil {
			return nil, value
		}
	}
	return nil, nil
}

// mergeSources are the mappings behind "<<" keys, the first winning.
func mergeSources(n *yaml.Node) []*yaml.Node {
	var sources []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			continue
		}
		source := followed(n.Content[i+1])
		if source != nil && source.Kind == yaml.SequenceNode {
			sources = append(sources, source.Content...)
			continue
		}
		sources = append(sources, source)
	}
	return sources
}

// followed is what an alias stands for, or the node itself.
func followed(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.AliasNode && i < 10; i++ {
		n = n.Alias
	}
	return n
}

// items are a sequence's elements, nil for anything else.
func items(n *yaml.Node) []*yaml.Node {
	n = followed(n)
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// scalar is a node's text, "" for anything that is none, in any spelling.
func scalar(n *yaml.Node) string {
	n = followed(n)
	if n == nil || n.Kind != yaml.ScalarNode || isNull(n) {
		return ""
	}
	return n.Value
}
