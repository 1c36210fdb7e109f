package etcdtest_test

import (
	"crypto/x509"
	"fmt"
	"os/exec"
	"time"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// Who leads, by the servers' own metrics.
func ExampleServer_Metric() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	leads, ok := cluster.Servers()[0].Metric("etcd_server_is_leader")
	fmt.Println(leads, ok)
	// Output: 1 true
}

// A server that gives up says why.
func ExampleServer_WaitLog() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	node := cluster.NewServer("node-2") // nobody has added it
	if err := node.Start(cluster.InitialCluster(node) + "," + node.Name + "=" + node.PeerURL); err != nil {
		fmt.Println(err)
		return
	}
	_, err := node.WaitLog(t.Context(), "member count is unequal")
	<-node.Exited()
	fmt.Println(err, node.ExitCode())
	// Output: <nil> 1
}

// Two servers with the data of one, each a cluster of its own: two histories
// under one cluster ID.
func ExampleServer_CopyData() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	voter := cluster.Servers()[0]
	voter.Stop()
	clone := cluster.NewServer(voter.Name)
	clone.CopyData(voter)
	for s, flags := range map[*etcdtest.Server][]string{voter: nil, clone: {"--force-new-cluster"}} {
		if err := s.StartArgs(s.Name+"="+s.PeerURL, flags...); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.WaitServing(t.Context()))
	}
	// Output:
	// <nil>
	// <nil>
}

// A joiner whose peer certificate is not valid yet: its host's clock is behind.
func ExampleCluster_IssuePeer() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1, etcdtest.WithTLS(), etcdtest.WithVersion("3.7.3"))
	early := cluster.IssuePeer(func(leaf *x509.Certificate) { leaf.NotBefore = time.Now().Add(time.Hour) })
	node := cluster.NewServer("node-2")
	cluster.AddLearner(node)
	if err := node.StartArgs(cluster.InitialCluster(node), early.PeerFlags()...); err != nil {
		fmt.Println(err)
		return
	}
	_, err := cluster.Servers()[0].WaitLog(t.Context(), "not yet valid")
	fmt.Println(err)
	// Output: <nil>
}

// How another release reads a configuration is asked of its own packages.
func ExampleProgram() {
	t := newT() // in a test it is the test's own
	defer t.end()
	bin := etcdtest.Program(t, "3.7.3", `package main

import (
	"fmt"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() { fmt.Println(embed.NewConfig().ElectionMs) }
`)
	said, err := exec.CommandContext(t.Context(), bin).Output()
	fmt.Print(string(said), err)
	// Output:
	// 1000
	// <nil>
}
