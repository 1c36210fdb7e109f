package manifest

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// systemctl keeps what it was asked, and fails the call that comes after so many
// good ones, if that is not zero.
type systemctl struct {
	calls []string
	good  int
	err   error
}

func (s *systemctl) run(_ context.Context, name string, args ...string) error {
	s.calls = append(s.calls, strings.Join(append([]string{name}, args...), " "))
	if s.err != nil && len(s.calls) > s.good {
		return s.err
	}
	return nil
}

func (s *systemctl) asked() []string {
	calls := s.calls
	s.calls = nil
	return calls
}

var (
	fromNewFiles = []string{"systemctl daemon-reload", "systemctl enable etcd.service", "systemctl restart --no-block etcd.service"}
	fromTheSame  = []string{"systemctl enable etcd.service", "systemctl start --no-block etcd.service"}
	stopped      = []string{"systemctl disable --now etcd.service"}
)

func TestSystemd(t *testing.T) {
	spec, fake := hookSpec(t), &systemctl{}
	unit := filepath.Join(t.TempDir(), "etcd.service")
	start, stop := SystemdStart(unit, spec, fake.run), SystemdStop(unit, fake.run)

	require.NoError(t, stop(t.Context()))
	assert.Empty(t, fake.asked(), "nothing was started")

	require.NoError(t, start(t.Context(), startOf(twoMembers)))
	assert.Equal(t, fromNewFiles, fake.asked())
	assert.Equal(t, fs.FileMode(unitMode), mode(t, unit))
	assert.Contains(t, read(t, unit), "EnvironmentFile="+spec.Unit.EnvironmentFile+"\n")

	require.NoError(t, start(t.Context(), startOf(twoMembers)))
	assert.Equal(t, fromTheSame, fake.asked())

	other := startOf(twoMembers)
	other.MemberID++
	require.NoError(t, start(t.Context(), other))
	assert.Equal(t, fromNewFiles, fake.asked())

	require.NoError(t, stop(t.Context()))
	assert.Equal(t, stopped, fake.asked())
	assert.FileExists(t, unit)
}

// Wherever systemctl fails, the next start asks for all of it again.
func TestSystemdFails(t *testing.T) {
	for good := range fromNewFiles {
		fake := &systemctl{good: good, err: errors.New("no bus")}
		start := SystemdStart(filepath.Join(t.TempDir(), "etcd.service"), hookSpec(t), fake.run)
		require.ErrorIs(t, start(t.Context(), startOf(twoMembers)), fake.err)
		assert.Equal(t, fromNewFiles[:good+1], fake.asked())

		fake.err = nil
		require.NoError(t, start(t.Context(), startOf(twoMembers)))
		assert.Equal(t, fromNewFiles, fake.asked())
	}
}

func TestSystemdNamesAWrongUnit(t *testing.T) {
	spec := hookSpec(t)
	spec.Unit.User = "two words"
	unit := filepath.Join(t.TempDir(), "etcd.service")
	err := SystemdStart(unit, spec, (&systemctl{}).run)(t.Context(), startOf(twoMembers))
	require.ErrorContains(t, err, "Unit.User")
	assert.NoFileExists(t, unit)
	assert.NoFileExists(t, spec.Unit.EnvironmentFile)
}

func TestExec(t *testing.T) {
	require.NoError(t, Exec(t.Context(), "true"))
	err := Exec(t.Context(), "sh", "-c", "echo no such unit >&2; exit 5")
	require.EqualError(t, err, "sh -c echo no such unit >&2; exit 5: exit status 5: no such unit")

	var none Runner
	err = none.systemctl(t.Context(), [][]string{{"no-such-verb"}})
	require.ErrorContains(t, err, "systemctl no-such-verb")
}
