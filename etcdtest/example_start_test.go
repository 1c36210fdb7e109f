package etcdtest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// A node joins a cluster by hand, as a learner that is then promoted.
func ExampleStart() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1)
	node := cluster.NewServer("node-2")
	id := cluster.AddLearner(node)
	if err := node.Start(cluster.InitialCluster(node)); err != nil {
		fmt.Println(err)
		return
	}
	if err := node.WaitServing(t.Context()); err != nil {
		fmt.Println(err)
		return
	}
	cluster.Promote(id)
	fmt.Println("members:", count(t.Context(), cluster.Client()))
	// Output: members: 2
}

// A server stands still: it accepts and does not answer. Then it is killed,
// loses its disk and comes back as if it had never been there.
func ExampleServer_Pause() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	voter := cluster.Servers()[0]

	voter.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := cluster.Client().Get(ctx, "k")
	fmt.Println("no answer:", errors.Is(err, context.DeadlineExceeded))

	voter.Kill()
	voter.Wipe()
	fmt.Println("exit code:", voter.ExitCode())
	if err := voter.Start(""); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("serves:", voter.WaitServing(t.Context()) == nil)
	// Output:
	// no answer: true
	// exit code: 137
	// serves: true
}
