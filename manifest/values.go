package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/etcdjoin/etcdjoin/internal/peerurl"
)

// normalValue is a value in the one way it is rendered, so that equal settings
// are equal texts: "5000ms" is "5s", "T" is "true". It accepts what etcd's flags
// accept; the error is the rule that is broken.
func normalValue(name string, k valueKind, v string) (string, error) {
	if err := plainText(v); err != nil {
		return "", err
	}
	if _, ok := chosen(name, v); !ok {
		return "", fmt.Errorf("must be one of %s, not %q", choiceList(name), v)
	}
	switch k {
	case number:
		return normalNumber(v, 64)
	case number32:
		return normalNumber(v, 32)
	case signed:
		return normalSigned(v)
	case boolean:
		return normalBool(v)
	case duration:
		return normalDuration(v)
	case urls:
		return normalURLs(v)
	case origins:
		if v == "*" {
			return v, nil
		}
		return normalURLs(v)
	case commas, list:
		return normalWords(v)
	}
	return v, nil
}

// plainText keeps out what one of the forms cannot carry: nothing (an empty
// variable is none for etcd), and characters that end a line.
func plainText(v string) error {
	switch {
	case v == "":
		return fmt.Errorf("must not be empty: etcd takes an empty variable for none")
	case !utf8.ValidString(v):
		return fmt.Errorf("must be UTF-8")
	case strings.ContainsFunc(v, unprintable):
		return fmt.Errorf("must not contain control characters or line breaks")
	case strings.TrimSpace(v) != v:
		return fmt.Errorf("must not have space around it")
	}
	return nil
}

// unprintable are control characters, the line and paragraph separators, which
// YAML 1.1 takes for line breaks, and the byte order mark.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffe' || r == '\uffff'
}

func normalNumber(v string, bits int) (string, error) {
	n, err := strconv.ParseUint(v, 0, bits)
	if err != nil {
		return "", fmt.Errorf("must be a whole number, not negative, of %d bits, not %q", bits, v)
	}
	return strconv.FormatUint(n, 10), nil
}

func normalSigned(v string) (string, error) {
	n, err := strconv.ParseInt(v, 0, 64)
	if err != nil {
		return "", fmt.Errorf("must be a whole number of 64 bits, not %q", v)
	}
	return strconv.FormatInt(n, 10), nil
}

func normalBool(v string) (string, error) {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return "", fmt.Errorf("must be true or false, not %q", v)
	}
	return strconv.FormatBool(b), nil
}

func normalDuration(v string) (string, error) {
	d, err := time.ParseDuration(v)
	if err != nil {
		return "", fmt.Errorf("must be a duration such as 5s, not %q", v)
	}
	return shortDuration(d), nil
}

// shortDuration is 5m instead of 5m0s, as people write it.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func normalURLs(v string) (string, error) {
	parts := splitList(v)
	for i, raw := range parts {
		if _, err := peerurl.Parse(raw); err != nil {
			return "", badURL(err)
		}
		if slices.Contains(parts[:i], raw) {
			return "", fmt.Errorf("must not list %s twice", raw)
		}
	}
	return strings.Join(parts, ","), nil
}

func normalWords(v string) (string, error) {
	parts := splitList(v)
	for i, word := range parts {
		if word == "" {
			return "", fmt.Errorf("must not have an empty entry")
		}
		if slices.Contains(parts[:i], word) {
			return "", fmt.Errorf("must not list %s twice", word)
		}
	}
	return strings.Join(parts, ","), nil
}

// badURL words a peer URL's fault for any URL.
func badURL(err error) error {
	var bad *peerurl.Error
	if !errors.As(err, &bad) {
		return err
	}
	if bad.Detail != "" {
		return fmt.Errorf("%q %s: %s", bad.URL, bad.Rule, bad.Detail)
	}
	return fmt.Errorf("%q %s", bad.URL, bad.Rule)
}

func choiceList(name string) string {
	texts := make([]string, len(choices[name]))
	for i, c := range choices[name] {
		texts[i] = c.value
	}
	return strings.Join(texts, ", ")
}
