package manifest

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const unitPath = "/etc/systemd/system/etcd.service"

// hostFiles is a host's file system.
func hostFiles(files map[string]string) fs.FS {
	root := fstest.MapFS{}
	for name, content := range files {
		root[inRoot(name)] = &fstest.MapFile{Data: []byte(content)}
	}
	return root
}

func readService(t *testing.T, service string, more map[string]string) (Reading, error) {
	t.Helper()
	files := map[string]string{unitPath: "[Unit]\nDescription=etcd\n\n[Service]\n" + service}
	for name, content := range more {
		files[name] = content
	}
	return ReadUnit(hostFiles(files), unitPath)
}

// What the Spec writes reads back.
func TestReadUnitOfOurs(t *testing.T) {
	spec := hookSpec(t)
	spec.Unit.User, spec.Unit.Group = "etcd", "etcd"
	spec, err := spec.For(startOf(twoMembers))
	require.NoError(t, err)
	service, err := spec.UnitFile()
	require.NoError(t, err)
	env, err := spec.Render(Environment)
	require.NoError(t, err)
	r, err := ReadUnit(hostFiles(map[string]string{unitPath: string(service), spec.Unit.EnvironmentFile: string(env)}), unitPath)
	require.NoError(t, err)
	assert.Empty(t, r.Unplaced)
	assert.Equal(t, Unit{Program: defaultProgram, EnvironmentFile: spec.Unit.EnvironmentFile, User: "etcd", Group: "etcd"}, r.Spec.Unit)
	r.Spec.Version = spec.Version
	want, err := spec.Resolved()
	require.NoError(t, err)
	got, err := r.Spec.Resolved()
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestReadUnit(t *testing.T) {
	for name, tc := range map[string]struct {
		service string
		more    map[string]string
		want    string // the name that etcd gets
	}{
		"a flag":                            {"ExecStart=/usr/bin/etcd --name cp-1", nil, "cp-1"},
		"over lines, with a comment":        {"ExecStart=/usr/bin/etcd \\\n  --data-dir=/d \\\n# not now\n  --name=cp-1", nil, "cp-1"},
		"behind a comment with a backslash": {"# a path\\\nExecStart=/usr/bin/etcd --name=cp-1", nil, "cp-1"},
		"quotes":                            {`ExecStart=/usr/bin/etcd "--name=cp-1" '--data-dir=/d'`, nil, "cp-1"},
		"a quoted part":                     {`ExecStart=/usr/bin/etcd --name="cp-1"`, nil, "cp-1"},
		"an escape":                         {`ExecStart=/usr/bin/etcd --name=cp\x2d1`, nil, "cp-1"},
		"an octal one":                      {`ExecStart=/usr/bin/etcd --name=cp\0551`, nil, "cp-1"},
		"a percent sign":                    {`ExecStart=/usr/bin/etcd --name=a%%b`, nil, "a%b"},
		"a variable in braces":              {"Environment=N=1\nExecStart=/usr/bin/etcd --name=cp-${N}", nil, "cp-1"},
		"a variable of words":               {"Environment='OPTS=--data-dir=/d --name=cp-1'\nExecStart=/usr/bin/etcd $OPTS", nil, "cp-1"},
		"a variable that is not set":        {"ExecStart=/usr/bin/etcd $OPTS --name=cp-1", nil, "cp-1"},
		"no variables, by a colon":          {"ExecStart=:/usr/bin/etcd --name=${N}", nil, "${N}"},
		"a dollar":                          {"ExecStart=/usr/bin/etcd --name=a$$b", nil, "a$b"},
		"prefixes":                          {"ExecStart=-+/usr/bin/etcd --name=cp-1", nil, "cp-1"},
		"a name of its own":                 {"ExecStart=@/usr/bin/etcd etcd-server --name=cp-1", nil, "cp-1"},
		"a variable of etcd's":              {"Environment=ETCD_NAME=cp-1 ETCD_DATA_DIR=/d\nExecStart=/usr/bin/etcd", nil, "cp-1"},
		"a file":                            {"EnvironmentFile=/e\nExecStart=/usr/bin/etcd", map[string]string{"/e": "ETCD_NAME='cp-1'\n"}, "cp-1"},
		"a file before Environment":         {"EnvironmentFile=/e\nEnvironment=ETCD_NAME=no\nExecStart=/usr/bin/etcd", map[string]string{"/e": "ETCD_NAME=cp-1\n"}, "cp-1"},
		"the last of two files":             {"EnvironmentFile=/a\nEnvironmentFile=/b\nExecStart=/usr/bin/etcd", map[string]string{"/a": "ETCD_NAME=no", "/b": "ETCD_NAME=cp-1"}, "cp-1"},
		"a file that may be missing":        {"EnvironmentFile=-/e\nExecStart=/usr/bin/etcd --name=cp-1", nil, "cp-1"},
		"a variable of a file, in args":     {"EnvironmentFile=/e\nExecStart=/usr/bin/etcd --name=${N}", map[string]string{"/e": "N=cp-1\n"}, "cp-1"},
		"a config file":                     {"ExecStart=/usr/bin/etcd --config-file /c --name=no", map[string]string{"/c": "name: cp-1\n"}, "cp-1"},
		"a config file by variable":         {"Environment=ETCD_CONFIG_FILE=/c\nExecStart=/usr/bin/etcd", map[string]string{"/c": "name: cp-1\n"}, "cp-1"},
		"a drop-in": {"ExecStart=/usr/bin/etcd --name=no", map[string]string{
			unitPath + ".d/10-x.conf": "[Service]\nExecStart=\nExecStart=/usr/bin/etcd --name=cp-1\n"}, "cp-1"},
		"the last of the drop-ins": {"Environment=ETCD_NAME=no\nExecStart=/usr/bin/etcd", map[string]string{
			unitPath + ".d/10.conf":                      "[Service]\nEnvironment=ETCD_NAME=no\n",
			"/run/systemd/system/etcd.service.d/20.conf": "[Service]\nEnvironment=ETCD_NAME=cp-1\n"}, "cp-1"},
		"a drop-in that hides another": {"Environment=ETCD_NAME=cp-1\nExecStart=/usr/bin/etcd", map[string]string{
			unitPath + ".d/10.conf":                          "",
			"/usr/lib/systemd/system/etcd.service.d/10.conf": "[Service]\nEnvironment=ETCD_NAME=no\n"}, "cp-1"},
		"a drop-in that takes all back": {"Environment=ETCD_NAME=no\nEnvironment=A=b\nExecStart=/usr/bin/etcd --name=cp-1", map[string]string{
			unitPath + ".d/10.conf": "[Service]\nEnvironment=\n"}, "cp-1"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := readService(t, tc.service, tc.more)
			require.NoError(t, err)
			assert.Equal(t, tc.want, r.Spec.Name)
			assert.Equal(t, "/usr/bin/etcd", r.Spec.Unit.Program)
		})
	}
}

func TestReadUnitRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		service, says string
		more          map[string]string
	}{
		"nothing to start":           {"User=etcd", "one ExecStart, not 0", nil},
		"two programs":               {"ExecStart=/usr/bin/etcd\nExecStart=/usr/bin/etcd", "not 2", nil},
		"two commands":               {"ExecStart=/usr/bin/etcd ; /usr/bin/etcd", "two commands", nil},
		"another program":            {"ExecStart=/usr/bin/etcdctl", "not etcd", nil},
		"what only systemd knows":    {"ExecStart=/usr/bin/etcd --name=%H", "%H", nil},
		"and in a variable":          {"Environment=ETCD_NAME=%m\nExecStart=/usr/bin/etcd", "%m", nil},
		"a quote that does not end":  {`ExecStart=/usr/bin/etcd "--name=a`, "quote", nil},
		"a variable without a value": {"Environment=ETCD_NAME\nExecStart=/usr/bin/etcd", "NAME=value", nil},
		"a file that is missing":     {"EnvironmentFile=/e\nExecStart=/usr/bin/etcd", "not exist", nil},
		"files by pattern":           {"EnvironmentFile=/e/*\nExecStart=/usr/bin/etcd", "look up", nil},
		"a setting twice":            {"Environment=ETCD_NAME=a\nExecStart=/usr/bin/etcd --name=b", "given twice", nil},
		"a word that is no flag":     {"ExecStart=/usr/bin/etcd name", "name", nil},
		"a wrong drop-in":            {"ExecStart=/usr/bin/etcd", "10.conf", map[string]string{unitPath + ".d/10.conf": "[Service\nx"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readService(t, tc.service, tc.more)
			require.ErrorContains(t, err, tc.says)
			assert.NotEmpty(t, sourceError(t, err).File)
		})
	}
	_, err := readService(t, "ExecStart=/bin/sh -c 'exec etcd'", nil)
	require.ErrorIs(t, err, ErrShell)
	_, err = ReadUnit(hostFiles(nil), unitPath)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestReadUnitTellsWhatItCannotPlace(t *testing.T) {
	r, err := readService(t, "Environment=GOMAXPROCS=4 ETCD_SECRET=hunter2\nExecStart=/usr/bin/etcd --name=a", nil)
	require.NoError(t, err)
	require.Len(t, r.Unplaced, 2)
	for _, u := range r.Unplaced {
		assert.NotContains(t, u.String(), "hunter2")
	}
}
