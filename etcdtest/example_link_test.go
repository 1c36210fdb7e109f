package etcdtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// A web server at the address that a node is going to have, as a load balancer
// is that forbids what it does not know.
func ExampleLink_Serve() {
	t := newT() // in a test it is the test's own
	defer t.end()
	address := etcdtest.NewLink(t, "")
	visits := address.Serve(etcdtest.Answer{
		Status: http.StatusForbidden,
		Header: http.Header{"Server": {"nginx"}},
	})

	resp, err := http.Get(address.URL() + "/members")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, resp.Header.Get("Server"))
	fmt.Println(visits.Count("/members"), "asked for its members,", visits.Count("/raft"), "sent it raft")
	// Output:
	// 403 nginx
	// 1 asked for its members, 0 sent it raft
}

// The peer URL of a node leads to a voter: an address given twice.
func ExampleLink_LeadTo() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1, etcdtest.WithLinks())
	node := cluster.NewServer("node-2")
	node.Link().LeadTo(cluster.Servers()[0].ListenPeerURL)

	resp, err := http.Get(node.PeerURL + "/version")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, "from a node that does not run:", !node.Running())
	// Output: 200 from a node that does not run: true
}

// A call that its client has given up is still on its way, and takes effect
// when nobody expects it any more.
func ExampleLink_Freeze() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1)
	link := etcdtest.NewLink(t, cluster.Leader().ClientURL)
	client := cluster.ClientAt(link.URL())
	_, _ = client.Get(t.Context(), "k") // the connection stands

	link.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := client.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:1"})
	fmt.Println("given up:", errors.Is(err, context.DeadlineExceeded))
	fmt.Println("members:", count(t.Context(), cluster.Client()))

	link.Heal()
	for count(t.Context(), cluster.Client()) == 1 {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("members, later:", count(t.Context(), cluster.Client()))
	// Output:
	// given up: true
	// members: 1
	// members, later: 2
}

func count(ctx context.Context, client *clientv3.Client) int {
	list, err := client.MemberList(ctx)
	if err != nil {
		return -1
	}
	return len(list.Members)
}

// The voters are reached by the joiner, and do not reach it: a firewall that
// is open one way.
func ExampleWithLinks() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1, etcdtest.WithLinks())
	node := cluster.NewServer("node-2")
	cluster.AddLearner(node)
	node.Link().Drop() // or Refuse, Cut, Freeze
	if err := node.Start(cluster.InitialCluster(node)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("it gets its data all the same:", node.WaitServing(t.Context()) == nil)
	// Output: it gets its data all the same: true
}

// One direction between two of three servers, and that of raft alone: the
// first is not told of entries by the second any more, which still reaches
// everything else of it, as does the third.
func ExampleOnlyFrom() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 3, etcdtest.WithLinks(), etcdtest.WithVersion(process))
	first, second := cluster.Servers()[0], cluster.Servers()[1]
	first.Link().Cut(etcdtest.OnlyFrom(second), etcdtest.OnlyRaft())
}
