package manifest

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A splice replaces bytes of a file.
type splice struct {
	from, to int
	text     string
}

// spliced applies splices, given in any order, that do not overlap.
func spliced(data []byte, splices []splice) []byte {
	sorted := slices.Clone(splices)
	slices.SortStableFunc(sorted, func(a, b splice) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, s := range sorted {
		out = append(out, data[at:max(at, s.from)]...)
		out = append(out, s.text...)
		at = max(at, s.to)
	}
	return append(out, data[at:]...)
}

// A yamlEdit collects changes to single nodes of a document. Each of its
// methods fails rather than touch a byte that it is not sure of.
type yamlEdit struct {
	*yamlDoc
	splices []splice
	gone    map[*yaml.Node][]bool // which elements within brackets go
}

func (e *yamlEdit) splice(from, to int, text string) {
	e.splices = append(e.splices, splice{from, to, text})
}

// ancestors are the nodes from the root to a node, itself included; nil if it
// is not in the document but for an alias.
func (d *yamlDoc) ancestors(n *yaml.Node) []*yaml.Node {
	var find func(at *yaml.Node) []*yaml.Node
	find = func(at *yaml.Node) []*yaml.Node {
		if at == n {
			return []*yaml.Node{at}
		}
		for _, c := range at.Content {
			if path := find(c); path != nil {
				return append(path, at)
			}
		}
		return nil
	}
	path := find(d.root)
	slices.Reverse(path)
	return path
}

// own fails where a node's bytes are also other nodes'. It reports whether the
// node stands within brackets.
func (d *yamlDoc) own(n *yaml.Node, label string) (inFlow bool, err error) {
	path := d.ancestors(n)
	if path == nil {
		return false, fault(n.Line, "%s comes from elsewhere in the file: edit it by hand", label)
	}
	for i, a := range path {
		if a.Anchor != "" && d.used[a] {
			return false, fault(a.Line, "%s is shared through the anchor &%s: edit it by hand", label, a.Anchor)
		}
		if i < len(path)-1 && a.Style&yaml.FlowStyle != 0 {
			inFlow = true
		}
	}
	return inFlow, nil
}

// setScalar gives a scalar another text, in the quotes it has where that works.
func (e *yamlEdit) setScalar(n *yaml.Node, text, label string) error {
	inFlow, err := e.own(n, label)
	if err != nil {
		return err
	}
	start, end, ok := e.scalarSpan(n)
	if !ok {
		return fault(n.Line, "%s spans several lines or is a block: edit it by hand", label)
	}
	e.splice(start, end, e.requote(string(e.data[start:end]), text, inFlow))
	return nil
}

// requote is a text in the quotes of an old one, in JSON always in quotes.
func (d *yamlDoc) requote(old, text string, inFlow bool) string {
	if d.isJSON {
		return doubleQuoted(text)
	}
	return requoted(old, text, inFlow)
}

// replaceField writes a key and its value anew.
func (e *yamlEdit) replaceField(parent *yaml.Node, key, text, label string) error {
	if _, err := e.own(parent, label); err != nil {
		return err
	}
	k, value := entry(parent, key)
	if k == nil || e.offset(k) < 0 || e.nodeEnd(value) < 0 {
		return fault(parent.Line, "%s cannot be edited: edit it by hand", label)
	}
	e.splice(e.offset(k), e.nodeEnd(value), text)
	return nil
}

// raw is a scalar as it is written; "-" where that is not sure.
func (d *yamlDoc) raw(n *yaml.Node) string {
	if start, end, ok := d.scalarSpan(n); ok {
		return string(d.data[start:end])
	}
	return "-"
}

// requoted is a text in the quotes of an old one.
func requoted(old, text string, inFlow bool) string {
	switch {
	case old[0] == '\'' && !strings.ContainsFunc(text, unprintable):
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case old[0] != '"' && old[0] != '\'' && plainSafe(text, inFlow):
		return text
	}
	return doubleQuoted(text)
}

// nodeEnd is where a node's text ends, -1 where that is not sure.
func (d *yamlDoc) nodeEnd(n *yaml.Node) int {
	switch {
	case n.Kind == yaml.AliasNode || n.Kind == yaml.ScalarNode && n.Value != "":
		if _, end, ok := d.scalarSpan(n); ok {
			return end
		}
		return -1
	case n.Kind == yaml.ScalarNode:
		return d.emptyEnd(n)
	case len(n.Content) == 0:
		return d.closing(d.skipProperties(max(d.offset(n), 0)) + 1)
	}
	end := d.nodeEnd(n.Content[len(n.Content)-1])
	if end >= 0 && n.Style&yaml.FlowStyle != 0 {
		return d.closing(end)
	}
	return end
}

// emptyEnd is the end of a scalar without text: quotes, or nothing at all.
func (d *yamlDoc) emptyEnd(n *yaml.Node) int {
	if start, end, ok := d.scalarSpan(n); ok && end > start {
		return end
	}
	if n.Style != 0 || n.Anchor != "" {
		return -1
	}
	return d.offset(n)
}

// closing is behind the bracket that closes a collection whose last element ends
// at an offset, -1 if there is something else.
func (d *yamlDoc) closing(at int) int {
	for at < len(d.data) {
		switch c := d.data[at]; {
		case c == ']' || c == '}':
			return at + 1
		case c == '#':
			at = d.lineEnd(at)
		case strings.IndexByte(" \t\r\n,", c) >= 0:
			at++
		default:
			return -1
		}
	}
	return -1
}

// leading is the text between the start of a node's line and the node.
func (d *yamlDoc) leading(n *yaml.Node) string {
	at := d.offset(n)
	if at < 0 {
		return "?"
	}
	return string(d.data[d.lineStart(at):at])
}

// removeLines takes whole lines out, from one offset's to another's.
func (e *yamlEdit) removeLines(from, to int) {
	start, end := e.lineStart(from), e.lineEnd(to)
	if end < len(e.data) {
		end += breakWidth(e.data[end:])
	} else if start > 0 {
		start -= len(e.newline()) // the last line without a break: take the one before
	}
	e.splice(start, end, "")
}

// removeItems takes elements first to last out of a collection; stride is 2 for
// a mapping's keys with their values.
func (e *yamlEdit) removeItems(parent *yaml.Node, first, last, stride int, label string) error {
	if _, err := e.own(parent, label); err != nil {
		return err
	}
	nodes := parent.Content
	start, end := e.offset(nodes[first]), e.nodeEnd(nodes[last])
	if start < 0 || end < 0 {
		return fault(nodes[first].Line, "%s cannot be taken out without touching more: edit it by hand", label)
	}
	if parent.Style&yaml.FlowStyle != 0 {
		e.markGone(parent, first, last)
		return nil
	}
	if !ownLine(e.leading(nodes[first]), stride == 1) {
		return fault(nodes[first].Line, "%s does not stand on a line of its own: edit it by hand", label)
	}
	e.removeLines(start, end)
	return nil
}

// markGone notes elements within brackets: which commas go with them depends on
// which others go.
func (e *yamlEdit) markGone(parent *yaml.Node, first, last int) {
	if e.gone == nil {
		e.gone = map[*yaml.Node][]bool{}
	}
	if e.gone[parent] == nil {
		e.gone[parent] = make([]bool, len(parent.Content))
	}
	for i := first; i <= last; i++ {
		e.gone[parent][i] = true
	}
}

// finish is all splices, those of markGone included.
func (e *yamlEdit) finish() []splice {
	for parent, gone := range e.gone {
		for i := 0; i < len(gone); i++ {
			j := i
			for j < len(gone) && gone[j] {
				j++
			}
			if j > i {
				e.removeRun(parent.Content, i, j)
			}
			i = j
		}
	}
	e.gone = nil
	return e.splices
}

// output is the changed document.
func (e *yamlEdit) output() ([]byte, error) {
	out := spliced(e.data, e.finish())
	if e.isJSON && !json.Valid(out) {
		return nil, fault(0, "cannot be edited safely: it would be JSON no more")
	}
	return out, nil
}

// removeRun takes elements i to j out: with their lines, and the comments there,
// if these are theirs alone; else with the comma before or behind them.
func (e *yamlEdit) removeRun(nodes []*yaml.Node, i, j int) {
	if e.removeOwnLines(nodes, i, j) {
		return
	}
	switch {
	case i > 0:
		e.splice(e.nodeEnd(nodes[i-1]), e.nodeEnd(nodes[j-1]), "")
	case j < len(nodes):
		e.splice(e.offset(nodes[0]), e.offset(nodes[j]), "")
	default:
		e.splice(e.offset(nodes[0]), e.nodeEnd(nodes[j-1]), "")
	}
}

func (e *yamlEdit) removeOwnLines(nodes []*yaml.Node, i, j int) bool {
	first, end := e.offset(nodes[i]), e.nodeEnd(nodes[j-1])
	if strings.TrimSpace(e.leading(nodes[i])) != "" {
		return false
	}
	rest := strings.TrimLeft(string(e.data[end:e.lineEnd(end)]), " \t")
	behind, comma := strings.CutPrefix(rest, ",")
	behind = strings.TrimLeft(behind, " \t")
	if behind != "" && behind[0] != '#' {
		return false
	}
	if j == len(nodes) && !comma && i > 0 && !e.removeComma(e.nodeEnd(nodes[i-1])) {
		return false
	}
	e.removeLines(first, end)
	return true
}

// removeComma takes out the comma behind an element that is the last one now.
func (e *yamlEdit) removeComma(at int) bool {
	for at < len(e.data) && (e.data[at] == ' ' || e.data[at] == '\t') {
		at++
	}
	if at >= len(e.data) || e.data[at] != ',' {
		return false
	}
	e.splice(at, at+1, "")
	return true
}

// ownLine reports whether an element begins its line.
func ownLine(leading string, item bool) bool {
	rest := strings.TrimLeft(leading, " ")
	if item {
		return strings.HasPrefix(rest, "-") && strings.TrimLeft(rest[1:], " \t") == ""
	}
	return rest == ""
}

// insertAfter puts an element behind another one of a collection, on a line of
// its own with the same indent, or behind a comma.
func (e *yamlEdit) insertAfter(parent, before *yaml.Node, text func(inFlow bool) string, item bool, label string) error {
	inFlow, err := e.own(parent, label)
	if err != nil {
		return err
	}
	inFlow = inFlow || parent.Style&yaml.FlowStyle != 0
	end := e.nodeEnd(before)
	if end < 0 {
		return fault(before.Line, "%s has no safe place behind this line: edit it by hand", label)
	}
	if inFlow {
		e.splice(end, end, ", "+text(true))
		return nil
	}
	leading := e.leading(before)
	if !item {
		leading = e.leading(keyBefore(parent, before))
	}
	if !ownLine(leading, item) {
		return fault(before.Line, "%s has no line of its own to stand behind: edit it by hand", label)
	}
	end = e.lineEnd(end)
	e.splice(end, end, e.newline()+leading+text(false))
	return nil
}

// keyBefore is the key of a mapping's value.
func keyBefore(parent, value *yaml.Node) *yaml.Node {
	return parent.Content[slices.Index(parent.Content, value)-1]
}

// sameBut reports whether two documents are equal, the nodes of skip in the
// first and what stands in their places apart.
func sameBut(a, b *yaml.Node, skip map[*yaml.Node]bool) bool {
	if skip[a] {
		return true
	}
	if a.Kind != b.Kind || a.Value != b.Value || a.Tag != b.Tag || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameBut(a.Content[i], b.Content[i], skip) {
			return false
		}
	}
	return true
}
