package manifest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/member"
)

var first = Founding{Name: "cp-1", PeerURLs: []string{"http://10.0.0.11:2380"}}

// A single etcd without any settings has had these IDs for ten years.
func TestFoundedIDs(t *testing.T) {
	m, c := foundedIDs([]string{"http://localhost:2380"}, "")
	assert.Equal(t, cluster.ID(0x8e9e05c52164694d), m)
	assert.Equal(t, cluster.ID(0xcdf818194e3a8c32), c)

	m2, c2 := foundedIDs([]string{"http://localhost:2380"}, "another")
	assert.NotEqual(t, m, m2)
	assert.NotEqual(t, c, c2)

	both, _ := foundedIDs([]string{"http://10.0.0.1:2380", "http://[fd00::1]:2380"}, "")
	turned, _ := foundedIDs([]string{"http://[fd00::1]:2380", "http://10.0.0.1:2380"}, "")
	assert.Equal(t, both, turned)
}

type pending struct {
	answer bool
	err    error
}

func (p pending) Pending(context.Context) (bool, error) { return p.answer, p.err }

// withWAL gives the spec's directory the log of a member of that cluster.
func withWAL(t *testing.T, spec Spec) {
	t.Helper()
	withData(t, spec)
	info, err := spec.dataDir().Inspect(t.Context())
	require.NoError(t, err)
	require.Equal(t, cluster.DataMember, info.Kind)
}

func TestFoundByTheDirectory(t *testing.T) {
	spec := hookSpec(t)
	founder, start, err := spec.Found(t.Context(), first)
	require.NoError(t, err)
	assert.Equal(t, "cp-1=http://10.0.0.11:2380", start.InitialCluster)
	full, err := founder.For(start)
	require.NoError(t, err)
	assert.Equal(t, "new", full.InitialClusterState)
	for _, form := range []Form{StaticPod, ConfigFile, Environment} {
		data, err := full.Render(form)
		require.NoError(t, err)
		reading, err := Read(form, "", data)
		require.NoError(t, err)
		assert.Equal(t, "new", reading.Spec.InitialClusterState, form)
	}

	_, err = spec.For(start)
	require.NoError(t, err, "the template founds nothing")
	plain, _ := spec.For(start)
	assert.Equal(t, existing, plain.InitialClusterState)
	plain.InitialClusterState = "new"
	require.ErrorContains(t, plain.Validate(), "Found for a first member")

	withWAL(t, spec)
	_, _, err = spec.Found(t.Context(), first)
	require.ErrorIs(t, err, member.ErrForeignData)

	require.NoError(t, os.RemoveAll(filepath.Join(spec.DataDir, "member", "wal")))
	require.NoError(t, os.MkdirAll(filepath.Join(spec.DataDir, "member", "snap"), 0o700))
	touch(t, filepath.Join(spec.DataDir, "member", "snap", "0000000000000001-0000000000000001.snap"))
	_, _, err = spec.Found(t.Context(), first)
	require.ErrorIs(t, err, member.ErrDataDamaged)
}

func TestFoundAsksForAJoin(t *testing.T) {
	unknown := errors.New("no answer")
	for _, tc := range []struct {
		pending Pending
		want    error
	}{
		{pending{true, nil}, ErrJoinPending},
		{pending{false, unknown}, unknown},
		{pending{false, nil}, nil},
	} {
		f := first
		f.Pending = tc.pending
		_, _, err := hookSpec(t).Found(t.Context(), f)
		require.ErrorIs(t, err, tc.want)
	}
}

func TestFoundRefusesWhatCannotBe(t *testing.T) {
	for name, f := range map[string]Founding{
		"no name": {PeerURLs: first.PeerURLs},
		"no URL":  {Name: "cp-1"},
	} {
		_, _, err := hookSpec(t).Found(t.Context(), f)
		require.Error(t, err, name)
	}
	spec := hookSpec(t)
	spec.Settings = map[string]string{"no-such": "setting"}
	var faults Faults
	_, _, err := spec.Found(t.Context(), first)
	require.ErrorAs(t, err, &faults)
}

// foundedHere is what the data directory of the founder holds: the test's fixture
// is of a cluster whose peer URL nobody knows, so its IDs take the founder's place.
func foundedHere(start member.StartSpec) member.StartSpec {
	start.MemberID, start.ClusterID, start.Restart = voter.MemberID, voter.ClusterID, true
	return start
}

// Every point at which the founding may be cut off, in every form that is a file.
func TestFoundIsCutOff(t *testing.T) {
	for _, form := range []string{"static pod", "config file", "systemd"} {
		t.Run(form, func(t *testing.T) {
			spec := hookSpec(t)
			founder, start, err := spec.Found(t.Context(), first)
			require.NoError(t, err)
			h := hooks(t, founder)[form]
			state := func() string {
				reading, err := Read(h.form, h.path, []byte(read(t, h.path)))
				require.NoError(t, err)
				return reading.Spec.InitialClusterState
			}
			require.NoError(t, h.start(t.Context(), start))
			assert.Equal(t, "new", state())
			written := read(t, h.path)

			// Before etcd has written anything: the same again.
			require.NoError(t, h.start(t.Context(), start))
			assert.Equal(t, written, read(t, h.path))

			// After it has: the file becomes a member's.
			withData(t, spec)
			after := sameHook(t, spec, h)
			require.NoError(t, after(t.Context(), foundedHere(start)))
			assert.Equal(t, existing, state())
			require.NoError(t, after(t.Context(), foundedHere(start)), "once more")

			// The disk is wiped: nothing is founded again.
			require.NoError(t, os.RemoveAll(filepath.Join(spec.DataDir, "member")))
			again, start, err := spec.Found(t.Context(), first)
			require.NoError(t, err)
			require.ErrorIs(t, sameHook(t, again, h)(t.Context(), start), member.ErrDataLost)
			assert.Equal(t, existing, state())
		})
	}
}

// sameHook is the hook of another Spec with the same file.
func sameHook(t *testing.T, spec Spec, h hook) func(context.Context, member.StartSpec) error {
	t.Helper()
	switch h.form {
	case StaticPod:
		return StaticPodStart(h.path, spec)
	case ConfigFile:
		return ConfigFileStart(h.path, spec, func(context.Context, bool) error { return nil })
	}
	return SystemdStart(filepath.Join(t.TempDir(), "etcd.service"), spec, (&systemctl{}).run)
}

// FoundOn waits for the member, and not for another etcd that answers.
func TestFoundOn(t *testing.T) {
	spec := hookSpec(t)
	path := filepath.Join(t.TempDir(), "etcd.yaml")
	var asked int
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch asked++; asked {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3: // and the directory was empty at the second
			withData(t, spec)
		}
	}))
	defer metrics.Close()
	spec.MetricsURLs = []string{metrics.URL}
	err := spec.FoundOn(t.Context(), first, func(s Spec) member.Config { return s.StaticPod(path) })
	require.ErrorIs(t, err, member.ErrForeignData, "the fixture is another cluster's")
	assert.Equal(t, 3, asked)

	exited := &cluster.ExitError{Code: 1}
	other := hookSpec(t)
	other.MetricsURLs = []string{"http://127.0.0.1:1"}
	err = other.FoundOn(t.Context(), first, func(s Spec) member.Config {
		config := s.StaticPod(filepath.Join(t.TempDir(), "etcd.yaml"))
		config.Exited = func(context.Context) *cluster.ExitError { return exited }
		return config
	})
	require.ErrorIs(t, err, exited)

	ended, cancel := context.WithCancel(t.Context())
	err = other.FoundOn(ended, first, func(s Spec) member.Config {
		config := s.StaticPod(filepath.Join(t.TempDir(), "etcd.yaml"))
		config.Exited = func(context.Context) *cluster.ExitError { cancel(); return nil }
		return config
	})
	require.ErrorIs(t, err, context.Canceled)

	other.MetricsURLs, other.Without = nil, []string{"listen-metrics-urls"}
	err = other.FoundOn(t.Context(), first, func(s Spec) member.Config {
		return s.StaticPod(filepath.Join(t.TempDir(), "etcd.yaml"))
	})
	require.ErrorContains(t, err, "MetricsURLs")
}
