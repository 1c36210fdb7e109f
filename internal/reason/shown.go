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
