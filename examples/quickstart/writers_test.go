package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMissing(t *testing.T) {
	w := newWriters(nil)
	w.each[0].acknowledged = []string{"a", "b"}
	w.each[7].acknowledged = []string{"c"}
	for name, tc := range map[string]struct {
		found map[string]string
		lost  map[string]bool
	}{
		"all there":              {map[string]string{"a": "a", "b": "b", "c": "c"}, map[string]bool{}},
		"more than acknowledged": {map[string]string{"a": "a", "b": "b", "c": "c", "d": "d"}, map[string]bool{}},
		"a hole":                 {map[string]string{"a": "a", "c": "c"}, map[string]bool{"b": true}},
		"another value":          {map[string]string{"a": "a", "b": "b", "c": "b"}, map[string]bool{"c": true}},
		"nothing there":          {nil, map[string]bool{"a": true, "b": true, "c": true}},
	} {
		t.Run(name, func(t *testing.T) {
			lost := make(map[string]bool)
			w.missing(tc.found, lost)
			assert.Equal(t, tc.lost, lost)
		})
	}
}

func TestALostWriteFailsTheProgram(t *testing.T) {
	var out, errOut bytes.Buffer
	d, err := begin(t.Context(), t.TempDir(), &out, &errOut)
	require.NoError(t, err)
	defer d.close()
	require.NoError(t, d.writers.start())
	time.Sleep(100 * time.Millisecond) // for some more writes
	_, err = d.client.Delete(t.Context(), writePrefix+"first")
	require.NoError(t, err)

	assert.Equal(t, exitFailed, d.finish(t.Context(), nil))
	assert.Regexp(t, `\nwrites: \d+ acknowledged, 1 lost\n$`, out.String())
	assert.Contains(t, errOut.String(), "1 acknowledged writes are lost")
}
