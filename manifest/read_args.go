package manifest

import (
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/version"
)

// ReadArgs reads what follows the program on etcd's command line, as Go's flag
// package does: one dash or two, --a=b or --a b. Errors are [*SourceError], with
// the argument's number, from 1, as the line.
func ReadArgs(args []string) (Reading, error) {
	words := make([]word, len(args))
	for i, arg := range args {
		words[i] = word{arg, i + 1}
	}
	flags, err := parseFlags(words)
	if err != nil {
		return Reading{}, err
	}
	var r Reading
	if err := r.place(foundFlags(flags), version.Version{}); err != nil {
		return Reading{}, err
	}
	return r, nil
}

// A word is one argument and the line where it stands.
type word struct {
	text string
	line int
}

// A flagUse is one flag among the words: alone, as "--a=b", or with its value in
// the next word.
type flagUse struct {
	found
	at       int    // which word has the flag
	separate bool   // whether the next one has the value
	prefix   string // "--name=" as written, where the value follows
}

func foundFlags(flags []flagUse) []found {
	all := make([]found, len(flags))
	for i, f := range flags {
		all[i] = f.found
	}
	return all
}

// parseFlags takes the words as etcd would. What etcd would exit at is an error:
// a word that is no flag, a flag without its value.
func parseFlags(words []word) ([]flagUse, error) {
	var flags []flagUse
	for i := 0; i < len(words); i++ {
		f, err := parseFlag(words, i)
		if err != nil {
			return nil, err
		}
		if slices.Contains(notSettings, f.name) {
			return nil, notASetting(f)
		}
		if f.separate {
			i++
		}
		flags = append(flags, f)
	}
	return flags, nil
}

func notASetting(f flagUse) error {
	if f.name == "config-file" {
		return fault(f.line, "%s makes etcd ignore all its other flags: read %s instead", f.label, f.value)
	}
	return fault(f.line, "%s makes etcd print and exit", f.label)
}

func parseFlag(words []word, i int) (flagUse, error) {
	w := words[i]
	name, dashes := cutDashes(w.text)
	if dashes == 0 || name == "" {
		return flagUse{}, fault(w.line, "%q is no flag: etcd exits", w.text)
	}
	name, value, joined := strings.Cut(name, "=")
	if name == "" || name[0] == '-' {
		return flagUse{}, fault(w.line, "%q is no flag: etcd exits", w.text)
	}
	if err := oneWord(name, value, w.line); err != nil {
		return flagUse{}, err
	}
	f := flagUse{
		found:  found{rows: byFlag[name], name: name, label: "--" + name, value: value, line: w.line},
		at:     i,
		prefix: w.text[:dashes+len(name)] + "=",
	}
	if joined {
		return f, nil
	}
	return f.withNext(words)
}

// oneWord refuses a word in which somebody has put more than a flag and its
// value.
func oneWord(name, value string, line int) error {
	if at := strings.IndexAny(name, " \t\n"); at > 0 {
		return fault(line, "--%s has its value in the same word, behind a space: etcd exits; it needs =, or a word of its own", name[:at])
	}
	if at := strings.Index(value, " --"); at >= 0 && flagName(value[at+3:min(at+4, len(value))]) {
		return fault(line, "--%s has a further flag in the same word, which etcd takes for a part of its value", name)
	}
	return nil
}

// withNext finds the value of a flag that has none in its own word.
func (f flagUse) withNext(words []word) (flagUse, error) {
	hasNext := f.at+1 < len(words)
	switch {
	case f.kind() == boolean:
		f.value = "true"
	case hasNext && (f.rows != nil || f.isGates() || !strings.HasPrefix(words[f.at+1].text, "-")):
		f.value, f.separate = words[f.at+1].text, true
	case f.rows != nil || f.isGates():
		return f, fault(f.line, "%s needs a value: etcd exits", f.label)
	default:
		f.value = "true" // nobody knows this one: etcd may take it for a switch
	}
	return f, nil
}

func cutDashes(text string) (rest string, dashes int) {
	for dashes < 2 && strings.HasPrefix(text, "-") {
		text = text[1:]
		dashes++
	}
	return text, dashes
}
