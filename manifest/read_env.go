package manifest

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/etcdjoin/etcdjoin/version"
)

// notFlags are variables of etcd's that no flag has.
var notFlags = []string{"ETCD_UNSUPPORTED_ARCH", "ETCD_VERSION", "ETCD_CLIENT_DEBUG"}

func readEnvironment(data []byte) (Reading, error) {
	all, err := scanEnv(data)
	if err != nil {
		return Reading{}, err
	}
	for _, a := range all {
		if a.comment && a.isSetting() {
			return Reading{}, fault(a.line, "%s has a comment behind its value, which systemd takes for a part of it: a comment needs a line of its own", a.label)
		}
	}
	var r Reading
	if err := r.place(settingsOf(all), version.Version{}); err != nil {
		return Reading{}, err
	}
	for _, a := range all {
		if !a.isSetting() {
			r.unplaced(a.line, a.label, "is no setting of etcd's")
		}
	}
	return r, nil
}

// An assignment is one variable of an environment file and where it stands.
type assignment struct {
	found
	start, from, end int  // of the name, of the value as written, and its end
	comment          bool // behind the value, where it is a part of it
}

// isSetting: other variables than etcd's are the unit's own.
func (a assignment) isSetting() bool { return a.name != "" && !slices.Contains(notFlags, a.label) }

func settingsOf(all []assignment) []found {
	var settings []found
	for _, a := range all {
		if a.isSetting() {
			settings = append(settings, a.found)
		}
	}
	return settings
}

// scanEnv reads a file as systemd reads an EnvironmentFile= (its env-file.c).
// Errors are [*SourceError].
func scanEnv(data []byte) ([]assignment, error) {
	if !utf8.Valid(data) {
		return nil, fault(0, "is not UTF-8 text")
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, fault(1, "begins with a byte order mark, which systemd takes for part of the first name")
	}
	s := envScanner{data: data, line: 1}
	var all []assignment
	for s.next() {
		if s.comment() {
			if s.err != nil {
				return nil, s.err
			}
			continue
		}
		a, err := s.assignment()
		if err != nil {
			return nil, err
		}
		if a.label == "ETCD_CONFIG_FILE" {
			return nil, fault(a.line, "%s makes etcd ignore all variables: read that file instead", a.label)
		}
		all = append(all, a)
	}
	return all, checkTwice(labelled(all))
}

// labelled is every assignment by its variable, whoever reads it.
func labelled(all []assignment) []found {
	fs := make([]found, len(all))
	for i, a := range all {
		fs[i] = a.found
		if a.rows == nil {
			fs[i].name = a.label
		}
	}
	return fs
}

type envScanner struct {
	data []byte
	pos  int
	line int
	err  error
}

const envSpace = " \t\r\n"

// next steps over space to the next entry.
func (s *envScanner) next() bool {
	for s.pos < len(s.data) && strings.IndexByte(envSpace, s.data[s.pos]) >= 0 {
		s.step()
	}
	return s.pos < len(s.data)
}

// step is the next byte.
func (s *envScanner) step() byte {
	c := s.data[s.pos]
	s.pos++
	if c == '\n' {
		s.line++
	}
	return c
}

func (s *envScanner) atBreak() bool {
	return s.pos >= len(s.data) || s.data[s.pos] == '\n' || s.data[s.pos] == '\r'
}

// comment skips one. Some systemd versions continue a comment behind a
// backslash, some do not.
func (s *envScanner) comment() bool {
	if c := s.data[s.pos]; c != '#' && c != ';' {
		return false
	}
	var last byte
	for !s.atBreak() {
		last = s.step()
	}
	if last == '\\' {
		s.err = fault(s.line, "has a comment that ends in a backslash, behind which some systemd versions ignore the next line")
	}
	return true
}

func (s *envScanner) assignment() (assignment, error) {
	start, line := s.pos, s.line
	for !s.atBreak() && s.data[s.pos] != '=' {
		s.step()
	}
	name := strings.TrimRight(string(s.data[start:s.pos]), " \t")
	if s.atBreak() {
		return assignment{}, fault(line, "must be NAME=value")
	}
	if !envName.MatchString(name) {
		return assignment{}, fault(line, "has a name that is none: %q", name)
	}
	s.step()
	for !s.atBreak() && (s.data[s.pos] == ' ' || s.data[s.pos] == '\t') {
		s.step()
	}
	a := assignment{start: start, from: s.pos}
	value, comment, err := s.value(line)
	a.end, a.comment = s.pos, comment
	a.found = foundVariable(name, value, line)
	a.found.none = value == ""
	return a, err
}

// value reads up to the end of the line: quoted parts one after the other, and
// then a plain one, in which quotes stand for themselves and space at the end is
// dropped.
func (s *envScanner) value(line int) (text string, comment bool, err error) {
	var b strings.Builder
	from := s.pos
	plain, kept := false, 0 // kept is how much of b is not space at the end
	for !s.atBreak() {
		c := s.step()
		blank := c == ' ' || c == '\t'
		switch {
		case !plain && (c == '"' || c == '\''):
			if !s.quoted(c, &b) {
				return "", false, fault(line, "has a quote that does not end")
			}
			kept = b.Len()
		case c == '\\':
			s.escaped(&b)
			plain, kept = true, b.Len()
		case blank && !plain:
		case c == '#' && s.pos > from+1 && strings.IndexByte(" \t", s.data[s.pos-2]) >= 0:
			comment, plain = true, true
			b.WriteByte(c)
			kept = b.Len()
		default:
			b.WriteByte(c)
			plain = true
			if !blank {
				kept = b.Len()
			}
		}
	}
	return b.String()[:kept], comment, nil
}

// escaped takes the character behind a backslash; a line break is none.
func (s *envScanner) escaped(b *strings.Builder) {
	if s.pos >= len(s.data) {
		return
	}
	if c := s.step(); c != '\n' && c != '\r' {
		b.WriteByte(c)
	}
}

// quoted reads up to the closing quote, over lines too. Only in double quotes
// does a backslash mean anything, and only before what needs it.
func (s *envScanner) quoted(quote byte, b *strings.Builder) bool {
	for s.pos < len(s.data) {
		c := s.step()
		switch {
		case c == quote:
			return true
		case c == '\\' && quote == '"' && s.pos < len(s.data):
			if e := s.step(); strings.IndexByte("\"\\`$", e) >= 0 {
				b.WriteByte(e)
			} else if e != '\n' {
				b.Write([]byte{'\\', e})
			}
		default:
			b.WriteByte(c)
		}
	}
	return false
}
