package peerurl

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSame(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		want bool
	}{
		"itself":                    {"http://a:1", "http://a:1", true},
		"other case":                {"http://A:1", "HTTP://a:1", true},
		"trailing dot":              {"http://a.:1", "http://a:1", true},
		"mapped IPv4":               {"http://[::ffff:10.0.0.1]:1", "http://10.0.0.1:1", true},
		"port with a zero in front": {"http://a:01", "http://a:1", true},
		"other scheme":              {"http://a:1", "https://a:1", false},
		"other port":                {"http://a:1", "http://a:2", false},
		"other host":                {"http://a:1", "http://b:1", false},
		"other zone":                {"http://[fe80::1%25a]:1", "http://[fe80::1%25b]:1", false},
		"a name is not resolved":    {"http://localhost:1", "http://127.0.0.1:1", false},
		"sockets differ in case":    {"unix://a:1", "unix://A:1", false},
		"unreadable, the same":      {"bad", "bad", true},
		"unreadable, another":       {"bad", "Bad", false},
		"unreadable and readable":   {"a:1", "http://a:1", false},
		"nothing twice":             {"", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, Same(tc.a, tc.b))
			assert.Equal(t, tc.want, Same(tc.b, tc.a))
		})
	}
}

func TestSameSet(t *testing.T) {
	for name, tc := range map[string]struct {
		as, bs []string
		want   bool
	}{
		"other order":           {[]string{"http://a:1", "http://b:1"}, []string{"http://B:1", "http://a.:1"}, true},
		"one twice":             {[]string{"http://a:1", "http://A:1"}, []string{"http://a:1"}, true},
		"twice on either side":  {[]string{"http://a:1", "http://A:1", "http://b:1"}, []string{"http://b:1", "http://b:1", "http://a:1"}, true},
		"one more":              {[]string{"http://a:1", "http://b:1"}, []string{"http://a:1"}, false},
		"as many, not the same": {[]string{"http://a:1", "http://b:1"}, []string{"http://a:1", "http://c:1"}, false},
		"none and none":         {nil, []string{}, true},
		"none and one":          {nil, []string{"http://a:1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, SameSet(tc.as, tc.bs))
			assert.Equal(t, tc.want, SameSet(tc.bs, tc.as))
		})
	}
}
