package manifest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/version"
)

// seedFiles adds the golden inputs of one form.
func seedFiles(f *testing.F, form Form) {
	f.Helper()
	scripts, _ := filepath.Glob("testdata/files/*.txt")
	for _, file := range scripts {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		head, rest, _ := strings.Cut(string(data), "-- in --\n")
		in, _, _ := strings.Cut(rest, "-- out --\n")
		if strings.Contains(head, "form "+string(form)+"\n") {
			f.Add([]byte(in))
		}
	}
	for _, s := range goldenSpecs() {
		s, err := s.For(startCP2)
		require.NoError(f, err)
		data, err := s.Render(form)
		require.NoError(f, err)
		f.Add(data)
	}
}

// reread: what can be read and is valid renders, in each form, to what reads the
// same.
func reread(t *testing.T, r Reading) {
	t.Helper()
	s := r.Spec
	if s.Version.Compare(oldest) < 0 || s.Version.Compare(newest) > 0 {
		s.Version = version.MustParse("3.6.16")
	}
	want, err := s.Resolved()
	if err != nil {
		return
	}
	for _, form := range []Form{StaticPod, ConfigFile, Environment} {
		data, err := s.Render(form)
		if err != nil {
			continue
		}
		again, err := Read(form, "", data)
		require.NoError(t, err, "%s:\n%s", form, data)
		again.Spec.Version = s.Version
		got, err := again.Spec.Resolved()
		require.NoError(t, err, "%s:\n%s", form, data)
		require.Equal(t, want, asGiven(form, s.Version, s, got), "%s:\n%s", form, data)
		if len(s.Unknown) == 0 {
			require.Empty(t, again.Unplaced, "%s:\n%s", form, data)
		}
	}
}

// reedit: what can be edited reads as it was set, and editing it again changes
// nothing; what can be migrated needs no second migration.
func reedit(t *testing.T, form Form, data []byte) {
	t.Helper()
	set := Identity(startCP2)
	out, err := Edit(form, "", data, set)
	if err == nil {
		again, err := Edit(form, "", out, set)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
		e, err := openEditor(form, out)
		require.NoError(t, err)
		got := map[string]string{}
		for _, f := range e.settings() {
			got[f.canonical()] = f.value
		}
		for name, value := range set {
			require.Equal(t, value, got[name])
		}
	}
	for _, v := range []string{"3.4.45", "3.5.35", "3.6.16", "3.7.3"} {
		to := Migration{To: version.MustParse(v), KeepImage: true}
		out, changes, err := Migrate(form, "", data, to)
		if err != nil {
			continue
		}
		again, more, err := Migrate(form, "", out, to)
		require.NoError(t, err, "%s", out)
		require.Equal(t, string(out), string(again))
		if bytes.Equal(out, data) {
			require.Len(t, more, len(changes))
		}
		for _, c := range more {
			require.Equal(t, c.From, c.To, "a second migration has nothing to do but tell what is unknown")
		}
	}
}

func fuzzForm(f *testing.F, form Form) {
	seedFiles(f, form)
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := Read(form, "", data); err == nil {
			reread(t, r)
		} else {
			require.NotEmpty(t, sourceError(t, err).Rule)
		}
		reedit(t, form, data)
	})
}

func FuzzStaticPod(f *testing.F)   { fuzzForm(f, StaticPod) }
func FuzzConfigFile(f *testing.F)  { fuzzForm(f, ConfigFile) }
func FuzzEnvironment(f *testing.F) { fuzzForm(f, Environment) }

func FuzzArgs(f *testing.F) {
	for _, s := range goldenSpecs() {
		s, err := s.For(startCP2)
		require.NoError(f, err)
		args, err := s.Args()
		require.NoError(f, err)
		f.Add(strings.Join(args, "\x00"))
	}
	f.Add("--name\x00a\x00-client-cert-auth\x00--feature-gates\x00A=true,CompactHashCheck=1\x00--x")
	f.Fuzz(func(t *testing.T, joined string) {
		r, err := ReadArgs(strings.Split(joined, "\x00"))
		if err != nil {
			require.NotEmpty(t, sourceError(t, err).Rule)
			return
		}
		reread(t, r)
	})
}

func FuzzInitialCluster(f *testing.F) {
	f.Add("a=http://10.0.0.1:2380,b=http://10.0.0.2:2380,a=http://10.0.0.3:2380")
	f.Add(",=unix://x:1,a=http://[::1]:1,")
	f.Fuzz(func(t *testing.T, value string) {
		c, err := ParseInitialCluster(value)
		if err != nil {
			return
		}
		again, err := ParseInitialCluster(c.String())
		require.NoError(t, err)
		require.Equal(t, c.String(), again.String())
	})
}

// FuzzYAMLScalar: what we write without a library is what every reader reads.
func FuzzYAMLScalar(f *testing.F) {
	for _, v := range nasty {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		if v != "" && plainText(v) != nil {
			return
		}
		doc, err := parseYAML(yamlMap{{"a", yamlSeq{v, yamlMap{{"k", v}}}}, {"b", "x"}}.bytes())
		require.NoError(t, err)
		list := items(child(doc.root, "a"))
		require.Equal(t, v, scalar(list[0]))
		require.Equal(t, "!!str", list[0].Tag)
		require.Equal(t, v, scalar(child(list[1], "k")))
		for _, inFlow := range []bool{false, true} {
			for _, old := range []string{"x", "'x'", `"x"`} {
				text := "[" + requoted(old, v, true) + "]\n"
				if !inFlow {
					text = "- " + requoted(old, v, false) + "\n"
				}
				doc, err := parseYAML([]byte(text))
				require.NoError(t, err, text)
				require.Equal(t, v, scalar(items(doc.root)[0]), text)
			}
		}
	})
}

// FuzzEnvQuoted: what we quote, systemd's rules give back.
func FuzzEnvQuoted(f *testing.F) {
	for _, v := range nasty {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		if plainText(v) != nil {
			return
		}
		for _, old := range []string{"x", "'x'", `"x"`} {
			all, err := scanEnv([]byte("A=" + requotedEnv([]byte(old), v) + "\nB=1\n"))
			require.NoError(t, err)
			require.Len(t, all, 2)
			require.Equal(t, v, all[0].value)
		}
	})
}
