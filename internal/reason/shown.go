package reason

import (
	"regexp"
	"strings"
)

// userInfo is who a URL names before its host.
var userInfo = regexp.MustCompile(`//[^\s"]*@`)

// Redacted is a text as anybody may see it: on one line, and without the users and
// passwords of URLs, which servers list and dialers quote.
func Shown(text string) string {
	return userInfo.ReplaceAllString(strings.ReplaceAll(text, "\n", "; "), "//xxxxx@")
}

// Discreet is err with a text that anybody may see; nil for nil.
func Discreet(err error) error {
	if err == nil {
		return nil
	}
	return &discreet{err}
}

type discreet struct{ err error }

func (d *discreet) Error() string { return Shown(d.err.Error()) }
func (d *discreet) Unwrap() error { return d.err }
