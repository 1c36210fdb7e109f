package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/manifest"
)

// releases are those of a plain run and, with the switch, all.
func releases(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, r := range kit.Releases {
		if kit.Plays(r.Name) {
			names = append(names, r.Name)
		}
	}
	if len(names) < len(kit.Releases) {
		t.Logf("%s only; %s=1 asks all", strings.Join(names, " and "), kit.AllVersions)
	}
	return names
}

// spellings are scalars, and what is none, as YAML 1.1 has them: each is given
// to each key.
var spellings = []string{
	`1`, `"1"`, `'1'`, `-1`, `+1`, `0x10`, `010`, `0o10`, `0b1`, `1_000`, `1e3`, `1.0`, `1.5`, `.5`, `1.`, `.inf`, `.NaN`, `18446744073709551615`,
	`9223372036854775808`, `1e30`, `12:30`, `2001-01-01`, `true`, `True`, `TRUE`, `tRUE`, `"true"`, `yes`, `y`, `Y`, `on`, `Off`, `no`, `N`, ``, `~`, `null`, `Null`,
	`NULL`, `""`, `a`, `"a"`, `5s`, `[a]`, `[1]`, `[true]`, `[~]`, `[]`, `["1", b]`, `{}`, `{a: b}`, `!!str 1`, `!!int "1"`, `!!float 1`, `!!bool "yes"`, `!own 1`,
	"|-\n  x", ">-\n  1", `http://127.0.0.1:1`,
}

// TestTypesAreThoseOfEtcdsReader gives each key of the config file each spelling.
func TestTypesAreThoseOfEtcdsReader(t *testing.T) {
	for _, release := range releases(t) {
		t.Run(release, func(t *testing.T) {
			etcd := newOwnReader(t, release)
			path, take := filepath.Join(t.TempDir(), "etcd.yaml"), kit.Sampled(t)
			for _, key := range registered(t, release, "key") {
				for _, value := range spellings {
					if !take() {
						continue
					}
					doc := under(key, value)
					require.NoError(t, os.WriteFile(path, []byte(doc), 0o600))
					theirs := etcd.ask(question{Args: []string{"--config-file=" + path}})
					_, err := manifest.Read(manifest.ConfigFile, "", []byte(doc))
					if strings.HasPrefix(release, "3.4.") && (otherIn34[value] || key == "log-level") {
						continue
					}
					if theirs.refused == "" && reasonToRefuse(err) == "" {
						assert.NoError(t, err, doc)
					}
					// etcd's other refusals are of values: [manifest.Spec] has those.
					if strings.Contains(theirs.refused, "JSON") || strings.Contains(theirs.refused, "panic") {
						assert.Error(t, err, "etcd: %s\n%s", theirs.refused, doc)
					}
				}
			}
		})
	}
}

// otherIn34 are numbers that the library of 3.4 takes for texts: a file does not
// tell whose it is, and all later ones take them for numbers. (And 3.4 panics at
// an empty log-level.)
var otherIn34 = map[string]bool{"1.": true, "1e3": true, "1e30": true}

// under is a document in which a key of a block, "a.b", has a value.
func under(key, value string) string {
	var b strings.Builder
	for i, part := range strings.Split(key, ".") {
		if i > 0 {
			b.WriteString("\n" + strings.Repeat("  ", i))
		}
		b.WriteString(part + ":")
	}
	indent := "\n" + strings.Repeat("  ", strings.Count(key, ".")+1)
	return b.String() + " " + strings.ReplaceAll(value, "\n", indent) + "\n"
}

// told are values of flags: each is given to each.
var told = []string{"", "-1", "010", "1.5", "4294967296", "yes", "5s", "a", "*", "http://127.0.0.1:1", "a,,b"}

// TestFlagsAreThoseOfEtcdsReader gives each flag each value, and an empty
// variable, too.
func TestFlagsAreThoseOfEtcdsReader(t *testing.T) {
	for _, release := range releases(t) {
		t.Run(release, func(t *testing.T) {
			etcd, take := newOwnReader(t, release), kit.Sampled(t)
			for _, flag := range registered(t, release, "flag") {
				variable := "ETCD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) + "="
				assert.Empty(t, etcd.ask(question{Env: []string{variable}}).refused, variable)
				_, err := manifest.Read(manifest.Environment, "", []byte(variable+"\n"))
				assert.NoError(t, err)
				for _, value := range told {
					if !take() {
						continue
					}
					arg := "--" + flag + "=" + value
					theirs := etcd.ask(question{Args: []string{arg}})
					_, err := manifest.ReadArgs([]string{arg})
					if theirs.refused == "" && reasonToRefuse(err) == "" {
						assert.NoError(t, err, arg)
					}
					if strings.Contains(theirs.refused, "invalid ") {
						assert.Error(t, err, "etcd: %s\n%s", theirs.refused, arg)
					}
				}
			}
		})
	}
}

// registered are the keys or flags of a release, as the tables' test has them.
func registered(t *testing.T, release, kind string) []string {
	t.Helper()
	list, err := os.ReadFile("../../../manifest/testdata/servers/" + release + ".txt")
	require.NoError(t, err)
	var names []string
	for line := range strings.Lines(string(list)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), kind+" "); ok {
			names = append(names, name)
		}
	}
	require.NotEmpty(t, names)
	return names
}
