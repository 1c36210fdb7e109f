package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What a port answers is text from outside: whatever it is, it is read or passed
// over.
func FuzzParseMetrics(f *testing.F) {
	f.Add("# HELP x\netcd_server_proposals_applied_total 1.2e+06\n")
	f.Add("etcd_network_active_peers{Local=\"9\",Remote=\"2\"} 1\n")
	f.Add("etcd_network_peer_received_bytes_total{From=\"1\"} NaN\n{} {\n \n")
	f.Fuzz(func(t *testing.T, text string) {
		assert.Equal(t, parseMetrics(text), parseMetrics(text))
	})
}

func FuzzID(f *testing.F) {
	f.Add("8e9e05c52164694d")
	f.Add("")
	f.Add("0x1")
	f.Fuzz(func(t *testing.T, text string) {
		var id, again ID
		if id.UnmarshalText([]byte(text)) != nil {
			assert.Zero(t, id)
			return
		}
		assert.NoError(t, again.UnmarshalText([]byte(id.String())))
		assert.Equal(t, id, again)
	})
}
