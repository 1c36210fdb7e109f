package learner_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is written in words about what the scripts show: this file is behind
// script_test.go, so that -update takes its lines from what it has just rewritten.

// declared are the names in a file that begin so, of variables or constants, with
// their values where those are strings.
func declared(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	names := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if !strings.HasPrefix(name.Name, prefix) || !name.IsExported() || i >= len(spec.Values) {
				continue
			}
			names[name.Name] = ""
			if text, ok := spec.Values[i].(*ast.BasicLit); ok {
				names[name.Name], err = strconv.Unquote(text.Value)
				require.NoError(t, err)
			}
		}
		return true
	})
	require.NotEmpty(t, names)
	return names
}

// reasonNames are the names of all reasons of our own.
func reasonNames() (names []string) {
	for name := range reasons {
		if strings.HasPrefix(name, "Err") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// outcomes are what all scripts came to.
func outcomes(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	all := map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		_, all[strings.TrimSuffix(filepath.Base(file), ".txt")], _ = strings.Cut(string(raw), "----\n")
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(raw)
}

func TestEveryReasonIsInAScript(t *testing.T) {
	var all strings.Builder
	for _, outcome := range outcomes(t) {
		all.WriteString(outcome)
	}
	for _, name := range reasonNames() {
		assert.Regexp(t, `(?m)^.*= error .* is .*\b`+name+`\b`, all.String())
	}
}

func TestEveryEventIsInAScriptAndDocumented(t *testing.T) {
	var all strings.Builder
	for _, outcome := range outcomes(t) {
		all.WriteString(outcome)
	}
	kinds := declared(t, "../member/event.go", "")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(read(t, "../docs/events.md"), -1)
	documented := map[string]string{}
	for _, row := range rows {
		documented[row[2]] = row[1]
	}
	assert.Equal(t, kinds, documented)
	for _, kind := range kinds {
		assert.Regexp(t, `(?m)^ +[0-9.]+s  `+kind+`(:|$)`, all.String())
	}
}

// The runbook has an entry for each reason, and each shows a line that a script came
// to. -update rewrites those lines.
func TestTheRunbookIsCompleteAndReal(t *testing.T) {
	const file = "../docs/runbook.md"
	entry := regexp.MustCompile("(?s)\n### ([^\n]*)\n(.*?)\\[`[^\n]*/testdata/([a-z0-9.-]+)\\.txt\\)[^\n]*\n\n```text\n(.*?)\n```\n")
	text, seen := read(t, file), map[string]string{}
	all := outcomes(t)
	rewritten := entry.ReplaceAllStringFunc(text, func(match string) string {
		parts := entry.FindStringSubmatch(match)
		for _, name := range regexp.MustCompile(`\bErr[A-Za-z]+`).FindAllString(parts[1], -1) {
			seen[name] = parts[3]
		}
		line := errorIn(all[parts[3]], parts[1])
		assert.NotEmpty(t, line, "%s does not come to %s", parts[3], parts[1])
		return strings.Replace(match, "```text\n"+parts[4]+"\n```", "```text\n"+line+"\n```", 1)
	})
	assert.Equal(t, reasonNames(), sorted(seen))
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(rewritten), 0o600))
		return
	}
	assert.Equal(t, rewritten, text, "a line of the runbook is not real")
}

// The runbook begins with the table of reasons, as it stands in code.
func TestTheRunbookBeginsWithTheTable(t *testing.T) {
	const file = "../docs/runbook.md"
	var table strings.Builder
	table.WriteString("| word | retry | meaning | what to do |\n|---|---|---|---|\n")
	for _, row := range reason.All() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", row.Word, row.Retry, row.Err, row.Hint)
	}
	between := regexp.MustCompile(`(?s)(<!-- reasons: [^\n]*-->\n).*(<!-- /reasons -->)`)
	text := read(t, file)
	rewritten := between.ReplaceAllString(text, "${1}"+table.String()+"${2}")
	require.Contains(t, rewritten, table.String())
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(rewritten), 0o600))
		return
	}
	assert.Equal(t, rewritten, text)
}

// errorIn is the first error for a reason that an outcome has, as it reads.
func errorIn(outcome, heading string) string {
	name := regexp.MustCompile("^`\\*?([^`]+)`").FindStringSubmatch(heading)
	if name == nil {
		return ""
	}
	failed := ""
	for line := range strings.Lines(outcome) {
		line = strings.TrimSpace(line)
		if _, text, ok := strings.Cut(line, "s  failed: "); ok {
			failed = text
		}
		is := regexp.MustCompile(`= error at step "[^"]*", changed [a-z]*, is ([A-Za-z. ]*)(: (.*))?$`).FindStringSubmatch(line)
		if is == nil || !strings.Contains(" "+is[1]+" ", " "+name[1]+" ") {
			continue
		}
		if is[3] != "" {
			return is[3]
		}
		return failed
	}
	return ""
}
