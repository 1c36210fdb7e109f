package manifest_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/manifest"
	theversion "github.com/etcdjoin/etcdjoin/version"
)

// An input is a file that a test of package manifest reads, edits or renders.
type input struct {
	name string
	form manifest.Form
	data []byte
}

// inputs are all files of the goldens, from before an edit and after it. The
// goldens seed the fuzz tests, too.
func inputs(t *testing.T) []input {
	t.Helper()
	var all []input
	scripts, err := filepath.Glob("../../../manifest/testdata/files/*.txt")
	require.NoError(t, err)
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		head, rest, _ := strings.Cut(string(text), "-- in --\n")
		in, out, _ := strings.Cut(rest, "-- out --\n")
		_, form, _ := strings.Cut(head, "form ")
		form, _, _ = strings.Cut(form, "\n")
		all = append(all, input{filepath.Base(path), manifest.Form(form), []byte(in)})
		if !strings.Contains(head, "\nread\n") && !strings.Contains(out, "error: ") {
			file, _, _ := strings.Cut(out, "\n-- changes --\n")
			all = append(all, input{filepath.Base(path) + " out", manifest.Form(form), []byte(file + "\n")})
		}
	}
	rendered, err := filepath.Glob("../../../manifest/testdata/render/*")
	require.NoError(t, err)
	for _, path := range rendered {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for ending, form := range map[string]manifest.Form{".pod.yaml": manifest.StaticPod, ".conf.yaml": manifest.ConfigFile, ".env": manifest.Environment} {
			if strings.HasSuffix(path, ending) {
				all = append(all, input{filepath.Base(path), form, text})
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

// TestWeReadWhatEtcdReads gives every input to etcd's own reader, and what we
// read of it, rendered anew, too: both must be refused, or be the same etcd.
func TestWeReadWhatEtcdReads(t *testing.T) {
	for _, release := range releases(t) {
		t.Run(release, func(t *testing.T) {
			etcd := newOwnReader(t, release)
			logs := t.TempDir()
			for _, in := range inputs(t) {
				in.data = []byte(strings.ReplaceAll(string(in.data), "/var/log", logs)) // etcd opens it
				t.Run(in.name, func(t *testing.T) { agree(t, etcd, theversion.MustParse(release), in) })
			}
		})
	}
}

func agree(t *testing.T, etcd *ownReader, v theversion.Version, in input) {
	asked, err := asEtcd(t, in.form, in.data)
	if err != nil {
		_, ours := manifest.Read(in.form, "", in.data)
		assert.Error(t, ours, "the kubelet: %v", err)
		return
	}
	if isForAnother(in, v) {
		return
	}
	theirs := etcd.ask(asked)
	reading, err := manifest.Read(in.form, "", in.data)
	if err != nil {
		if theirs.refused == "" && reasonToRefuse(err) == "" {
			t.Errorf("etcd takes what we refuse: %v\n%s", err, in.data)
		}
		return
	}
	spec := reading.Spec
	spec.Version = v
	if spec.InitialClusterState == "new" {
		spec.InitialClusterState = "existing"
	}
	again, err := renderedAs(t, in.form, spec)
	switch {
	case err != nil && theirs.refused == "" && reasonToRefuse(err) == "":
		t.Errorf("etcd takes what we do not render: %v\n%s", err, in.data)
	case err == nil && theirs.refused != "" && !saidUnplaced(reading):
		t.Errorf("etcd refuses what we render: %s\n%s", theirs.refused, in.data)
	case err == nil && theirs.refused == "":
		ours := etcd.ask(again)
		require.Empty(t, ours.refused, "%s", again)
		assert.Empty(t, differ(theirs.config, ours.config, reading), "%s\nrendered: %q", in.data, again)
	}
}

// isForAnother: a file with names that this version does not have is for
// another one. What etcd says to such names is the tables' test's.
func isForAnother(in input, v theversion.Version) bool {
	_, changes, err := manifest.Migrate(in.form, "", in.data, manifest.Migration{To: v, KeepImage: true})
	if err != nil {
		reading, err := manifest.Read(in.form, "", in.data)
		return err == nil && !reading.Spec.Version.IsZero() && !reading.Spec.Version.SameMinor(v)
	}
	return slices.ContainsFunc(changes, func(c manifest.Change) bool {
		return c.Kind != manifest.Unknown && c.Kind != manifest.Deprecated
	})
}

// renderedAs is how etcd would be started from what was read; a pod by its flags
// alone, for many of the inputs have no image.
func renderedAs(t *testing.T, form manifest.Form, spec manifest.Spec) (question, error) {
	if form == manifest.StaticPod {
		args, err := spec.Args()
		return question{Args: args}, err
	}
	data, err := spec.Render(form)
	if err != nil {
		return question{}, err
	}
	return asEtcd(t, form, data)
}

// saidUnplaced: what is unplaced or unknown may be what etcd refuses.
func saidUnplaced(r manifest.Reading) bool { return len(r.Unplaced) > 0 || len(r.Spec.Unknown) > 0 }

// sameForUs are fields in which etcd is the same, though they are not.
func sameForUs(name, theirs, ours string) bool {
	switch name {
	case ".ClusterState", ".FlagsExplicitlySet":
		return true // always existing; how it was said
	case ".TlsMinVersion":
		return theirs+ours == "TLS1.2" // none is what Go takes, 1.2
	case ".SelfSignedCertValidity":
		return theirs+ours == "1" // a file for 3.5.0 cannot say it, and is refused where it matters
	case ".EnableGRPCGateway":
		return theirs+ours == "true" // off by default in a file for 3.4, and a file does not tell that it is one
	case ".AutoCompactionMode":
		return theirs+ours == "periodic" // 3.4 and 3.5 have no default in a file: of no use without a retention
	case ".AutoCompactionRetention":
		return theirs+ours == "0" // off
	}
	return strings.HasPrefix(name, ".Experimental") // its value is taken over into the new field
}

func differ(theirs, ours map[string]string, reading manifest.Reading) []string {
	var all []string
	names := maps.Clone(theirs)
	maps.Copy(names, ours)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if theirs[name] != ours[name] && !sameForUs(name, theirs[name], ours[name]) && len(reading.Unplaced) == 0 {
			all = append(all, fmt.Sprintf("%s: in the file %q, rendered %q", name, theirs[name], ours[name]))
		}
	}
	return all
}

// reasonToRefuse is why we refuse what etcd takes, "" if there is no reason.
func reasonToRefuse(err error) string {
	if err == nil {
		return ""
	}
	for rule, reason := range strict {
		if strings.Contains(err.Error(), rule) {
			return reason
		}
	}
	return ""
}

var strict = map[string]string{
	"--initial-cluster: ":             "etcd reads it later, and exits then",
	"must not have an empty entry":    "it names nothing, and nobody means that",
	"key initial-cluster: ":           "the same",
	"key v2-deprecation must be":      "no flag takes that value, and etcd goes by none",
	"at an experimental one":          "only 3.6 does, but a file does not tell whose it is",
	"must have quotes around ~":       "an element of a list that is nothing becomes an empty text, which no flag can say",
	"must have quotes around null":    "the same",
	"is given twice":                  "the last one wins, which nobody can see",
	"twice in one mapping":            "the same",
	"which needs a certificate":       "etcd exits later, when it listens",
	"must have CertFile and KeyFile":  "the same",
	"must have TrustedCAFile":         "client certificates would be held to the machine's authorities: nobody means that",
	"render the template first":       "etcd would take the text as it is: nobody means that",
	"a further flag in the same word": "etcd takes it for text: nobody means that",
	"without it etcd exits":           "as the server, later",
	"comment behind its value":        "systemd takes it for text, a shell does not",
}

// asEtcd is how etcd is started from a file: by the kubelet, a shell or itself.
func asEtcd(t *testing.T, form manifest.Form, data []byte) (question, error) {
	t.Helper()
	switch form {
	case manifest.StaticPod:
		return asKubelet(data)
	case manifest.Environment:
		return question{Env: asSystemd(t, data)}, nil
	}
	path := filepath.Join(t.TempDir(), "etcd.yaml")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return question{Args: []string{"--config-file=" + path}}, nil
}
