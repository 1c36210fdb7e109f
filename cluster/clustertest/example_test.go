package clustertest_test

import (
	"context"
	"fmt"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
)

// A cluster answers as etcd does: here the only voter's second is added the old
// way, and the quorum is gone until it runs.
func Example() {
	ctx := context.Background()
	fake := clustertest.New("http://a:2380")
	_, err := fake.Add(ctx, cluster.Target{}, []string{"http://b:2380"}, false)
	fmt.Println(err, fake.HasQuorum())
	for _, m := range fake.Members() {
		fmt.Println(m)
	}
	for _, call := range fake.Calls() {
		fmt.Println(call)
	}
	// Output:
	// <nil> false
	// voter 1 (m1, http://a:2380)
	// voter 2 (never started, http://b:2380)
	// add http://b:2380
}
