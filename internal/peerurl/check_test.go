package peerurl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		own    string
		others []string
		rule   Rule   // of the refusal
		note   string // text of the only note
	}{
		"first of its host":                    {own: "http://10.0.0.2:2380", others: []string{"http://10.0.0.1:2380"}},
		"nobody else":                          {own: "http://10.0.0.2:2380"},
		"members without readable URLs":        {own: "http://10.0.0.2:2380", others: []string{"", "10.0.0.2:2380", "http://10.0.0.2"}},
		"all IPv4 addresses":                   {own: "http://0.0.0.0:2380", rule: RuleUnspecified},
		"all IPv6 addresses":                   {own: "http://[::]:2380", rule: RuleUnspecified},
		"all IPv6 addresses, written out":      {own: "http://[0:0:0:0:0:0:0:0]:2380", rule: RuleUnspecified},
		"all IPv4 addresses, mapped":           {own: "http://[::ffff:0.0.0.0]:2380", rule: RuleUnspecified},
		"the second is unspecified":            {own: "http://10.0.0.2:2380,http://0.0.0.0:2380", rule: RuleUnspecified},
		"taken":                                {own: "http://10.0.0.1:2380", others: []string{"http://10.0.0.1:2380"}, rule: RuleTaken},
		"taken under another scheme":           {own: "https://10.0.0.1:2380", others: []string{"http://10.0.0.1:2380"}, rule: RuleTaken},
		"taken in another spelling":            {own: "http://[::ffff:10.0.0.1]:2380", others: []string{"http://10.0.0.1:2380"}, rule: RuleTaken},
		"taken, a name in capitals":            {own: "http://ETCD.:02380", others: []string{"http://etcd:2380"}, rule: RuleTaken},
		"taken, localhost":                     {own: "http://localhost:2380", others: []string{"http://127.0.0.1:2380"}, rule: RuleTaken},
		"taken, localhost as IPv6":             {own: "http://[::1]:2380", others: []string{"http://localhost:2380"}, rule: RuleTaken},
		"taken, a socket":                      {own: "unix://m0:1", others: []string{"unixs://m0:1"}, rule: RuleTaken},
		"taken by a member's second URL":       {own: "http://10.0.0.3:2380", others: []string{"http://a:1", "http://10.0.0.3:2380"}, rule: RuleTaken},
		"loopback, a member elsewhere":         {own: "http://127.0.0.1:2380", others: []string{"http://127.0.0.1:1", "http://10.0.0.1:2380"}, rule: RuleLoopback},
		"IPv6 loopback, a member elsewhere":    {own: "http://[::1]:2380", others: []string{"http://10.0.0.1:2380"}, rule: RuleLoopback},
		"any loopback, a member elsewhere":     {own: "http://127.8.0.1:2380", others: []string{"http://10.0.0.1:2380"}, rule: RuleLoopback},
		"mapped loopback, a member elsewhere":  {own: "http://[::ffff:127.0.0.1]:2380", others: []string{"http://10.0.0.1:2380"}, rule: RuleLoopback},
		"localhost, a member elsewhere":        {own: "http://localhost:2380", others: []string{"http://a:2380"}, rule: RuleLoopback},
		"below localhost, a member elsewhere":  {own: "http://b.LOCALHOST.:2380", others: []string{"http://a:2380"}, rule: RuleLoopback},
		"socket, a member elsewhere":           {own: "unix://m1:1", others: []string{"http://a:2380"}, rule: RuleLoopback},
		"all on loopback":                      {own: "http://127.0.0.2:2380", others: []string{"http://127.0.0.1:2380"}},
		"all on sockets":                       {own: "unix://m1:1", others: []string{"unix://m0:1"}},
		"same host, another port":              {own: "http://10.0.0.1:2390", others: []string{"http://10.0.0.1:2380"}, note: "peer URL http://10.0.0.1:2390: the same host as another member's http://10.0.0.1:2380"},
		"same name, another port":              {own: "http://A:2390", others: []string{"http://a:2380"}, note: "peer URL http://A:2390: the same host as another member's http://a:2380"},
		"another port of localhost":            {own: "http://localhost:1", others: []string{"http://127.0.0.1:2"}, note: "peer URL http://localhost:1: the same host as another member's http://127.0.0.1:2"},
		"a member only its machine can reach":  {own: "http://10.0.0.2:2380", others: []string{"http://localhost:2380"}, note: "peer URL http://10.0.0.2:2380: the joiner cannot reach a member listed as http://localhost:2380"},
		"a socket is not a host of that name":  {own: "http://127.0.0.1:1", others: []string{"unix://127.0.0.1:1"}},
		"an unspecified member is not judged":  {own: "http://10.0.0.2:2380", others: []string{"http://0.0.0.0:2380"}},
		"loopback beside an unspecified other": {own: "http://127.0.0.1:2380", others: []string{"http://0.0.0.0:2380"}, rule: RuleLoopback},
	} {
		t.Run(name, func(t *testing.T) {
			own, err := ParseList(tc.own)
			require.NoError(t, err)
			notes, err := Check(own, tc.others)
			if tc.rule != "" {
				var refused *Error
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, tc.rule, refused.Rule)
				return
			}
			require.NoError(t, err)
			if tc.note == "" {
				assert.Empty(t, notes)
				return
			}
			require.Len(t, notes, 1)
			assert.Equal(t, tc.note, notes[0].String())
		})
	}
}
