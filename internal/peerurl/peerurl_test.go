package peerurl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/types"
)

func TestNormalize(t *testing.T) {
	for name, tc := range map[string]struct{ raw, want string }{
		"IPv4":                            {"http://10.0.0.1:2380", "http://10.0.0.1:2380"},
		"scheme in capitals":              {"HTTPS://10.0.0.1:2380", "https://10.0.0.1:2380"},
		"port with leading zeros":         {"http://10.0.0.1:02380", "http://10.0.0.1:2380"},
		"IPv6":                            {"http://[2001:db8::1]:2380", "http://[2001:db8::1]:2380"},
		"IPv6 in capitals":                {"http://[2001:DB8::A]:2380", "http://[2001:db8::a]:2380"},
		"IPv6 written out":                {"http://[2001:0db8:0000:0000:0000:0000:0000:0001]:2380", "http://[2001:db8::1]:2380"},
		"IPv6 with another run of zeros":  {"http://[2001:db8:0:0:1:0:0:1]:2380", "http://[2001:db8::1:0:0:1]:2380"},
		"IPv6 with an IPv4 tail":          {"http://[64:ff9b::10.0.0.1]:2380", "http://[64:ff9b::a00:1]:2380"},
		"IPv4 mapped into IPv6":           {"http://[::ffff:10.0.0.1]:2380", "http://10.0.0.1:2380"},
		"IPv4 mapped into IPv6, in hex":   {"http://[::FFFF:a00:1]:2380", "http://10.0.0.1:2380"},
		"IPv6 loopback written out":       {"http://[0:0:0:0:0:0:0:1]:2380", "http://[::1]:2380"},
		"IPv6 with a zone":                {"http://[FE80::1%25eth0]:2380", "http://[fe80::1%25eth0]:2380"},
		"a zone keeps its case":           {"http://[fe80::1%25Ethernet]:2380", "http://[fe80::1%25Ethernet]:2380"},
		"host name":                       {"https://etcd-1.example.com:2380", "https://etcd-1.example.com:2380"},
		"host name in capitals":           {"https://ETCD-1.Example.com:2380", "https://etcd-1.example.com:2380"},
		"host name with a trailing dot":   {"https://etcd-1.example.com.:2380", "https://etcd-1.example.com:2380"},
		"host name with an underscore":    {"http://etcd_1:2380", "http://etcd_1:2380"},
		"host name that begins with one":  {"http://1.etcd:2380", "http://1.etcd:2380"},
		"host name in percent encoding":   {"http://%61:2380", ""},
		"host name that looks like hex":   {"http://8e9e05c52164694d:2380", "http://8e9e05c52164694d:2380"},
		"punycode":                        {"http://xn--bcher-kva.example:2380", "http://xn--bcher-kva.example:2380"},
		"unix socket":                     {"unix://localhost:m0", ""},
		"unix socket in the working dir":  {"unix://m0:2380", "unix://m0:2380"},
		"unix socket with a path":         {"unixs:///run/etcd/Peer.sock", "unixs:///run/etcd/Peer.sock"},
		"unix scheme in capitals":         {"UNIX://M0:2380", "unix://M0:2380"},
		"unspecified, as somebody's else": {"http://0.0.0.0:2380", "http://0.0.0.0:2380"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Normalize(tc.raw)
			if tc.want == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
			again, err := Normalize(got)
			require.NoError(t, err)
			assert.Equal(t, got, again, "the normal form must be its own")
			u, err := Parse(tc.raw)
			require.NoError(t, err)
			assert.Equal(t, tc.raw, u.Raw(), "the caller's string must not change")
			assert.True(t, etcdAccepts(tc.raw), "what we accept etcd must accept")
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		raw  string
		rule Rule
	}{
		"nothing":                        {"", RuleEmpty},
		"space around it":                {" http://a:2380", RuleSpace},
		"line break":                     {"http://a:2380\n", RuleSpace},
		"space within":                   {"http://a b:2380", RuleSyntax},
		"comma":                          {"http://a:2380,http://b:2380", RuleComma},
		"no scheme":                      {"10.0.0.1:2380", RuleSyntax},
		"no scheme, a name":              {"etcd-1:2380", RuleScheme},
		"no scheme, slashes":             {"//etcd-1:2380", RuleScheme},
		"another scheme":                 {"ftp://a:2380", RuleScheme},
		"etcd's client scheme":           {"grpc://a:2379", RuleScheme},
		"scheme without slashes":         {"http:a:2380", RuleHost},
		"user":                           {"http://u@a:2380", RuleUser},
		"user and password":              {"http://u:secret@a:2380", RuleUser},
		"empty user":                     {"http://@a:2380", RuleUser},
		"path":                           {"http://a:2380/raft", RulePath},
		"a lone slash":                   {"http://a:2380/", RulePath},
		"query":                          {"http://a:2380?x=1", RuleQuery},
		"empty query":                    {"http://a:2380?", RuleQuery},
		"fragment":                       {"http://a:2380#x", RuleFragment},
		"empty fragment":                 {"http://a:2380#", RuleFragment},
		"no host":                        {"http://:2380", RuleHost},
		"no host nor port":               {"http://", RuleHost},
		"only a dot":                     {"http://.:2380", RuleHost},
		"empty label":                    {"http://a..b:2380", RuleHost},
		"not ASCII":                      {"http://bücher.example:2380", RuleHost},
		"not ASCII, encoded":             {"http://b%C3%BCcher.example:2380", RuleHost},
		"star":                           {"http://*:2380", RuleHost},
		"no port":                        {"http://a", RulePort},
		"empty port":                     {"http://a:", RulePort},
		"IPv6 without port":              {"http://[::1]", RulePort},
		"port zero":                      {"http://a:0", RulePort},
		"port too high":                  {"http://a:65536", RulePort},
		"port of many digits":            {"http://a:99999999999999999999", RulePort},
		"port by name":                   {"http://a:https", RuleSyntax},
		"brackets never closed":          {"http://[::1:2380", RuleSyntax},
		"zone without percent encoding":  {"http://[fe80::1%eth0]:2380", RuleSyntax},
		"IPv4 with a leading zero":       {"http://010.0.0.1:2380", RuleHost},
		"IPv4 of two numbers":            {"http://127.1:2380", RuleHost},
		"IPv4 as one number":             {"http://2130706433:2380", RuleHost},
		"IPv4 in hex":                    {"http://0x7f000001:2380", RuleHost},
		"IPv4 with a hex tail":           {"http://127.0.0.0x1:2380", RuleHost},
		"IPv4 out of range":              {"http://256.0.0.1:2380", RuleHost},
		"IPv4 with a trailing dot":       {"http://10.0.0.1.:2380", RuleHost},
		"unix socket without a name":     {"unix://", RuleHost},
		"unix socket of slashes":         {"unix:///", RuleHost},
		"unix socket without the slash":  {"unix:m0", RuleHost},
		"percent in the scheme's place":  {"%68ttp://a:2380", RuleSyntax},
		"null byte":                      {"http://a\x00:2380", RuleSyntax},
		"backslash, as some shells make": {`http:\\a:2380`, RuleHost},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.raw)
			var refused *Error
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, tc.rule, refused.Rule, err)
			assert.ErrorContains(t, err, "peer URL", "the field is named")
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

// Newer releases of Go refuse these in net/url, under older ones we do.
func TestParseRefusesBadAddresses(t *testing.T) {
	for name, raw := range map[string]string{
		"IPv4 in brackets":      "http://[10.0.0.1]:2380",
		"a name in brackets":    "http://[etcd]:2380",
		"IPv6 without brackets": "http://fe80::1:2380",
		"IPv6 with a bad group": "http://[::g]:2380",
		"two ports":             "http://a:2380:2380",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(raw)
			var refused *Error
			require.ErrorAs(t, err, &refused)
			assert.Contains(t, []Rule{RuleHost, RuleSyntax}, refused.Rule)
		})
	}
}

func TestErrorsHidePasswords(t *testing.T) {
	for _, raw := range []string{
		"http://u:secret@a:2380", "http://u:secret@a:bad", "u:secret@a", "http://u:secret@[a:1", "http://u:se/cret@a:secret",
		"http://u:secret@a:2380?x", " http://u:secret@a:2380",
	} {
		_, err := Parse(raw)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "cret@", raw)
		assert.NotContains(t, err.Error(), "u:sec", raw)
	}
}

func TestParseList(t *testing.T) {
	urls, err := ParseList("https://B:2380, https://10.0.0.1:02380")
	require.NoError(t, err)
	assert.Equal(t, []string{"https://B:2380", "https://10.0.0.1:02380"}, Strings(urls), "order and spelling are the caller's")

	for name, tc := range map[string]struct {
		list string
		rule Rule
	}{
		"nothing":                   {"", RuleEmpty},
		"comma at the end":          {"http://a:1,", RuleEmpty},
		"two commas":                {"http://a:1,,http://b:1", RuleEmpty},
		"one is bad":                {"http://a:1,http://b", RulePort},
		"the same twice":            {"http://a:1,http://a:1", RuleTwice},
		"the same in two spellings": {"http://a:1,HTTP://A.:01", RuleTwice},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseList(tc.list)
			var refused *Error
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, tc.rule, refused.Rule)
		})
	}
}

func TestHostPort(t *testing.T) {
	for raw, want := range map[string]string{
		"http://10.0.0.1:2380":         "10.0.0.1:2380",
		"http://[::FFFF:10.0.0.1]:80":  "10.0.0.1:80",
		"https://[2001:DB8::1]:2380":   "[2001:db8::1]:2380",
		"https://[fe80::1%25eth0]:080": "[fe80::1%eth0]:80",
		"https://A.:2380":              "a:2380",
		"unix:///run/x":                "/run/x",
		"unix://m0:1":                  "m0:1",
	} {
		got, err := HostPort(raw)
		require.NoError(t, err, raw)
		assert.Equal(t, want, got)
	}
	_, err := HostPort("a:1")
	assert.Error(t, err)
}

func TestParts(t *testing.T) {
	u, err := Parse("HTTPS://A:01")
	require.NoError(t, err)
	assert.Equal(t, "https", u.Scheme())
	assert.Equal(t, "a", u.Host())
	assert.False(t, u.Unix())
}

func etcdAccepts(raw string) bool {
	_, err := types.NewURLs([]string{raw})
	return err == nil
}

func FuzzParse(f *testing.F) {
	for _, raw := range []string{
		"http://10.0.0.1:2380", "https://[fe80::1%25eth0]:2380", "unix://m0:1", "unixs:///run/a%20b", "http://A.b.:080",
		"http://[::ffff:1.2.3.4]:1", "http://u:p@h:1", "http://[fe80::1%25a%25b]:1", "http:opaque", "unix:/x",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Parse(raw)
		if err != nil {
			var refused *Error
			require.ErrorAs(t, err, &refused)
			return
		}
		require.True(t, etcdAccepts(raw), "we accept %q, etcd does not", raw)
		require.Equal(t, raw, u.Raw())
		again, err := Parse(u.String())
		require.NoError(t, err, "normal form of %q", raw)
		require.Equal(t, u.String(), again.String())
		require.Equal(t, u.HostPort(), again.HostPort())
		require.Equal(t, u.Loopback(), again.Loopback())
		require.Equal(t, u.Unspecified(), again.Unspecified())
		require.True(t, Same(raw, u.String()))
		require.False(t, strings.ContainsAny(u.String(), "\n\x00 ,"))
	})
}
