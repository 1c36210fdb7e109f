package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// Each endpoint speaks for itself, and one that hangs costs the others nothing but the
// time that was given.
func TestEndpointsAreAskedOneByOne(t *testing.T) {
	one := serve(t, &server{id: 1})
	two := serve(t, &server{id: 2, version: "3.5.35", members: []*pb.Member{{ID: 2, Name: "m2"}, {ID: 3, Name: "m3"}}})
	learner := serve(t, &server{id: 3, fail: func(call string) error {
		if call == "list-at" {
			return rpctypes.ErrGRPCNotSupportedForLearner
		}
		return nil
	}})
	dead, hung := deadURL(t), hungURL(t)
	told, err := clientOf(t, cluster.ClientConfig{}, one.url, dead, two.url, hung, learner.url).Endpoints(within(t, 2*time.Second))
	require.NoError(t, err)
	require.Len(t, told, 5)
	for i, want := range []struct {
		url     string
		id      cluster.ID
		members int
	}{{one.url, 1, 1}, {dead, 0, 0}, {two.url, 2, 2}, {hung, 0, 0}, {learner.url, 3, 0}} {
		assert.Equal(t, want.url, told[i].URL)
		assert.Equal(t, want.id, told[i].Status.ID)
		assert.Len(t, told[i].List.Members, want.members)
		assert.Equal(t, want.id == 0, told[i].Err != nil, "%v", told[i].Err)
	}
}
