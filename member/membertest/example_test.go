package membertest_test

import (
	"context"
	"fmt"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/member/membertest"
)

// A cluster answers as etcd does: here the only voter's second is added the old
// way, and the quorum is gone until it runs.
func Example() {
	ctx := context.Background()
	cluster := membertest.New("http://a:2380")
	_, err := cluster.Add(ctx, member.Target{}, []string{"http://b:2380"}, false)
	fmt.Println(err, cluster.HasQuorum())
	for _, m := range cluster.Members() {
		fmt.Println(m)
	}
	for _, call := range cluster.Calls() {
		fmt.Println(call)
	}
	// Output:
	// <nil> false
	// voter 1 (m1, http://a:2380)
	// voter 2 (never started, http://b:2380)
	// add http://b:2380
}
