package decide

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// What answers at the URL of an entry to come: who is somebody, and who is worth a word.
func TestOccupied(t *testing.T) {
	replies := func(r ...cluster.Reply) cluster.Knock { return cluster.Knock{URL: "http://d:2380", Replies: r} }
	failed := func(text string) cluster.Knock {
		return cluster.Knock{URL: "http://d:2380", Err: errors.New(text)}
	}
	for name, tc := range map[string]struct {
		knock    cluster.Knock
		occupied bool
		noted    bool
	}{
		"refused":                          {failed("dial tcp d:2380: connect: connection refused"), false, false},
		"no route":                         {failed("dial tcp d:2380: connect: no route to host"), false, false},
		"no such host":                     {failed("dial tcp: lookup d: no such host"), false, false},
		"silent":                           {failed("context deadline exceeded"), false, false},
		"no HTTP":                          {failed("malformed HTTP response"), false, false},
		"not offered":                      {cluster.Knock{Err: cluster.ErrNotOffered}, false, true},
		"an unknown CA of theirs":          {failed("x509: certificate signed by unknown authority"), false, true},
		"another TLS version":              {failed("remote error: tls: protocol version not supported"), false, true},
		"a certificate is asked of us":     {failed("remote error: tls: certificate required"), true, true},
		"the same, said by TLS 1.2":        {failed("remote error: tls: handshake failure"), true, true},
		"ours is not taken":                {failed("remote error: tls: bad certificate"), true, true},
		"ours is of a CA unknown there":    {failed("remote error: tls: unknown certificate authority"), true, true},
		"no gateway":                       {replies(cluster.Reply{Status: 502}, cluster.Reply{Status: 502}), false, true},
		"no backend":                       {replies(cluster.Reply{Status: 503}), false, true},
		"a gateway's timeout":              {replies(cluster.Reply{Status: 504}), false, true},
		"no backend, and etcd's header":    {replies(cluster.Reply{Status: 503, Version: "3.6.16"}), true, true},
		"no backend, and a cluster":        {replies(cluster.Reply{Status: 502, ClusterID: "c1"}), true, true},
		"a backend for messages alone":     {replies(cluster.Reply{Status: 503}, cluster.Reply{Status: 403}), true, true},
		"continues":                        {replies(cluster.Reply{Status: 101}), true, true},
		"a page":                           {replies(cluster.Reply{Status: 200}), true, true},
		"a redirect":                       {replies(cluster.Reply{Status: 307}), true, true},
		"unauthorised":                     {replies(cluster.Reply{Status: 401}), true, true},
		"forbidden":                        {replies(cluster.Reply{Status: 403}), true, true},
		"not found":                        {replies(cluster.Reply{Status: 404}), true, true},
		"gone":                             {replies(cluster.Reply{Status: 410}), true, true},
		"an error":                         {replies(cluster.Reply{Status: 500}), true, true},
		"an etcd":                          {replies(cluster.Reply{Status: 412, Version: "3.6.16", ClusterID: "bad"}), true, true},
		"what calls itself etcd, in a way": {replies(cluster.Reply{Status: 200, Version: "banana"}), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := Occupied(tc.knock)
			assert.Equal(t, tc.occupied, errors.Is(err, reason.ErrURLInUse), "%v", err)
			assert.Equal(t, tc.noted, Noted(tc.knock) != "")
		})
	}
}
