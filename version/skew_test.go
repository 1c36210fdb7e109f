package version

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSkew(t *testing.T) {
	for name, tc := range map[string]struct {
		joiner  string
		cluster []string
		refused bool
	}{
		"the same":                    {"3.5.16", []string{"3.5.16"}, false},
		"an older patch":              {"3.5.16", []string{"3.5.35"}, false},
		"one above":                   {"3.6.16", []string{"3.5.35"}, false},
		"one above, 3.4":              {"3.5.35", []string{"3.4.45"}, false},
		"one above, an alpha":         {"3.8.0-alpha.0", []string{"3.7.3"}, false},
		"a beta into its release":     {"3.7.0-beta.0", []string{"3.7.3"}, false},
		"old in an upgrade":           {"3.5.35", []string{"3.6.1", "3.5.35"}, false},
		"new in an upgrade":           {"3.6.1", []string{"3.6.1", "3.5.35"}, false},
		"one below":                   {"3.5.35", []string{"3.6.16"}, true},
		"one below, all upgraded":     {"3.6.16", []string{"3.7.0", "3.7.3"}, true},
		"two above":                   {"3.7.3", []string{"3.5.35"}, true},
		"two above the lowest":        {"3.7.3", []string{"3.6.16", "3.5.35"}, true},
		"two above, 3.6 into 3.4":     {"3.6.16", []string{"3.4.45"}, true},
		"before learners":             {"3.3.27", []string{"3.4.45"}, true},
		"another major":               {"4.0.0", []string{"3.7.3"}, true},
		"another major, minor beside": {"4.7.0", []string{"3.7.3"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := Skew(MustParse(tc.joiner), parseAll(tc.cluster))
			if !tc.refused {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrSkew)
			var skew *SkewError
			require.ErrorAs(t, fmt.Errorf("wrapped: %w", err), &skew)
			assert.Equal(t, MustParse(tc.joiner), skew.Joiner)
			assert.ErrorContains(t, err, tc.joiner)
			assert.ErrorContains(t, err, skew.Cluster.String())
		})
	}
}

func TestSkewAndTheUnknown(t *testing.T) {
	require.NoError(t, Skew(Version{}, parseAll([]string{"3.5.0"})), "an unknown joiner falls under no rule")
	require.NoError(t, Skew(Version{}, nil))
	require.NoError(t, Skew(MustParse("3.6.0"), []Version{{}, MustParse("3.6.0")}), "who is silent does not count")
	require.ErrorIs(t, Skew(MustParse("3.6.0"), nil), ErrNoVersion)
	require.ErrorIs(t, Skew(MustParse("3.6.0"), []Version{{}}), ErrNoVersion)
}

func parseAll(texts []string) []Version {
	vs := make([]Version, len(texts))
	for i, text := range texts {
		vs[i] = MustParse(text)
	}
	return vs
}

// versions reads "3.5.16 3.6.0".
func versions(list string) []Version { return parseAll(strings.Fields(list)) }
