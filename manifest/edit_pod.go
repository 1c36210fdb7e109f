package manifest

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etcdjoin/etcdjoin/version"
)

// A podEdit changes the flags of a static pod.
type podEdit struct {
	yamlEdit
	scan    *podScan
	flags   []flagUse // those the kubelet expands, too
	env     []envUse
	want    map[string]string // what the result must read as
	touched map[*yaml.Node]bool
	removed map[int]bool // words
}

func openPod(data []byte) (*podEdit, error) {
	scan, err := scanPod(data)
	if err != nil {
		return nil, err
	}
	e := &podEdit{yamlEdit: yamlEdit{yamlDoc: scan.yamlDoc}, scan: scan, flags: slices.Clone(scan.flags), env: slices.Clone(scan.env)}
	for _, f := range scan.loose {
		if f.at >= 0 {
			e.flags = append(e.flags, f)
			continue
		}
		e.env = append(e.env, envUse{found: f.found})
	}
	slices.SortStableFunc(e.flags, func(a, b flagUse) int { return a.at - b.at })
	e.want = wanted(e.settings())
	e.touched, e.removed = map[*yaml.Node]bool{}, map[int]bool{}
	for _, key := range []string{"command", "args", "env"} {
		if list := followed(child(scan.container, key)); list != nil {
			e.touched[list] = true
		}
	}
	return e, nil
}

// wanted is settings by the name that the file has for them.
func wanted(all []found) map[string]string {
	m := map[string]string{}
	for _, f := range all {
		m[f.name] = f.value
	}
	return m
}

func (e *podEdit) settings() []found {
	all := foundFlags(e.flags)
	for _, v := range e.env {
		all = append(all, v.found)
	}
	return all
}

func (e *podEdit) version() version.Version {
	return e.scan.version()
}

func (e *podEdit) spell(name string, v version.Version) (spelling, bool) { return spell(name, v) }

func (e *podEdit) replace(i int, value string) error {
	if i >= len(e.flags) {
		return e.replaceVariable(e.env[i-len(e.flags)], value)
	}
	f := e.flags[i]
	e.want[f.name] = value
	return e.write(f, f.prefix, value)
}

// write gives a flag a value, and perhaps another name in front of it.
func (e *podEdit) write(f flagUse, prefix, value string) error {
	value = escapeExpansion(value)
	if !f.separate {
		return e.setScalar(e.scan.nodes[f.at], prefix+value, f.label)
	}
	if prefix != f.prefix {
		if err := e.setScalar(e.scan.nodes[f.at], strings.TrimSuffix(prefix, "="), f.label); err != nil {
			return err
		}
	}
	if f.value == value {
		return nil
	}
	return e.setScalar(e.scan.nodes[f.at+1], value, f.label)
}

func (e *podEdit) replaceVariable(v envUse, value string) error {
	if v.node == nil {
		return fault(v.line, "%s is not a plain value: edit it by hand", v.label)
	}
	e.want[v.name] = value
	return e.setScalar(v.node, escapeExpansion(value), v.label)
}

func (e *podEdit) rename(i int, to spelling, value string) error {
	if i >= len(e.flags) {
		return e.renameVariable(e.env[i-len(e.flags)], to, value)
	}
	f := e.flags[i]
	delete(e.want, f.name)
	e.want[to.flag] = value
	dashes := f.prefix[:strings.Index(f.prefix, f.name)]
	return e.write(f, dashes+to.flag+"=", value)
}

func (e *podEdit) renameVariable(v envUse, to spelling, value string) error {
	if v.node == nil {
		return fault(v.line, "%s is not a plain value: edit it by hand", v.label)
	}
	delete(e.want, v.name)
	if err := e.setScalar(e.variableName(v), variable(to.flag), v.label); err != nil {
		return err
	}
	e.want[to.flag] = value
	if value == v.value {
		return nil
	}
	return e.setScalar(v.node, escapeExpansion(value), v.label)
}

// variableItem is the entry of a variable in the container's env, and its place.
func (e *podEdit) variableItem(v envUse) (list *yaml.Node, at int) {
	list = followed(child(e.scan.container, "env"))
	return list, slices.IndexFunc(list.Content, func(item *yaml.Node) bool { return scalar(child(item, "name")) == v.label })
}

func (e *podEdit) variableName(v envUse) *yaml.Node {
	list, at := e.variableItem(v)
	return child(list.Content[at], "name")
}

func (e *podEdit) remove(i int) error {
	if i >= len(e.flags) {
		v := e.env[i-len(e.flags)]
		delete(e.want, v.name)
		list, at := e.variableItem(v)
		return e.removeItems(list, at, at, 1, v.label)
	}
	f := e.flags[i]
	delete(e.want, f.name)
	list, at := e.listOf(f.at)
	last := at
	e.removed[f.at] = true
	if f.separate {
		last++
		e.removed[f.at+1] = true
	}
	if last >= len(list.Content) {
		return fault(f.line, "%s has its value in another list: edit it by hand", f.label)
	}
	return e.removeItems(list, at, last, 1, f.label)
}

// listOf is the list that a word stands in, command or args, and its place.
func (e *podEdit) listOf(word int) (list *yaml.Node, at int) {
	command := followed(child(e.scan.container, "command"))
	if n := len(items(command)); word >= n {
		return followed(child(e.scan.container, "args")), word - n
	}
	return command, word
}

// insert puts a flag behind the last one before it in the alphabet, or at the end.
func (e *podEdit) insert(s spelling, value string) error {
	e.want[s.flag] = value
	if len(e.scan.nodes) == 0 {
		return e.insertVariable(s, value)
	}
	list, at := e.listOf(e.wordBefore(s.flag))
	arg := "--" + s.flag + "=" + escapeExpansion(value)
	write := func(inFlow bool) string { return e.requote(e.raw(list.Content[at]), arg, inFlow) }
	return e.insertAfter(list, list.Content[at], write, true, "--"+s.flag)
}

// insertVariable puts a variable behind the last one before it in the alphabet,
// where etcd is told nothing else but variables.
func (e *podEdit) insertVariable(s spelling, value string) error {
	list := followed(child(e.scan.container, "env"))
	name, before := variable(s.flag), list.Content[len(list.Content)-1]
	last := ""
	for _, item := range list.Content {
		if n := scalar(child(item, "name")); n < name && n >= last && strings.HasPrefix(n, "ETCD_") {
			before, last = item, n
		}
	}
	text := escapeExpansion(value)
	write := func(inFlow bool) string {
		if inFlow || e.isJSON {
			return `{"name": ` + doubleQuoted(name) + `, "value": ` + doubleQuoted(text) + "}"
		}
		return "name: " + name + e.newline() + strings.Repeat(" ", len(e.leading(before))) + "value: " + yamlScalar(text)
	}
	return e.insertAfter(list, before, write, true, name)
}

// value is what a setting is in the file, "" if it is not there.
func (e *podEdit) value(name string) string {
	for _, f := range e.settings() {
		if f.canonical() == name && !f.none {
			return f.value
		}
	}
	return ""
}

// wordBefore is the word behind which a flag belongs: never one that goes.
func (e *podEdit) wordBefore(flag string) int {
	word, name := -1, ""
	for _, f := range e.flags {
		if !e.removed[f.at] && f.name < flag && f.name >= name {
			word, name = f.at, f.name
			if f.separate {
				word++
			}
		}
	}
	for last := len(e.scan.words) - 1; word < 0 && last > 0; last-- {
		if !e.removed[last] {
			word = last
		}
	}
	return max(word, 0)
}

// setImage names another image.
func (e *podEdit) setImage(image string) error {
	n := child(e.scan.container, "image")
	if n == nil {
		return fault(e.scan.container.Line, "has no image to change")
	}
	if scalar(n) == image {
		return nil
	}
	e.touched[n] = true
	return e.setScalar(n, image, "image")
}

// follow changes what follows the URLs that will be set: the annotation, and the
// probes, each if it follows the old URL.
func (e *podEdit) follow(values map[string]string) error {
	if err := e.followPaths(values); err != nil {
		return err
	}
	if urls, ok := values["advertise-client-urls"]; ok {
		n := child(child(child(e.root, "metadata"), "annotations"), clientURLsKey)
		if n != nil && scalar(n) == e.value("advertise-client-urls") {
			if err := e.followTo(n, urls); err != nil {
				return err
			}
		}
	}
	before, after := splitList(e.value("listen-metrics-urls")), splitList(values["listen-metrics-urls"])
	if firstURL(before) == nil || firstURL(after) == nil || before[0] == after[0] {
		return nil
	}
	return e.followProbes(before[0], after[0])
}

func (e *podEdit) followTo(n *yaml.Node, text string) error {
	if scalar(n) == text {
		return nil
	}
	e.touched[n] = true
	return e.setScalar(n, text, "what follows the URL")
}

func (e *podEdit) followProbes(before, after string) error {
	from, to := targetAt(firstURL([]string{before}), "/"), targetAt(firstURL([]string{after}), "/")
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		get := child(child(e.scan.container, probe), "httpGet")
		if get == nil || scalar(child(get, "host")) != from.host {
			continue
		}
		if err := e.followProbe(get, from, to); err != nil {
			return err
		}
	}
	for _, port := range items(child(e.scan.container, "ports")) {
		n := child(port, "containerPort")
		if scalar(child(port, "name")) == probePort && scalar(n) == strconv.Itoa(from.port) {
			if err := e.followNumber(n, to.port); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *podEdit) followProbe(get *yaml.Node, from, to target) error {
	if err := e.followTo(child(get, "host"), to.host); err != nil {
		return err
	}
	if n := child(get, "scheme"); n != nil && scalar(n) == from.scheme {
		if err := e.followTo(n, to.scheme); err != nil {
			return err
		}
	}
	if n := child(get, "port"); n != nil && scalar(n) == strconv.Itoa(from.port) {
		return e.followNumber(n, to.port)
	}
	return nil
}

// followNumber writes a number, which must not get quotes.
func (e *podEdit) followNumber(n *yaml.Node, port int) error {
	if _, err := e.own(n, "port"); err != nil {
		return err
	}
	start, end, ok := e.scalarSpan(n)
	if !ok {
		return fault(n.Line, "port cannot be edited: edit it by hand")
	}
	e.touched[n] = true
	e.splice(start, end, strconv.Itoa(port))
	return nil
}

// result looks at the changed file: it must read as intended, and differ nowhere
// else.
func (e *podEdit) result() ([]byte, error) {
	out, err := e.output()
	if err != nil {
		return nil, err
	}
	again, err := openPod(out)
	if err != nil {
		return nil, fault(asSource(err).Line, "cannot be edited safely: the result %s", asSource(err).Rule)
	}
	return out, checkResult(e.root, again.root, e.touched, e.want, again.want)
}

// checkResult is the last look: what it finds is a fault of ours, or a file laid
// out in a way that nobody thought of. The file is not changed then.
func checkResult(before, after *yaml.Node, touched map[*yaml.Node]bool, want, got map[string]string) error {
	for name, value := range want {
		if got[name] != value {
			return fault(0, "cannot be edited safely: %s would not read back as it is to be", name)
		}
	}
	if len(got) != len(want) || !sameBut(before, after, touched) {
		return fault(0, "cannot be edited safely: more would change than should")
	}
	return nil
}
