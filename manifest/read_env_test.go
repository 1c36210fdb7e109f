package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEnvironmentAsSystemdReadsIt has what systemd 252 itself makes of each line
// (its environment-d generator, which shares the parser).
func TestEnvironmentAsSystemdReadsIt(t *testing.T) {
	for line, want := range map[string]string{
		`A = a`:                         `a`,
		`A="/var/\"etcd\" \n"'x y'`:     `/var/"etcd" \nx y`,
		`A=/wal dir  `:                  `/wal dir`,
		"A=one\\\ntwo":                  `onetwo`,
		`A=simple # no comment`:         `simple # no comment`,
		"A=\"a \\\\ b \\` c\"":          "a \\ b ` c",
		`A='it''s'"x"`:                  `itsx`,
		`A=it's "q"`:                    `it's "q"`,
		`A=a"b c"d`:                     `a"b c"d`,
		"A=\"multi\nline\"":             "multi\nline",
		`A="a" b`:                       `ab`,
		`A=  lead`:                      `lead`,
		`A=x\ `:                         `x `,
		`A='a\b'`:                       `a\b`,
		`A="tail "  `:                   `tail `,
		`A=back\\slash\"q`:              `back\slash"q`,
		`A=`:                            ``,
		"# c\n ; c\n\t A=\"x\"\r\n":     `x`,
		`A=caf` + "\u00e9" + ` "` + `é`: `café "é`,
	} {
		t.Run(line, func(t *testing.T) {
			all, err := scanEnv([]byte(line + "\nB=1\n"))
			require.NoError(t, err)
			require.Len(t, all, 2)
			assert.Equal(t, want, all[0].value)
			assert.Equal(t, "1", all[1].value)
		})
	}
}

func TestEditKeepsLineBreaks(t *testing.T) {
	set := map[string]string{"name": "b", "initial-cluster-state": existing}
	for form, files := range map[Form][2]string{
		ConfigFile:  {"data-dir: /x\r\nname: a # mine\r\nwal-dir: /w\r\n", "data-dir: /x\r\ninitial-cluster-state: existing\r\nname: b # mine\r\nwal-dir: /w\r\n"},
		Environment: {"ETCD_DATA_DIR=/x\r\n# c\r\nETCD_NAME=a\r\n", "ETCD_DATA_DIR=/x\r\nETCD_INITIAL_CLUSTER_STATE=existing\r\n# c\r\nETCD_NAME=b\r\n"},
	} {
		out, err := Edit(form, "", []byte(files[0]), set)
		require.NoError(t, err)
		assert.Equal(t, files[1], string(out))
	}
	out, err := Edit(Environment, "", []byte("ETCD_NAME=a"), set)
	require.NoError(t, err)
	assert.Equal(t, "ETCD_NAME=b\nETCD_INITIAL_CLUSTER_STATE=existing", string(out))
	out, err = Edit(Environment, "", nil, set)
	require.NoError(t, err)
	assert.Equal(t, "ETCD_INITIAL_CLUSTER_STATE=existing\nETCD_NAME=b\n", string(out))
	out, err = Edit(ConfigFile, "", []byte(`{"name": "a"}`), set)
	require.NoError(t, err)
	assert.Equal(t, `{"name": "b", "initial-cluster-state": "existing"}`, string(out))
}
