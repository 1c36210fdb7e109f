package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A yamlMap is a mapping in the order in which it is written. Values are
// yamlMap, yamlSeq, string, rawScalar, int or bool. We write YAML ourselves: the bytes then
// change only when we change them, not with a library.
type yamlMap []yamlField

type yamlField struct {
	key   string
	value any
}

type yamlSeq []any

// with adds a field, unless its value is empty.
func (m yamlMap) with(key string, value any) yamlMap {
	if emptyYAML(value) {
		return m
	}
	return append(m, yamlField{key, value})
}

func emptyYAML(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case yamlMap:
		return len(v) == 0
	case yamlSeq:
		return len(v) == 0
	}
	return false
}

// get is the value of a key, nil if there is none.
func (m yamlMap) get(key string) any {
	for _, f := range m {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// bytes is the mapping as a YAML document, laid out as Kubernetes' own tools do.
func (m yamlMap) bytes() []byte {
	var b strings.Builder
	writeMap(&b, m, 0)
	return []byte(b.String())
}

func writeMap(b *strings.Builder, m yamlMap, depth int) {
	for i, f := range m {
		if i > 0 {
			b.WriteString(strings.Repeat("  ", depth))
		}
		b.WriteString(yamlScalar(f.key) + ":")
		writeBelow(b, f.value, depth)
	}
}

// writeBelow writes a value behind its key, or on the lines below.
func writeBelow(b *strings.Builder, value any, depth int) {
	switch v := value.(type) {
	case yamlMap:
		b.WriteString("\n" + strings.Repeat("  ", depth+1))
		writeMap(b, v, depth+1)
	case yamlSeq:
		b.WriteString("\n")
		for _, item := range v {
			b.WriteString(strings.Repeat("  ", depth) + "-")
			writeItem(b, item, depth)
		}
	default:
		b.WriteString(" " + yamlScalar(v) + "\n")
	}
}

func writeItem(b *strings.Builder, item any, depth int) {
	if m, ok := item.(yamlMap); ok {
		b.WriteString(" ")
		writeMap(b, m, depth+1)
		return
	}
	b.WriteString(" " + yamlScalar(item) + "\n")
}

func yamlScalar(value any) string {
	switch v := value.(type) {
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	case rawScalar:
		return string(v)
	case string:
		if plainSafe(v, false) {
			return v
		}
		return doubleQuoted(v)
	}
	panic(fmt.Sprintf("manifest: no YAML for %T", value))
}

// plainNumberLike are an IPv4 address and a Kubernetes quantity: they begin like
// numbers, but no YAML takes them for one.
var plainNumberLike = regexp.MustCompile(`^([0-9]+(\.[0-9]+){3}|[0-9]+(m|Ki|Mi|Gi|Ti))$`)

// plainSafe reports whether a text stays itself, and stays a string, without
// quotes, in YAML 1.1 and 1.2. It errs towards quotes.
func plainSafe(v string, inFlow bool) bool {
	if plainNumberLike.MatchString(v) {
		return true
	}
	if v == "" || !startsPlain(v) || strings.HasSuffix(v, ":") {
		return false
	}
	allowed := "./_:=@+-%()$~,?&"
	if inFlow {
		allowed = "./_=@+-%$~"
	}
	for _, c := range []byte(v) {
		if !alphanumeric(c) && strings.IndexByte(allowed, c) < 0 {
			return false
		}
	}
	switch strings.ToLower(v) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return true
}

// startsPlain: a letter, a slash, or the two dashes of a flag. No number, date
// or other word with a meaning in YAML begins so, but for those of plainSafe.
func startsPlain(v string) bool {
	if flag, ok := strings.CutPrefix(v, "--"); ok {
		return flag != "" && alphanumeric(flag[0])
	}
	return v[0] == '/' || alphanumeric(v[0]) && (v[0] < '0' || v[0] > '9')
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// doubleQuoted is a YAML double-quoted scalar, which a JSON string is too.
func doubleQuoted(v string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range v {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case unprintable(r) || r == utf8.RuneError || r == '\u00a0':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
