package version

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a release":                             {"3.5.16", "3.5.16"},
		"with a v, as tags have it":             {"v3.5.16", "3.5.16"},
		"a cluster version":                     {"3.5.0", "3.5.0"},
		"alpha":                                 {"3.8.0-alpha.0", "3.8.0-alpha.0"},
		"release candidate":                     {"v3.6.0-rc.3", "3.6.0-rc.3"},
		"built from the main branch":            {"3.5.0-pre", "3.5.0-pre"},
		"build metadata, as 3.3 and 3.4 had it": {"3.4.0+git", "3.4.0+git"},
		"metadata with a dash":                  {"3.4.0+git-1a2b", "3.4.0+git-1a2b"},
		"both":                                  {"3.6.0-rc.1+build.7", "3.6.0-rc.1+build.7"},
		"an image of Kubernetes":                {"3.5.24-0", "3.5.24+0"},
		"an image with metadata":                {"v3.5.24-12+x", "3.5.24+12.x"},
		"a vendor's":                            {"v3.5.21-k3s1", "3.5.21-k3s1"},
		"before there were learners":            {"3.3.27", "3.3.27"},
		"numbers of two digits":                 {"13.24.35", "13.24.35"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Parse(tc.text)
			require.NoError(t, err)
			assert.Equal(t, tc.want, v.String())
			assert.False(t, v.IsZero())
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ text, field string }{
		"nothing":                   {"", "version must not be empty"},
		"not decided":               {"not_decided", "version must be known"},
		"a branch":                  {"3.5", "version must be three numbers"},
		"one number":                {"3", "version must be three numbers"},
		"four numbers":              {"3.5.1.2", "version must be three numbers"},
		"two v":                     {"vv3.5.1", "major must be a decimal number"},
		"a word":                    {"latest", "version must be three numbers"},
		"space":                     {" 3.5.1", "major must be a decimal number"},
		"line break":                {"3.5.1\n", "patch must be a decimal number"},
		"empty major":               {".5.1", "major must be a decimal number"},
		"empty minor":               {"3..1", "minor must be a decimal number"},
		"x for any":                 {"3.5.x", "patch must be a decimal number"},
		"hex":                       {"3.5.0x1", "patch must be a decimal number"},
		"negative":                  {"3.-5.1", "version must be three numbers"},
		"other digits":              {"3.5.١", "patch must be a decimal number"},
		"leading zero":              {"3.05.1", "minor must not have leading zeros"},
		"too large":                 {"3.5.99999999999999999999", "version must be numbers that fit"},
		"empty pre-release":         {"3.5.1-", "pre-release must be"},
		"empty part of pre-release": {"3.5.1-rc..1", "pre-release must be"},
		"bad pre-release":           {"3.5.1-rc_1", "pre-release must be"},
		"empty metadata":            {"3.5.1+", "build metadata must be"},
		"bad metadata":              {"3.5.1+a+b", "build metadata must be"},
		"no release":                {"0.0.0", "0.0.0 is no release"},
		"no release either":         {"0.0.0-rc.1", "0.0.0 is no release"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Parse(tc.text)
			var bad *ParseError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, tc.text, bad.Text)
			assert.ErrorContains(t, err, tc.field)
			assert.True(t, v.IsZero(), "what cannot be read is unknown")
		})
	}
	assert.Panics(t, func() { MustParse("3.5") })
}

func TestCompare(t *testing.T) {
	rising := []string{
		"2.3.8", "3.3.27", "3.4.0-rc.0", "3.4.0", "3.4.9", "3.4.10", "3.5.0-alpha.0", "3.5.0-pre", "3.5.0",
		"3.6.0-alpha.0", "3.6.0-rc.1", "3.6.0-rc.2", "3.6.0-rc.10", "3.6.0", "3.6.14", "3.10.0", "4.0.0",
	}
	for i, a := range rising {
		for j, b := range rising {
			v, w := MustParse(a), MustParse(b)
			want := min(max(i-j, -1), 1)
			assert.Equal(t, want, v.Compare(w), "%s with %s", a, b)
			assert.Equal(t, i >= j, v.AtLeast(w), "%s with %s", a, b)
		}
	}
	assert.Equal(t, 0, MustParse("3.5.0+a").Compare(MustParse("3.5.0")), "metadata does not count")
	assert.Equal(t, -1, Version{}.Compare(MustParse("0.0.1")), "unknown comes first")
}

func TestVersionIsAValue(t *testing.T) {
	v := MustParse("v3.5.16")
	assert.True(t, v == MustParse("3.5.16"))
	assert.False(t, v == MustParse("3.5.16+git"), "== tells texts apart")
	assert.Equal(t, []int{3, 5, 16}, []int{v.Major(), v.Minor(), v.Patch()})
	assert.True(t, Version{}.IsZero())
	assert.Equal(t, "unknown", Version{}.String())
	assert.False(t, Version{}.AtLeast(MustParse("3.4.0")))
}

func TestSameMinor(t *testing.T) {
	v := MustParse("3.5.16")
	assert.True(t, v.SameMinor(MustParse("3.5.0-rc.1")))
	assert.False(t, v.SameMinor(MustParse("3.6.16")))
	assert.False(t, v.SameMinor(MustParse("4.5.16")))
	assert.False(t, v.SameMinor(Version{}))
	assert.False(t, Version{}.SameMinor(Version{}), "two unknown versions are not known to be alike")
}

func TestLowest(t *testing.T) {
	vs := []Version{{}, MustParse("3.6.1"), MustParse("3.5.9"), MustParse("3.5.10")}
	assert.Equal(t, MustParse("3.5.9"), Lowest(vs...))
	assert.True(t, Lowest().IsZero())
	assert.True(t, Lowest(Version{}).IsZero())
}

func TestText(t *testing.T) {
	type doc struct {
		V Version `json:"v"`
		W Version `json:"w,omitzero"`
	}
	text, err := json.Marshal(doc{V: MustParse("v3.6.0-rc.1")})
	require.NoError(t, err)
	assert.JSONEq(t, `{"v":"3.6.0-rc.1"}`, string(text))

	var got doc
	require.NoError(t, json.Unmarshal([]byte(`{"v":"","w":"v3.5.1"}`), &got))
	assert.Equal(t, doc{W: MustParse("3.5.1")}, got)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"v":"3.5"}`), &got), "three numbers")

	empty, err := json.Marshal(doc{})
	require.NoError(t, err)
	assert.JSONEq(t, `{"v":""}`, string(empty))
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"3.5.16", "v3.6.0-rc.3", "3.8.0-alpha.0+git", "3.5.24-0", "3.5.24-0+a.b", "3.5", "not_decided", "3.5.1--", "3.5.1-0-0", "1.2.3-00+-",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Parse(text)
		if err != nil {
			var bad *ParseError
			require.ErrorAs(t, err, &bad)
			require.True(t, v.IsZero())
			return
		}
		require.False(t, v.IsZero())
		again, err := Parse(v.String())
		require.NoError(t, err)
		require.Equal(t, v, again)
		require.Zero(t, v.Compare(again))
		require.False(t, slices.ContainsFunc([]rune(v.String()), func(r rune) bool { return r <= ' ' }))
	})
}
