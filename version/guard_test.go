package version

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGuardPasses(t *testing.T) {
	for name, tc := range map[string]struct {
		versions []string
		lowest   string
	}{
		"the first with learners": {[]string{"3.4.0"}, "3.4.0"},
		"all alike":               {[]string{"3.5.16", "3.5.16", "3.5.16"}, "3.5.16"},
		"in an upgrade":           {[]string{"3.6.1", "3.5.35"}, "3.5.35"},
		"yet to come":             {[]string{"3.8.0-alpha.0"}, "3.8.0-alpha.0"},
	} {
		t.Run(name, func(t *testing.T) {
			silent := []Server{{Member: 9, Endpoint: "http://c:2379"}}
			passed, err := Guard(Seen{Answered: servers(tc.versions...), Silent: silent})
			require.NoError(t, err)
			assert.Equal(t, MustParse(tc.lowest), passed.Lowest)
			assert.Equal(t, silent, passed.Unknown, "the caller must be able to warn")
			require.Len(t, passed.Versions, len(tc.versions))
			for i, v := range tc.versions {
				assert.Equal(t, MustParse(v), passed.Versions[i])
			}
		})
	}
}

func TestGuardRefuses(t *testing.T) {
	for name, versions := range map[string][]string{
		"before learners":           {"3.3.27"},
		"long before":               {"2.3.8"},
		"one of three, the first":   {"3.3.27", "3.5.16", "3.5.16"},
		"one of three, the last":    {"3.5.16", "3.5.16", "3.3.27"},
		"a release candidate":       {"3.4.0-rc.4"},
		"beside one nobody can say": {"not_decided", "3.3.27"},
	} {
		t.Run(name, func(t *testing.T) {
			passed, err := Guard(Seen{Answered: servers(versions...)})
			require.ErrorIs(t, err, ErrLearnerUnsupported)
			require.ErrorIs(t, fmt.Errorf("wrapped: %w", err), ErrLearnerUnsupported)
			var old *UnsupportedError
			require.ErrorAs(t, err, &old)
			assert.Len(t, old.Servers, 1)
			assert.Zero(t, passed, "nothing to go on with")
		})
	}
}

func TestUnsupportedErrorSaysWhoAndWhat(t *testing.T) {
	_, err := Guard(Seen{Answered: []Server{
		{Member: 0x8e9e05c52164694d, Name: "cp-1", Endpoint: "https://10.0.0.1:2379", Version: "3.3.27"},
		{Member: 2, Endpoint: "https://10.0.0.2:2379", Version: "3.5.16"},
		{Member: 3, Version: "3.3.26"},
	}})
	assert.EqualError(t, err, "etcd learner mode is not supported by this etcd version: "+
		"member 8e9e05c52164694d (cp-1) at https://10.0.0.1:2379 runs 3.3.27, member 3 runs 3.3.26; learners came with 3.4.0")
}

func TestGuardWithoutAnAnswerIsAnError(t *testing.T) {
	_, err := Guard(Seen{})
	require.ErrorIs(t, err, ErrNoVersion)

	_, err = Guard(Seen{Silent: []Server{{Member: 1, Endpoint: "http://a:1"}, {Member: 0xab}}})
	require.ErrorIs(t, err, ErrNoVersion)
	assert.ErrorContains(t, err, "no answer from member 1 at http://a:1, member ab")
}

func TestGuardRefusesWhatItCannotRead(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "not decided": "not_decided", "a branch": "3.5", "a word": "unknown"} {
		t.Run(name, func(t *testing.T) {
			_, err := Guard(Seen{Answered: servers("3.5.16", text)})
			var bad *ParseError
			require.ErrorAs(t, err, &bad)
			assert.ErrorContains(t, err, "member 2: ")
			assert.NotErrorIs(t, err, ErrLearnerUnsupported)
		})
	}
}

// servers are members 1, 2, … that run these versions.
func servers(versions ...string) []Server {
	list := make([]Server, len(versions))
	for i, v := range versions {
		list[i] = Server{Member: uint64(i + 1), Version: v}
	}
	return list
}
