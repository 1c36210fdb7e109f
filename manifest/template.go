package manifest

import (
	"regexp"
	"strings"
)

// templates are what is left in a file that a program should have filled in.
var templates = regexp.MustCompile(`\{\{.*?\}\}|\{%.*?%\}|<%.*?%>`)

// template is the rule that a text of an unrendered template breaks, "" if it is
// none.
func template(text string) string {
	if found := templates.FindString(text); found != "" {
		return "has " + found + " in it, which a template's program should have filled in: render the template first"
	}
	return ""
}

// unexpanded explains a value at fault that a shell, or another program, should
// have filled in.
func unexpanded(value string) string {
	switch {
	case strings.Contains(value, "$("):
		return ": $( ) is for the kubelet to fill in, from the container's plain variables"
	case strings.Contains(value, "$"):
		return ": nobody fills in the $ here"
	}
	return ""
}
