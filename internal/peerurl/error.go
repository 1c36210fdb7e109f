package peerurl

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Rule is what a peer URL must keep to. It reads on from "peer URL".
type Rule string

// The rules, those of [Parse] first, then [ParseList]'s and [Check]'s.
const (
	RuleEmpty       Rule = "must not be empty"
	RuleSpace       Rule = "must not have space around it"
	RuleComma       Rule = "must not contain a comma, which would end it in etcd's flags"
	RuleSyntax      Rule = "must be a URL"
	RuleScheme      Rule = "scheme must be http, https, unix or unixs"
	RuleUser        Rule = "must not name a user"
	RuleHost        Rule = "host must be a name or an address"
	RulePort        Rule = "port must be given"
	RulePath        Rule = "must not have a path"
	RuleQuery       Rule = "must not have a query"
	RuleFragment    Rule = "must not have a fragment"
	RuleTwice       Rule = "must not be listed twice"
	RuleUnspecified Rule = "host must be one address, for the others dial it"
	RuleTaken       Rule = "must not be another member's host and port"
	RuleLoopback    Rule = "must be reachable by members on other machines"
)

// Error says which rule a peer URL breaks.
type Error struct {
	URL    string // without a user's name and password
	Rule   Rule
	Detail string // more about it, perhaps empty
}

func (e *Error) Error() string {
	text := fmt.Sprintf("peer URL %q %s", e.URL, e.Rule)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// refuse names the URL and the rule. What is wrong with a URL that may hold a
// password may be a part of that.
func refuse(raw string, rule Rule, detail string) *Error {
	if strings.Contains(raw, "@") {
		detail = ""
	}
	return &Error{URL: Redact(raw), Rule: rule, Detail: detail}
}

// syntax is net/url's error without the URL, which may hold a password.
func syntax(raw string, err error) *Error {
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return refuse(raw, RuleSyntax, err.Error())
}

// Redact hides what stands before an "@" of a URL, or of what should be one, and
// what stands behind a "?" or "#": a password, or a token.
func Redact(raw string) string {
	if at := strings.LastIndexByte(raw, '@'); at >= 0 {
		start := 0
		if i := strings.Index(raw[:at], "//"); i >= 0 {
			start = i + len("//")
		}
		raw = raw[:start] + "xxxxx" + raw[at:]
	}
	if i := strings.IndexAny(raw, "?#"); i >= 0 {
		raw = raw[:i+1] + "xxxxx"
	}
	return raw
}
