package manifest

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/version"
)

// registered is what a server of one version registers, read off its sources:
// lines "flag NAME", "key PATH" (of the config file), "gate NAME".
func registered(t *testing.T, file string) map[string]bool {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	lines := map[string]bool{}
	for s := bufio.NewScanner(f); s.Scan(); {
		lines[s.Text()] = true
	}
	return lines
}

// elsewhere are keys that no flag has, or only under another key.
var elsewhere = map[string]string{
	"key client-transport-security.allowed-cn":                   "only peers are checked by name: no flag",
	"key client-transport-security.skip-client-san-verification": "no flag for the client port",
}

func TestTableIsWhatServersRegister(t *testing.T) {
	files, err := filepath.Glob("testdata/servers/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			server, v := registered(t, file), version.MustParse(name)
			ours := map[string]bool{}
			for _, s := range table {
				if s.in.Has(v) {
					ours["flag "+s.flag] = true
				}
				if s.in.Has(v) && s.gate != "" {
					ours["gate "+s.gate] = true
				}
				if s.key != "" && s.in.Has(v) && s.keyIn.Has(v) {
					ours["key "+s.key] = true
				}
			}
			for line := range server {
				if _, known := elsewhere[line]; !known {
					assert.True(t, ours[line], "etcd %s has %q, the table not", name, line)
				}
			}
			for line := range ours {
				assert.True(t, server[line], "the table gives etcd %s %q, which it does not have", name, line)
			}
		})
	}
}
