package version

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRange(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		in, out []string
	}{
		"backported fix": {
			"3.4.29+, 3.5.11+, 3.6+",
			[]string{"3.4.29", "3.4.45", "3.5.11", "3.5.35", "3.6.0-alpha.0", "3.6.0", "3.7.3", "4.0.0"},
			[]string{"3.3.27", "3.4.28", "3.5.0-rc.1", "3.5.0", "3.5.10"},
		},
		"from a release on": {
			"3.5.0+",
			[]string{"3.5.0", "3.5.0+git", "3.6.0-rc.0", "3.7.0"},
			[]string{"3.4.45", "3.5.0-rc.1"},
		},
		"from a pre-release on": {
			"3.6.0-rc.3+",
			[]string{"3.6.0-rc.3", "3.6.0-rc.10", "3.6.0", "3.7.0"},
			[]string{"3.5.35", "3.6.0-rc.2", "3.6.0-alpha.0"},
		},
		"from to": {
			"3.5.1 to 3.5.19",
			[]string{"3.5.1", "3.5.9", "3.5.19", "3.5.19+git"},
			[]string{"3.5.0", "3.5.20", "3.4.5", "3.6.5"},
		},
		"across branches": {
			"3.4.30 to 3.6.1",
			[]string{"3.4.30", "3.4.45", "3.5.0", "3.5.35", "3.6.1"},
			[]string{"3.4.29", "3.6.2"},
		},
		"from a branch's first pre-release to": {
			"3.6 to 3.6.3",
			[]string{"3.6.0-alpha.0", "3.6.0", "3.6.3"},
			[]string{"3.5.35", "3.6.4"},
		},
		"whole branches": {
			"3.3 to 3.4",
			[]string{"3.3.0", "3.3.27", "3.4.0-rc.0", "3.4.45"},
			[]string{"3.2.9", "3.5.0-alpha.0", "3.5.0"},
		},
		"one release":   {"3.6.0", []string{"3.6.0"}, []string{"3.6.1", "3.6.0-rc.1", "3.5.9"}},
		"one branch":    {"3.4", []string{"3.4.0-rc.1", "3.4.0", "3.4.45"}, []string{"3.3.27", "3.5.0"}},
		"several kinds": {"3.4, 3.5.0 to 3.5.2, 3.6.11+", []string{"3.4.9", "3.5.2", "3.6.11", "3.7.0"}, []string{"3.5.3", "3.6.10"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ParseRange(tc.text)
			require.NoError(t, err)
			for _, v := range tc.in {
				assert.True(t, r.Has(MustParse(v)), v)
			}
			for _, v := range tc.out {
				assert.False(t, r.Has(MustParse(v)), v)
			}
			assert.False(t, r.Has(Version{}), "unknown is in no range")
			assert.Equal(t, tc.text, r.String())
			assert.False(t, r.IsZero())
		})
	}
}

func TestEmptyRange(t *testing.T) {
	assert.True(t, Range{}.IsZero())
	assert.False(t, Range{}.Has(MustParse("3.5.0")))
}

func TestParseRangeRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":           "",
		"empty entry":       "3.4+, ",
		"one number":        "3+",
		"a word":            "all",
		"backwards":         "3.5.19 to 3.5.1",
		"branches backward": "3.6 to 3.5",
		"no end":            "3.5.1 to ",
		"bad end":           "3.5.1 to later",
		"two plus":          "3.5.1++",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseRange(text)
			assert.ErrorContains(t, err, "version range")
			assert.Panics(t, func() { MustRange(text) })
		})
	}
}
