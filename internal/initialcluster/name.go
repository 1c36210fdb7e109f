package initialcluster

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckName holds a member's name to what --initial-cluster can say: a comma ends
// a pair and "=" a name there. Space at its ends and control characters are
// refused too, for flags, environment files and manifests lose or break on them.
// The error is a [*Error].
func CheckName(name string) error {
	rule := ""
	switch {
	case name == "":
		rule = "must not be empty"
	case strings.ContainsAny(name, "=,"):
		rule = `must not contain "=" or ",", which etcd's --initial-cluster splits at`
	case strings.TrimSpace(name) != name:
		rule = "must not begin or end with space"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		rule = "must be text without control characters"
	default:
		return nil
	}
	return &Error{Field: "name", Value: name, Rule: rule}
}

// placeholder is a name for a member that has none it could be listed under. It
// is taken from the member's first URL, so that it is the same whenever the
// value is built and a reader knows who is meant, and numbered if that is taken.
// It is no hexadecimal number, so it cannot be mistaken for a member ID.
func placeholder(e Entry, taken map[string]bool) string {
	_, rest, _ := strings.Cut(e.PeerURLs[0], "://")
	base := "unnamed-" + strings.Map(plain, rest)
	name := base
	for n := 2; taken[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

// plain keeps what a host and port are made of and turns the rest into dashes.
func plain(r rune) rune {
	if r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '-'
}
