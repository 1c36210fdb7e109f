package manifest

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// etcd and the kubelet read YAML 1.1, both by the same library (goyaml.v2 behind
// sigs.k8s.io/yaml), and hand it on as JSON. What a scalar is there decides
// whether they take it: "on" is true, 010 is eight, 1e3 is a number that a whole
// one may be, and a number is no text.

// A type11 is what a scalar is to such a reader.
type type11 int

const (
	text11 type11 = iota
	null11
	bool11
	number11 // value is as JSON has it
	never11  // what JSON cannot say: infinity, a tag that does not fit
)

// words11 are the plain words with a meaning; true, false and null are also
// spelled thus, in small letters, in capitals or with one.
var words11 = func() map[string]scalar11 {
	words := map[string]scalar11{"": {null11, ""}, "~": {null11, ""}}
	for word, s := range map[string]scalar11{
		"y": {bool11, "true"}, "yes": {bool11, "true"}, "true": {bool11, "true"}, "on": {bool11, "true"},
		"n": {bool11, "false"}, "no": {bool11, "false"}, "false": {bool11, "false"}, "off": {bool11, "false"},
		"null": {null11, ""},
	} {
		words[word], words[strings.ToUpper(word)], words[strings.ToUpper(word[:1])+word[1:]] = s, s, s
	}
	for _, word := range []string{".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF"} {
		words[word] = scalar11{kind: never11}
		if !strings.EqualFold(word, ".nan") {
			words["+"+word], words["-"+word] = words[word], words[word]
		}
	}
	return words
}()

// A scalar11 is a scalar as such a reader has it.
type scalar11 struct {
	kind  type11
	value string
}

// as11 is what a scalar node is; never11 for anything else.
func as11(n *yaml.Node) scalar11 {
	n = followed(n)
	if n == nil || n.Kind != yaml.ScalarNode {
		return scalar11{kind: never11}
	}
	tagged := n.Style&yaml.TaggedStyle != 0
	switch {
	case tagged && n.Tag == "!!binary":
		return scalar11{kind: never11}
	case tagged && n.Tag != "!!int" && n.Tag != "!!float" && n.Tag != "!!bool" && n.Tag != "!!null":
		return scalar11{text11, n.Value}
	case !tagged && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return scalar11{text11, n.Value}
	}
	s := plain11(n.Value)
	want := map[string]type11{"!!int": number11, "!!float": number11, "!!bool": bool11, "!!null": null11}
	if tagged && want[n.Tag] != s.kind {
		return scalar11{kind: never11}
	}
	return s
}

var (
	float11 = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	date11  = regexp.MustCompile(`^[0-9]{4}-`)
)

// plain11 is a scalar without quotes.
func plain11(text string) scalar11 {
	if s, ok := words11[text]; ok {
		return s
	}
	if strings.Trim(text[:1], "0123456789+-.") != "" || date11.MatchString(text) {
		return scalar11{text11, text}
	}
	return number11Of(text)
}

// number11Of is a number in any spelling, or the text it is otherwise. There are
// no base 60 numbers: that library never had them.
func number11Of(text string) scalar11 {
	plain := strings.ReplaceAll(text, "_", "")
	if text[0] != '.' {
		if n, err := strconv.ParseInt(plain, 0, 64); err == nil {
			return scalar11{number11, strconv.FormatInt(n, 10)}
		}
		if n, err := strconv.ParseUint(plain, 0, 64); err == nil {
			return scalar11{number11, strconv.FormatUint(n, 10)}
		}
	} else {
		plain = text
	}
	if !float11.MatchString(plain) {
		return scalar11{text11, text}
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		return scalar11{text11, text}
	}
	return scalar11{number11, jsonFloat(f)}
}

// jsonFloat is a number as encoding/json writes it: whole ones below 10^21
// without an exponent, so that they fit where a whole number is wanted.
func jsonFloat(f float64) string {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// isNull reports whether a node says nothing, in any spelling.
func isNull(n *yaml.Node) bool { return as11(n).kind == null11 }

// isTrue reports whether a node is true, in any spelling.
func isTrue(n *yaml.Node) bool { return as11(n) == scalar11{bool11, "true"} }
