package initialcluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/types"
)

func entry(name string, urls ...string) Entry { return Entry{Name: name, PeerURLs: urls} }

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		value string
		want  Cluster
	}{
		"nothing":                     {"", nil},
		"one member":                  {"a=http://a:1", Cluster{entry("a", "http://a:1")}},
		"several, in their order":     {"b=http://b:1,a=http://a:1", Cluster{entry("b", "http://b:1"), entry("a", "http://a:1")}},
		"a name that comes again":     {"a=http://a:1,b=http://b:1,a=http://a:2", Cluster{entry("a", "http://a:1", "http://a:2"), entry("b", "http://b:1")}},
		"no name":                     {"=http://a:1", Cluster{entry("", "http://a:1")}},
		"two without a name melt":     {"=http://a:1,=http://b:1", Cluster{entry("", "http://a:1", "http://b:1")}},
		"empty pairs":                 {",a=http://a:1,,", Cluster{entry("a", "http://a:1")}},
		"space before the URL":        {"a= http://a:1", Cluster{entry("a", "http://a:1")}},
		"space is part of the name":   {"a=http://a:1, b=http://b:1", Cluster{entry("a", "http://a:1"), entry(" b", "http://b:1")}},
		"an equals sign in the URL":   {"a=unix://a/b=c", Cluster{entry("a", "unix://a/b=c")}},
		"IPv6":                        {"a=https://[fd00::1]:2380", Cluster{entry("a", "https://[fd00::1]:2380")}},
		"an unspecified address":      {"a=http://0.0.0.0:1", Cluster{entry("a", "http://0.0.0.0:1")}},
		"the same URL for two":        {"a=http://a:1,b=http://a:1", Cluster{entry("a", "http://a:1"), entry("b", "http://a:1")}},
		"the same URL twice":          {"a=http://a:1,a=http://a:1", Cluster{entry("a", "http://a:1", "http://a:1")}},
		"names differ by case":        {"a=http://a:1,A=http://b:1", Cluster{entry("a", "http://a:1"), entry("A", "http://b:1")}},
		"the spelling is not changed": {"a=HTTP://A.:01", Cluster{entry("a", "HTTP://A.:01")}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.value)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
			agreesWithEtcd(t, tc.value)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, value := range map[string]string{
		"a name alone":          "a",
		"no URL":                "a=",
		"a URL alone":           "http://a:1",
		"no scheme":             "a=10.0.0.1:2380",
		"no port":               "a=http://a",
		"a path":                "a=http://a:1/",
		"another scheme":        "a=tcp://a:1",
		"the second is bad":     "a=http://a:1,b=http://b",
		"a list under one name": "a=http://a:1,http://a:2",
		"space alone":           " ",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(value)
			var bad *Error
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, "initial cluster", bad.Field)
			agreesWithEtcd(t, value)
		})
	}
}

// agreesWithEtcd compares Parse with etcd's own parser.
func agreesWithEtcd(t *testing.T, value string) {
	t.Helper()
	theirs, theirErr := types.NewURLsMap(value)
	ours, ourErr := Parse(value)
	require.Equal(t, theirErr == nil, ourErr == nil, "etcd: %v, ours: %v", theirErr, ourErr)
	if ourErr != nil {
		return
	}
	require.Len(t, ours, len(theirs))
	for _, e := range ours {
		urls, err := types.NewURLs(e.PeerURLs)
		require.NoError(t, err)
		require.Equal(t, theirs[e.Name].StringSlice(), urls.StringSlice(), "member %q", e.Name)
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "cp-1", "default", "8e9e05c52164694d", "node.example.com", "my node", "bücher", "a:b/c"} {
		assert.NoError(t, CheckName(good), good)
	}
	for name, bad := range map[string]string{
		"empty":         "",
		"equals sign":   "a=b",
		"comma":         "a,b",
		"space before":  " a",
		"space behind":  "a ",
		"only space":    " ",
		"line break":    "a\nb",
		"at the end":    "a\n",
		"null":          "a\x00b",
		"no valid text": "a\xff",
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckName(bad)
			var refused *Error
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, "name", refused.Field)
			assert.ErrorContains(t, err, "must")
		})
	}
}

func TestBuild(t *testing.T) {
	for name, tc := range map[string]struct {
		own    Entry
		others []Entry
		want   string
	}{
		"alone":                           {entry("a", "http://a:1"), nil, "a=http://a:1"},
		"sorted":                          {entry("b", "http://b:1"), []Entry{entry("c", "http://c:1"), entry("a", "http://a:1")}, "a=http://a:1,b=http://b:1,c=http://c:1"},
		"every URL of every member":       {entry("b", "http://b:2", "http://b:1"), []Entry{entry("a", "http://a:1", "http://a:2")}, "a=http://a:1,a=http://a:2,b=http://b:1,b=http://b:2"},
		"not started yet":                 {entry("b", "http://b:1"), []Entry{entry("", "http://10.0.0.3:2380")}, "b=http://b:1,unnamed-10.0.0.3-2380=http://10.0.0.3:2380"},
		"two not started yet":             {entry("b", "http://b:1"), []Entry{entry("", "http://d:1"), entry("", "http://c:1")}, "b=http://b:1,unnamed-c-1=http://c:1,unnamed-d-1=http://d:1"},
		"another has our name":            {entry("b", "http://b:1"), []Entry{entry("b", "http://a:1")}, "b=http://b:1,unnamed-a-1=http://a:1"},
		"two others share a name":         {entry("b", "http://b:1"), []Entry{entry("n", "http://y:1"), entry("n", "http://x:1")}, "b=http://b:1,n=http://x:1,unnamed-y-1=http://y:1"},
		"one named like a placeholder":    {entry("b", "http://b:1"), []Entry{entry("unnamed-c-1", "http://d:1"), entry("", "http://c:1")}, "b=http://b:1,unnamed-c-1=http://d:1,unnamed-c-1-2=http://c:1"},
		"we are named like a placeholder": {entry("unnamed-c-1", "http://b:1"), []Entry{entry("", "http://c:1")}, "unnamed-c-1=http://b:1,unnamed-c-1-2=http://c:1"},
		"one URL, two schemes":            {entry("b", "http://b:1"), []Entry{entry("", "http://c:1"), entry("", "https://c:1")}, "b=http://b:1,unnamed-c-1=http://c:1,unnamed-c-1-2=https://c:1"},
		"one named like a member ID":      {entry("b", "http://b:1"), []Entry{entry("8e9e05c52164694d", "http://a:1"), entry("", "http://c:1")}, "8e9e05c52164694d=http://a:1,b=http://b:1,unnamed-c-1=http://c:1"},
		"a name etcd cannot read":         {entry("b", "http://b:1"), []Entry{entry("x=y", "http://a:1"), entry("x,y", "http://c:1")}, "b=http://b:1,unnamed-a-1=http://a:1,unnamed-c-1=http://c:1"},
		"a name with space around it":     {entry("b", "http://b:1"), []Entry{entry(" x", "http://a:1")}, "b=http://b:1,unnamed-a-1=http://a:1"},
		"a URL listed twice":              {entry("b", "http://b:1", "http://b:1"), []Entry{entry("a", "HTTP://a:1", "http://a:1")}, "a=HTTP://a:1,b=http://b:1"},
		"IPv6":                            {entry("b", "http://b:1"), []Entry{entry("", "https://[fd00::1]:2380")}, "b=http://b:1,unnamed--fd00--1--2380=https://[fd00::1]:2380"},
		"sockets":                         {entry("b", "unix://b:1"), []Entry{entry("", "unixs:///run/x=y")}, "b=unix://b:1,unnamed--run-x-y=unixs:///run/x=y"},
		"the spelling is not changed":     {entry("b", "HTTPS://B.:02380"), nil, "b=HTTPS://B.:02380"},
	} {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(tc.own, tc.others)
			c, err := Build(tc.own, tc.others)
			require.NoError(t, err)
			assert.Equal(t, tc.want, c.String())
			assert.Equal(t, before, fmt.Sprint(tc.own, tc.others), "the caller's lists stay as they are")
			checkBuild(t, tc.own, tc.others, c)
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	good := entry("b", "http://b:1")
	for name, tc := range map[string]struct {
		own    Entry
		others []Entry
		field  string
	}{
		"no name of ours":         {entry("", "http://b:1"), nil, "name"},
		"a bad name of ours":      {entry("x=y", "http://b:1"), nil, "name"},
		"no URL of ours":          {entry("b"), nil, "peer URLs"},
		"no URL of another":       {good, []Entry{entry("a")}, "peer URLs"},
		"an empty URL":            {good, []Entry{entry("a", "")}, "peer URLs"},
		"a URL etcd refuses":      {good, []Entry{entry("a", "http://a")}, "peer URLs"},
		"a list for a URL":        {good, []Entry{entry("a", "unix://a,unix://c")}, "peer URLs"},
		"space around a URL":      {good, []Entry{entry("a", "http://a:1 ")}, "peer URLs"},
		"our URL is another's":    {good, []Entry{entry("a", "http://b:1")}, "peer URLs"},
		"two others share a URL":  {good, []Entry{entry("a", "http://a:1"), entry("c", "http://c:1", "http://a:1")}, "peer URLs"},
		"as etcd would print it":  {good, []Entry{entry("a", "HTTP://b:1")}, "peer URLs"},
		"a whole entry came over": {good, []Entry{good}, "peer URLs"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Build(tc.own, tc.others)
			var bad *Error
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, tc.field, bad.Field)
			assert.Empty(t, c)
		})
	}
}

// checkBuild holds what Build made to its promise, with etcd's own parser.
func checkBuild(t *testing.T, own Entry, others []Entry, c Cluster) {
	t.Helper()
	parsed, err := Parse(c.String())
	require.NoError(t, err)
	require.Equal(t, c, parsed, "what is written reads back")

	theirs, err := types.NewURLsMap(c.String())
	require.NoError(t, err)
	require.Len(t, theirs, len(others)+1, "one entry for each member")
	for _, e := range append([]Entry{own}, others...) {
		want := urlSet(t, e.PeerURLs)
		found := 0
		for name, urls := range theirs {
			if urls.String() != want {
				continue
			}
			found++
			require.NoError(t, CheckName(name))
			if fmt.Sprint(e) == fmt.Sprint(own) {
				require.Equal(t, own.Name, name, "our entry carries our name")
			}
		}
		require.Equal(t, 1, found, "the URLs of %v, once", e)
	}
	real := map[string]bool{own.Name: true}
	for _, e := range others {
		real[e.Name] = true
	}
	for name, urls := range theirs {
		for _, e := range others {
			if strings.HasPrefix(name, "unnamed-") && name != e.Name && urlSet(t, e.PeerURLs) == urls.String() {
				require.False(t, real[name], "placeholder %q is somebody's name", name)
			}
		}
	}
}

// urlSet is a member's URLs as etcd prints them, each once.
func urlSet(t *testing.T, raw []string) string {
	t.Helper()
	urls, err := types.NewURLs(raw)
	require.NoError(t, err)
	return strings.Join(slices.Compact(urls.StringSlice()), ",")
}

// Random lists: few names, so that many collide, hosts that never do.
func TestBuildKeepsItsPromise(t *testing.T) {
	names := []string{"", "", "a", "b", "c", "unnamed-10.0.0.1-2380", "unnamed-10.0.0.1-2380-2", "8e9e05c52164694d", "x=y", "x,y", " a", "default"}
	forms := []string{"http://10.0.0.%d:2380", "https://[fd00::%x]:2380", "http://host-%d:2380", "unix://sock%d:1", "HTTPS://Host%d.example.com.:02380"}
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 5000 {
		next := 0
		urls := func() []string {
			list := make([]string, 1+rnd.IntN(3))
			for i := range list {
				next++
				list[i] = fmt.Sprintf(forms[rnd.IntN(len(forms))], next)
			}
			if rnd.IntN(4) == 0 {
				list = append(list, list[0])
			}
			return list
		}
		own := Entry{Name: names[2+rnd.IntN(6)], PeerURLs: urls()}
		others := make([]Entry, rnd.IntN(8))
		for i := range others {
			others[i] = Entry{Name: names[rnd.IntN(len(names))], PeerURLs: urls()}
		}
		c, err := Build(own, others)
		require.NoError(t, err, "round %d", round)
		checkBuild(t, own, others, c)

		rnd.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
		again, err := Build(own, others)
		require.NoError(t, err)
		require.Equal(t, c.String(), again.String(), "the order of the list must not show")
	}
}

func FuzzParse(f *testing.F) {
	for _, value := range []string{
		"", "a=http://a:1", "a=http://a:1,b=http://b:1,a=http://a:2", "=http://a:1,,", "a=unix://x=y", "a", "a=,", " a = http://[fd00::1]:1 ",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		agreesWithEtcd(t, value)
		c, err := Parse(value)
		if err != nil {
			return
		}
		again, err := Parse(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

func FuzzBuild(f *testing.F) {
	f.Add("a", "http://a:1", "", "http://b:1", "a", "https://b:1")
	f.Add("unnamed-b-1", "http://a:1", "", "http://b:1", "x=y", "unix://b,c")
	f.Fuzz(func(t *testing.T, n1, u1, n2, u2, n3, u3 string) {
		own, others := entry(n1, u1), []Entry{entry(n2, u2), entry(n3, u3, u3)}
		c, err := Build(own, others)
		if err != nil {
			var bad *Error
			require.ErrorAs(t, err, &bad)
			return
		}
		checkBuild(t, own, others, c)
	})
}
