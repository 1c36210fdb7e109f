package manifest

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etcdjoin/etcdjoin/version"
)

// An envEdit changes lines of an environment file.
type envEdit struct {
	data    []byte
	all     []assignment // etcd's settings
	others  []assignment
	splices []splice
	want    map[string]string
	removed map[int]bool // settings
}

func openEnv(data []byte) (*envEdit, error) {
	all, err := scanEnv(data)
	if err != nil {
		return nil, err
	}
	e := &envEdit{data: data, removed: map[int]bool{}}
	for _, a := range all {
		if a.isSetting() {
			e.all = append(e.all, a)
			continue
		}
		e.others = append(e.others, a)
	}
	e.want = wanted(e.settings())
	return e, nil
}

func (e *envEdit) settings() []found        { return settingsOf(e.all) }
func (e *envEdit) version() version.Version { return version.Version{} }
func (e *envEdit) spell(name string, v version.Version) (spelling, bool) {
	return spell(name, v)
}

func (e *envEdit) replace(i int, value string) error {
	a := e.all[i]
	e.want[a.name] = value
	e.splices = append(e.splices, splice{a.from, a.end, requotedEnv(e.data[a.from:a.end], value)})
	return nil
}

// requotedEnv is a value in quotes if the old one has them.
func requotedEnv(old []byte, value string) string {
	switch {
	case bytes.HasPrefix(old, []byte(`'`)) && !strings.Contains(value, "'"):
		return "'" + value + "'"
	case bytes.HasPrefix(old, []byte(`"`)):
		return `"` + envEscape.Replace(value) + `"`
	}
	return envQuoted(value)
}

func (e *envEdit) rename(i int, to spelling, value string) error {
	a := e.all[i]
	delete(e.want, a.name)
	e.want[to.flag] = value
	e.splices = append(e.splices, splice{a.start, a.start + len(a.label), variable(to.flag)})
	if value != a.value {
		e.splices = append(e.splices, splice{a.from, a.end, requotedEnv(e.data[a.from:a.end], value)})
	}
	return nil
}

func (e *envEdit) remove(i int) error {
	a := e.all[i]
	delete(e.want, a.name)
	e.removed[i] = true
	start := bytes.LastIndexByte(e.data[:a.start], '\n') + 1
	end := len(e.data)
	if n := bytes.IndexByte(e.data[a.end:], '\n'); n >= 0 {
		end = a.end + n + 1
	}
	e.splices = append(e.splices, splice{start, end, ""})
	return nil
}

// insert puts a line behind the last one before it in the alphabet, or at the end.
func (e *envEdit) insert(s spelling, value string) error {
	e.want[s.flag] = value
	line := variable(s.flag) + "=" + envQuoted(value)
	at, name := len(e.data), ""
	for i, a := range e.all {
		if !e.removed[i] && a.label < variable(s.flag) && a.label >= name {
			at, name = a.end, a.label
		}
	}
	newline := "\n"
	if i := bytes.IndexByte(e.data, '\n'); i > 0 && e.data[i-1] == '\r' {
		newline = "\r\n"
	}
	switch {
	case name != "":
		line = newline + line
	case len(e.data) > 0 && e.data[len(e.data)-1] != '\n':
		line = newline + line
	default:
		line += newline
	}
	e.splices = append(e.splices, splice{at, at, line})
	return nil
}

// result looks at the changed file.
func (e *envEdit) result() ([]byte, error) {
	out := spliced(e.data, e.splices)
	again, err := openEnv(out)
	if err != nil {
		return nil, fault(asSource(err).Line, "cannot be edited safely: the result %s", asSource(err).Rule)
	}
	same := slices.EqualFunc(e.others, again.others, func(a, b assignment) bool {
		return a.label == b.label && a.value == b.value
	})
	if !same {
		return nil, fault(0, "cannot be edited safely: more would change than should")
	}
	return out, checkResult(emptyRoot, emptyRoot, nil, e.want, again.want)
}

// emptyRoot stands for the tree that an environment file does not have.
var emptyRoot = &yaml.Node{}
