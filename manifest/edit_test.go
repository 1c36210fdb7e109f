package manifest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/version"
)

// TestEditTouchesNothingElse edits rendered files between which comments and odd
// lines were strewn: every line but those of the settings stays, in order.
func TestEditTouchesNothingElse(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 150 {
		v := version.MustParse(everyVersion[rnd.IntN(len(everyVersion))])
		s, err := randomSpec(rnd, v).For(randomStart(rnd))
		require.NoError(t, err)
		for _, form := range []Form{StaticPod, ConfigFile, Environment} {
			data, err := s.Render(form)
			if err != nil {
				require.ErrorIs(t, err, ErrUnsupported)
				continue
			}
			file := strewn(rnd, form, string(data))
			start := randomStart(rnd)
			out, err := Edit(form, "", []byte(file), Identity(start))
			require.NoError(t, err, "%s", file)
			r, err := Read(form, "", out)
			require.NoError(t, err, "%s", out)
			assert.Equal(t, start.Name, r.Spec.Name)
			assert.Equal(t, start.InitialCluster, r.Spec.InitialCluster)
			assert.Equal(t, others(file), others(string(out)))
		}
	}
}

// strewn puts comments and blank lines between lines, and behind some.
func strewn(rnd *rand.Rand, form Form, file string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(file, "\n"), "\n") {
		if form != Environment && rnd.IntN(3) == 0 {
			line += fmt.Sprintf("   # remark %d", i)
		}
		b.WriteString(line + "\n")
		if rnd.IntN(4) == 0 {
			fmt.Fprintf(&b, "\n# line %d\n", i)
		}
	}
	return b.String()
}

// others are the lines that nothing stands on which is one node's.
func others(file string) []string {
	return slices.DeleteFunc(strings.Split(file, "\n"), func(line string) bool {
		line = strings.ToLower(strings.NewReplacer("_", "-", `"`, "", "'", "").Replace(line))
		if strings.Contains(line, "kubeadm.kubernetes.io/") {
			return true
		}
		for _, name := range append([]string{"name", "initial-cluster", "initial-cluster-state", "initial-advertise-peer-urls"}, hostURLs...) {
			if strings.Contains(line, "--"+name+"=") || strings.HasPrefix(line, name+":") || strings.HasPrefix(line, "etcd-"+name+"=") {
				return true
			}
		}
		return false
	})
}

func TestEditRefusesBadValues(t *testing.T) {
	in := []byte(etcdPod("--name=a"))
	for name, set := range map[string]map[string]string{
		"a bad number":       {"snapshot-count": "x"},
		"a line break":       {"name": "a\nb"},
		"a bad cluster":      {"name": "a", "initial-cluster": "x"},
		"not in the cluster": {"name": "a", "initial-cluster": "b=http://10.0.0.1:2380"},
		"a cluster that melts": {"name": "a", "initial-advertise-peer-urls": "http://10.0.0.1:2380",
			"initial-cluster": "a=http://10.0.0.1:2380,a=http://10.0.0.2:2380"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := Edit(StaticPod, "", in, set)
			var faults Faults
			require.ErrorAs(t, err, &faults)
			assert.Len(t, faults, 1)
			assert.Nil(t, out)
		})
	}
	_, err := Edit("pod", "f", in, nil)
	assert.EqualError(t, err, `f: form must be StaticPod, ConfigFile or Environment, not "pod"`)
	_, err = Edit(StaticPod, "", []byte(pod("  - {name: etcd, image: 'etcd:3.5.35', command: [etcd]}\n")), map[string]string{"max-learners": "2"})
	assert.ErrorIs(t, err, ErrUnsupported)
}

// TestMigrateRendered: migrating what was rendered for one version gives what is
// rendered for the other, as far as both have the settings.
func TestMigrateRendered(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 150 {
		from := version.MustParse(everyVersion[rnd.IntN(len(everyVersion))])
		to := version.MustParse(everyVersion[rnd.IntN(len(everyVersion))])
		s := randomSpec(rnd, from)
		s.Unknown = nil
		s, err := s.For(randomStart(rnd))
		require.NoError(t, err)
		for _, form := range []Form{StaticPod, ConfigFile, Environment} {
			data, err := s.Render(form)
			if err != nil {
				continue
			}
			out, changes, err := Migrate(form, "", data, Migration{To: to, Image: "etcd:" + to.String()})
			require.NoError(t, err, "%s to %s\n%s", from, to, data)
			r, err := Read(form, "", out)
			require.NoError(t, err, "%s", out)
			r.Spec.Version = to
			settings, err := r.Spec.Resolved()
			require.NoError(t, err, "%s to %s\n%s", from, to, out)
			assert.Equal(t, expectedAfter(t, s, form, to), asGiven(form, from, s, settings), "%s to %s: %v", from, to, changes)
			if from == to && form != StaticPod {
				assert.Empty(t, slices.DeleteFunc(changes, func(c Change) bool { return c.Kind == Deprecated }))
				assert.Equal(t, string(data), string(out))
			}
		}
	}
}

// expectedAfter is what is left of a Spec's settings in another version.
func expectedAfter(t *testing.T, s Spec, form Form, to version.Version) []Setting {
	t.Helper()
	m := settingsMap(t, s)
	if debug := m["debug"]; to.Minor() > 4 && debug == "true" && m["log-level"] == "" {
		m["log-level"] = "debug"
	}
	var left []Setting
	for _, name := range slices.Sorted(maps.Keys(m)) {
		_, ok := spell(name, to)
		if form == ConfigFile {
			_, ok = spellInFile(name, to)
		}
		if c, _ := chosen(name, m[name]); ok && c.in.Has(to) {
			left = append(left, Setting{name, m[name]})
		}
	}
	return left
}

func TestMigrateRefuses(t *testing.T) {
	for _, v := range []string{"3.3.27", "3.8.0", "4.0.0"} {
		_, _, err := Migrate(StaticPod, "f", []byte(etcdPod("--name=a")), Migration{To: version.MustParse(v)})
		require.ErrorIs(t, err, ErrUnknownVersion)
		assert.Equal(t, "f", sourceError(t, err).File)
	}
	to := Migration{To: version.MustParse("3.7.3"), Image: "x"}
	_, _, err := Migrate(StaticPod, "f", []byte("kind: Service\napiVersion: v1\n"), to)
	assert.ErrorContains(t, err, "f:1: is not a pod")
	_, _, err = Migrate(StaticPod, "f", []byte(etcdPod("--name=a")), to)
	assert.ErrorContains(t, err, "has no image")
	_, _, err = Migrate(StaticPod, "f", []byte(etcdPod("--experimental-initial-corrupt-check=perhaps")), to)
	assert.ErrorContains(t, err, "true or false")
}
