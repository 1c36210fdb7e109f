package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A unitWord is one word of a line in a systemd unit.
type unitWord struct {
	text    string
	quoted  bool // some of it was in quotes
	literal bool // a lone backslash-semicolon, which stands for itself
}

// withoutSpecifiers undoes %%; any other % stands for what only systemd knows.
func (w unitWord) withoutSpecifiers() (string, error) {
	rest := strings.ReplaceAll(w.text, "%%", "")
	if i := strings.IndexByte(rest, '%'); i >= 0 && i+1 < len(rest) {
		return "", fmt.Errorf("has %s, which only systemd can look up", rest[i:i+2])
	}
	return strings.ReplaceAll(w.text, "%%", "%"), nil
}

// unitWords takes a line apart as systemd does (its extract-word.c): words between
// space, quotes around a word or a part of it, and C's escapes, in quotes and
// outside.
func unitWords(line string) ([]unitWord, error) {
	var words []unitWord
	for line = strings.TrimLeft(line, " \t"); line != ""; line = strings.TrimLeft(line, " \t") {
		if line == `\;` || strings.HasPrefix(line, `\; `) {
			words, line = append(words, unitWord{text: ";", literal: true}), line[2:]
			continue
		}
		w, rest, err := unitWordOf(line)
		if err != nil {
			return nil, err
		}
		words, line = append(words, w), rest
	}
	return words, nil
}

func unitWordOf(line string) (w unitWord, rest string, err error) {
	var b strings.Builder
	var quote byte
	for line != "" {
		c := line[0]
		switch {
		case c == '\\':
			n, err := unitEscape(line, &b)
			if err != nil {
				return w, "", err
			}
			line = line[n:]
			continue
		case quote == 0 && (c == '"' || c == '\''):
			quote, w.quoted = c, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == ' ' || c == '\t'):
			w.text = b.String()
			return w, line, nil
		default:
			b.WriteByte(c)
		}
		line = line[1:]
	}
	if quote != 0 {
		return w, "", errors.New("has a quote that does not end")
	}
	w.text = b.String()
	return w, "", nil
}

// simpleEscapes are systemd's, of one letter.
var simpleEscapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '"': '"', '\'': '\'', 's': ' ',
}

// unitEscape writes what an escape stands for, and returns its length. What is
// none keeps its backslash.
func unitEscape(text string, b *strings.Builder) (int, error) {
	if len(text) < 2 {
		return 0, errors.New("ends in a backslash")
	}
	if c, ok := simpleEscapes[text[1]]; ok {
		b.WriteByte(c)
		return 2, nil
	}
	for _, e := range []struct {
		letter          string
		digits, base, n int
	}{{`\x`, 2, 16, 8}, {`\u`, 4, 16, 32}, {`\U`, 8, 16, 32}, {`\`, 3, 8, 8}} {
		at := len(e.letter)
		if !strings.HasPrefix(text, e.letter) || len(text) < at+e.digits {
			continue
		}
		n, err := strconv.ParseUint(text[at:at+e.digits], e.base, e.n)
		if err != nil || n == 0 {
			continue
		}
		if e.n == 8 {
			b.WriteByte(byte(n))
		} else {
			b.Write(utf8.AppendRune(nil, rune(n)))
		}
		return at + e.digits, nil
	}
	b.WriteByte('\\')
	return 1, nil
}
