package manifest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/version"
)

// pod is a pod around the lines of a container, which start in line 5.
func pod(container string) string {
	return "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n" + container
}

// etcdPod is a pod that starts etcd with flags, the first in line 8.
func etcdPod(flags ...string) string {
	return pod("  - name: etcd\n    command:\n    - etcd\n    - " + strings.Join(flags, "\n    - ") + "\n")
}

func TestReadRefuses(t *testing.T) {
	const second = "  - {name: b, command: [/usr/bin/etcd]}\n"
	for name, tc := range map[string]struct {
		form Form
		in   string
		line int
		rule string // a part of it
	}{
		"no form":                        {"", "", 0, "form must be"},
		"empty pod":                      {StaticPod, "", 0, "no YAML document"},
		"only a comment":                 {StaticPod, "# x\n", 0, "no YAML document"},
		"an empty first document":        {StaticPod, "---\n---\nkind: Pod\n", 2, "not a pod but nothing"},
		"not YAML":                       {StaticPod, "a: b: c\n", 1, "not YAML"},
		"not text":                       {StaticPod, "a: \xff\n", 0, "not UTF-8"},
		"a tab":                          {StaticPod, "spec:\n\tcontainers:\n", 2, "a tab must not indent"},
		"a list":                         {StaticPod, "- a\n", 1, "not a pod but a list"},
		"another kind":                   {StaticPod, "apiVersion: v1\nkind: Service\n", 2, `kind is "Service"`},
		"no kind":                        {StaticPod, "apiVersion: v1\n", 1, `kind is ""`},
		"another version":                {StaticPod, "apiVersion: v2\nkind: Pod\n", 1, "apiVersion"},
		"no containers":                  {StaticPod, "apiVersion: v1\nkind: Pod\nspec: {}\n", 1, "no containers"},
		"no etcd container":              {StaticPod, pod("  - {name: a, command: [nginx]}\n"), 5, "has no etcd container"},
		"only etcd's proxy":              {StaticPod, pod("  - {name: a, command: [etcd, grpc-proxy, start]}\n"), 5, "has no etcd container"},
		"two etcd containers":            {StaticPod, pod("  - {name: a, command: [etcd]}\n" + second), 6, `two etcd containers, "a" and "b", the first in line 5`},
		"no command":                     {StaticPod, pod("  - name: etcd\n    image: x\n"), 5, "has no command"},
		"a shell":                        {StaticPod, pod("  - name: etcd\n    command: [/bin/sh, -c, exec etcd --name=a]\n"), 6, "through /bin/sh"},
		"another program":                {StaticPod, pod("  - name: etcd\n    command: [own-etcd]\n"), 6, "starts own-etcd, not etcd"},
		"a mapping in the command":       {StaticPod, pod("  - name: etcd\n    command: [etcd, {a: b}]\n"), 6, "has a mapping in spec.containers[].command[], where a text must be"},
		"a flag twice":                   {StaticPod, etcdPod("--name=a", "-name", "b"), 9, "--name is given twice, first in line 8"},
		"a flag under two names":         {StaticPod, etcdPod("--corrupt-check-time=1s", "--experimental-corrupt-check-time=2s"), 9, "given twice, first as --corrupt-check-time in line 8"},
		"a flag and its gate":            {StaticPod, etcdPod("--feature-gates=CompactHashCheck=true", "--experimental-compact-hash-check-enabled"), 8, "gate CompactHashCheck is given twice"},
		"a gate twice":                   {StaticPod, etcdPod("--feature-gates=A=true,A=false"), 8, "gate A twice"},
		"a flag and its variable":        {StaticPod, etcdPod("--name=a\n    env: [{name: ETCD_NAME, value: b}]"), 9, "ETCD_NAME is given twice, first as --name in line 8"},
		"no flag":                        {StaticPod, etcdPod("name=a"), 8, `"name=a" is no flag`},
		"a value for a switch":           {StaticPod, etcdPod("--client-cert-auth", `"true"`), 9, `"true" is no flag`},
		"an end of flags":                {StaticPod, etcdPod("--", "a"), 8, `"--" is no flag`},
		"three dashes":                   {StaticPod, etcdPod("---name=a"), 8, "is no flag"},
		"a flag without its value":       {StaticPod, etcdPod("--name"), 8, "--name needs a value"},
		"a config file":                  {StaticPod, etcdPod("--config-file=/etc/etcd.yaml"), 8, "read /etc/etcd.yaml instead"},
		"a config file by variable":      {StaticPod, etcdPod("--name=a\n    env: [{name: ETCD_CONFIG_FILE, value: b}]"), 9, "ETCD_CONFIG_FILE makes etcd ignore"},
		"a version flag":                 {StaticPod, etcdPod("--version"), 8, "print and exit"},
		"two flags in a word":            {StaticPod, etcdPod("'--name=a --data-dir=/d'"), 8, "a further flag in the same word"},
		"a flag, a tab and its value":    {StaticPod, etcdPod("\"--name\\ta\""), 8, "has its value in the same word"},
		"a variable beside its flag":     {StaticPod, etcdPod("--name=a\n    env: [{name: ETCD_NAME, value: ''}]"), 9, "ETCD_NAME is given twice"},
		"a variable that is a number":    {StaticPod, etcdPod("--name=a\n    env: [{name: A, value: 1}]"), 9, "value must have quotes around 1"},
		"variables as a mapping":         {StaticPod, etcdPod("--name=a\n    env: {A: b}"), 9, "env must be a list, not a mapping"},
		"a switch that is a text":        {StaticPod, etcdPod("--name=a\n  hostNetwork: 'true'"), 9, "hostNetwork must be true or false"},
		"a wrapper":                      {StaticPod, pod("  - name: db\n    command: [/sbin/tini, --, etcd, --name=a]\n"), 6, "through /sbin/tini"},
		"a template's condition":         {StaticPod, "kind: Pod\n{% if x %}\napiVersion: v1\n", 2, "render the template first"},
		"infinity":                       {ConfigFile, "name: a\nother: .inf\n", 2, "becomes no JSON"},
		"a whole number that is none":    {ConfigFile, "snapshot-count: 1.5\n", 1, "must be a whole number"},
		"a number below zero":            {ConfigFile, "snapshot-count: -1\n", 1, "must be a whole number"},
		"too many streams":               {ConfigFile, "max-concurrent-streams: 4294967296\n", 1, "of 32 bits"},
		"an origin that is no URL":       {ConfigFile, "cors: example.com\n", 1, "key cors"},
		"env: a template":                {Environment, "ETCD_NAME={{ name }}\n", 1, "render the template first"},
		"env: two old names that differ": {Environment, "ETCD_LOG_OUTPUT=stdout\nETCD_LOG_OUTPUTS=stderr\n", 2, "with another value"},
		"a bad number":                   {StaticPod, etcdPod("--snapshot-count=many"), 8, "--snapshot-count must be a whole number"},
		"a bad duration":                 {StaticPod, etcdPod("--corrupt-check-time=5"), 8, "must be a duration"},
		"a bad switch":                   {StaticPod, etcdPod("--pre-vote=perhaps"), 8, "must be true or false"},
		"a bad URL":                      {StaticPod, etcdPod("--listen-peer-urls=10.0.0.1:2380"), 8, "--listen-peer-urls"},
		"a bad gate":                     {StaticPod, etcdPod("--feature-gates=A"), 8, "Name=true"},
		"no initial cluster":             {StaticPod, etcdPod("--initial-cluster=nonsense"), 8, "--initial-cluster"},
		"an initial cluster that melts":  {StaticPod, etcdPod("--name=a", "--initial-advertise-peer-urls=http://10.0.0.9:2380", "--initial-cluster=a=http://10.0.0.1:2380,a=http://10.0.0.9:2380"), 10, "merges entries of one name"},
		"a URL of two members":           {StaticPod, etcdPod("--initial-cluster=a=http://10.0.0.1:2380,b=http://10.0.0.1:2380"), 8, "twice"},
		"a key twice":                    {StaticPod, "kind: Pod\napiVersion: v1\nkind: Pod\n", 3, `key "kind" twice in one mapping, first in line 1`},
		"a key twice, deep":              {StaticPod, pod("  - name: etcd\n    image: a\n    image: b\n"), 7, `key "image" twice`},
		"config: a list":                 {ConfigFile, "[a]\n", 1, "not a config file but a list"},
		"config: a duration as text":     {ConfigFile, "a: 1\ncorrupt-check-time: 5s\n", 2, "whole nanoseconds"},
		"config: a quoted number":        {ConfigFile, "snapshot-count: \"5\"\n", 1, "whole number without quotes"},
		"config: a quoted switch":        {ConfigFile, "pre-vote: 'true'\n", 1, "true or false without quotes"},
		"config: a text that is none":    {ConfigFile, "name: on\n", 1, "must have quotes around on"},
		"config: an octal text":          {ConfigFile, "name: 007\n", 1, "must have quotes around 007"},
		"config: a list as text":         {ConfigFile, "cipher-suites: A,B\n", 1, "must be a list"},
		"config: URLs as a list":         {ConfigFile, "listen-peer-urls: [http://10.0.0.1:1]\n", 1, "must be a single value"},
		"config: a block as text":        {ConfigFile, "peer-transport-security: x\n", 1, "must be a mapping"},
		"config: a comma in a list":      {ConfigFile, "log-outputs: ['a,b']\n", 1, "must not have a comma"},
		"config: a key twice":            {ConfigFile, "name: a\nname: b\n", 2, `key "name" twice`},
		"config: two names":              {ConfigFile, "max-wals: 1\ncorrupt-check-time: 1\nexperimental-corrupt-check-time: 2\n", 3, "given twice"},
		"config: a cluster that melts":   {ConfigFile, "name: a\ninitial-advertise-peer-urls: http://h:1\ninitial-cluster: a=http://g:1,a=http://h:1\n", 3, "merges"},
		"env: no assignment":             {Environment, "ETCD_NAME=a\nhello\n", 2, "must be NAME=value"},
		"env: an export":                 {Environment, "export ETCD_NAME=a\n", 1, "name that is none"},
		"env: an open quote":             {Environment, "A=1\n\nETCD_NAME=\"a\nETCD_DATA_DIR=/x\n", 3, "quote that does not end"},
		"env: twice":                     {Environment, "ETCD_NAME=a\nETCD_NAME=a\n", 2, "ETCD_NAME is given twice, first in line 1"},
		"env: two names":                 {Environment, "ETCD_CORRUPT_CHECK_TIME=1s\nETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME=2s\n", 2, "given twice"},
		"env: another variable twice":    {Environment, "A=1\nA=2\n", 2, "A is given twice"},
		"env: a config file":             {Environment, "ETCD_CONFIG_FILE=/x\n", 1, "ignore all variables"},
		"env: a byte order mark":         {Environment, "\ufeffETCD_NAME=a\n", 1, "byte order mark"},
		"env: a comment that goes on":    {Environment, "# a \\\nETCD_NAME=a\n", 1, "ends in a backslash"},
		"env: not text":                  {Environment, "ETCD_NAME=\xff\n", 0, "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Read(tc.form, "etcd.file", []byte(tc.in))
			require.Error(t, err)
			source := sourceError(t, err)
			assert.Equal(t, "etcd.file", source.File)
			assert.Equal(t, tc.line, source.Line, err)
			assert.Contains(t, source.Rule, tc.rule)
			assert.Equal(t, Reading{}, r)
			if tc.line > 0 {
				assert.True(t, strings.HasPrefix(err.Error(), fmt.Sprintf("etcd.file:%d: ", tc.line)), err)
			}
			if tc.form != "" { // nor may it be changed
				_, err = Edit(tc.form, "", []byte(tc.in), map[string]string{"max-txn-ops": "1"})
				if !editable[name] {
					require.Error(t, err)
				}
			}
		})
	}
}

// editable are faults of a value: an edit is the way to mend it.
var editable = map[string]bool{
	"a bad number": true, "a bad duration": true, "a bad switch": true, "a bad URL": true, "a bad gate": true, "no initial cluster": true,
	"an origin that is no URL": true, "a number below zero": true, "too many streams": true, "env: a template": true,
	"env: two old names that differ": true, "a whole number that is none": true,
	"a flag under two names": true, "env: two names": true, "config: two names": true,
	"an initial cluster that melts": true, "a URL of two members": true, "a flag and its gate": true, "a gate twice": true, "config: a cluster that melts": true,
}

func TestReadShellIsFound(t *testing.T) {
	_, err := Read(StaticPod, "", []byte(pod("  - name: etcd\n    command: [sh, -c, etcd]\n")))
	require.ErrorIs(t, err, ErrShell)
	assert.True(t, strings.HasPrefix(err.Error(), "input:6: "), err)
}

func TestReadArgs(t *testing.T) {
	r, err := ReadArgs([]string{"--name", "a", "-client-cert-auth", "--initial-cluster=a=http://10.0.0.1:2380", "--new=1", "--newer", "2", "--switch", "--x"})
	require.NoError(t, err)
	assert.Equal(t, "a", r.Spec.Name)
	assert.True(t, r.Spec.ClientTLS.ClientCertAuth)
	assert.Equal(t, map[string]string{"new": "1", "newer": "2", "switch": "true", "x": "true"}, r.Spec.Unknown)
	_, err = ReadArgs([]string{"--name=a", "start"})
	assert.ErrorContains(t, err, `input:2: "start" is no flag`)
}

func TestLayoutsOfYAML(t *testing.T) {
	flags := []string{"--name=a", "--initial-cluster=a=http://10.0.0.1:2380"}
	plain := etcdPod(flags...)
	set := map[string]string{"name": "b", "initial-cluster": "b=http://10.0.0.1:2380", "initial-cluster-state": existing}
	want := strings.NewReplacer("--name=a", "--name=b", "2380\n", "2380\n    - --initial-cluster-state=existing\n", "=a=", "=b=").Replace(plain)
	for name, through := range map[string]func(string) string{
		"as it is":             func(s string) string { return s },
		"CRLF":                 func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"byte order mark":      func(s string) string { return "\ufeff" + s },
		"no last line break":   func(s string) string { return strings.TrimSuffix(s, "\n") },
		"document marks":       func(s string) string { return "%YAML 1.1\n---\n" + s + "...\n" },
		"wide letters":         func(s string) string { return "# é日本\n" + strings.ReplaceAll(s, "v1", "v1 # 日本") },
		"separators as breaks": func(s string) string { return "# é\u2028# x\u0085# y\n" + s },
		"tabs before comments": func(s string) string { return strings.ReplaceAll(s, "- etcd\n", "- etcd\t# tab\n") },
		"tabs at line ends":    func(s string) string { return strings.ReplaceAll(s, "etcd\n", "etcd \t\n") },
	} {
		t.Run(name, func(t *testing.T) {
			in := through(plain)
			expected := through(want)
			out, err := Edit(StaticPod, "", []byte(in), set)
			require.NoError(t, err)
			assert.Equal(t, expected, string(out))
			r, err := Read(StaticPod, "", out)
			require.NoError(t, err)
			assert.Equal(t, "b", r.Spec.Name)
		})
	}
}

func TestEditBehindWideLetters(t *testing.T) {
	in := pod("  - {é日本: '日\u2009本', name: etcd, command: [etcd, --name=a, --data-dir=/é]}\n")
	out, err := Edit(StaticPod, "", []byte(in), map[string]string{"name": "日本", "data-dir": "/d", "initial-cluster-state": existing})
	require.NoError(t, err)
	want := strings.NewReplacer("--name=a", `"--name=日本"`, "--data-dir=/é", "--data-dir=/d, --initial-cluster-state=existing").Replace(in)
	assert.Equal(t, want, string(out))
}

// TestBigFiles: ten megabytes of text take a second or so, and two of YAML nodes.
// The time grows with the size, whatever the file is full of.
func TestBigFiles(t *testing.T) {
	size := 1 << 20
	if os.Getenv("ETCDJOIN_ALL_VERSIONS") == "1" {
		size *= 10
	} else {
		t.Log("1 MiB; ten with ETCDJOIN_ALL_VERSIONS=1 in the environment, as .ci/run has it")
	}
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	for name, tc := range map[string]struct {
		form Form
		in   string
		fail string
	}{
		"comments":                    {StaticPod, fill("# nothing to see here, move along\n") + etcdPod("--name=a"), ""},
		"environment":                 {StaticPod, etcdPod("--name=a") + "    env:\n" + numbered("    - {name: SOME_VARIABLE_%d, value: 'some value'}\n", size/250), ""},
		"one long text":               {StaticPod, etcdPod("--name=a") + "    x: \"" + fill("0123456789 ") + "\"\n", ""},
		"keys":                        {ConfigFile, "name: a\n" + numbered("some-key-%d: some value or other\n", size/200), ""},
		"variables":                   {Environment, "ETCD_NAME=a\n" + numbered("SOME_VARIABLE_%d=some value\n", size/160), ""},
		"nesting":                     {StaticPod, fill("["), "is not YAML"},
		"nothing":                     {StaticPod, fill("\n"), "no YAML document"},
		"a billion laugh":             {StaticPod, laughs("[a, a]", "[*x%d, *x%d]") + etcdPod("--name=a"), ""},
		"and nothing":                 {StaticPod, laughs("{a: , b: }", "{a: *x%d, b: *x%d}") + etcdPod("--name=a"), ""},
		"an anchor that holds itself": {StaticPod, "x: &x {a: *x}\n" + etcdPod("--name=a"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Read(tc.form, "", []byte(tc.in))
			out, err2 := Edit(tc.form, "", []byte(tc.in), map[string]string{"name": "b"})
			t.Logf("read and edited in %v", time.Since(start).Round(time.Millisecond))
			if tc.fail != "" {
				assert.ErrorContains(t, err, tc.fail)
				assert.ErrorContains(t, err2, tc.fail)
				return
			}
			require.NoError(t, err)
			require.NoError(t, err2)
			assert.Len(t, out, len(tc.in))
		})
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// laughs are anchors that double, thirty times.
func laughs(first, next string) string {
	var b strings.Builder
	b.WriteString("x0: &x0 " + first + "\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&b, "x%d: &x%d "+next+"\n", i, i, i-1, i-1)
	}
	return b.String()
}

func TestReadOfAnchorsThatHoldThemselves(t *testing.T) {
	for name, in := range map[string]string{
		"a mapping":  "apiVersion: v1\nkind: Pod\nspec: &a\n  containers: *a\n",
		"a merge":    "&a {apiVersion: v1, kind: Pod, <<: *a}\n",
		"a sequence": "apiVersion: v1\nkind: Pod\nspec: {containers: &a [*a]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(StaticPod, "", []byte(in))
			assert.Error(t, err)
			_, err = Read(ConfigFile, "", []byte(in))
			t.Log(err)
		})
	}
}

func TestReadKeepsTheVersionOfTheImage(t *testing.T) {
	for image, want := range map[string]string{
		"registry.k8s.io/etcd:3.5.16-0":         "3.5.16+0",
		"quay.io/coreos/etcd:v3.6.1":            "3.6.1",
		"host:5000/etcd":                        "unknown",
		"host:5000/etcd:3.6.1@sha256:abc":       "3.6.1",
		"etcd:latest":                           "unknown",
		"gcr.io/etcd-development/etcd:v3.7.0-a": "3.7.0-a",
	} {
		assert.Equal(t, want, imageVersion(image).String(), image)
	}
	assert.Equal(t, version.Version{}, imageVersion(""))
}
