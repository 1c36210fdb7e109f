package etcdtest_test

import (
	"errors"
	"fmt"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// A voter with IPv6, and a joiner without.
func ExampleWithHost() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1, etcdtest.WithHost("::1"))
	node := cluster.NewServer("node-2", etcdtest.WithHost("127.0.0.1"))
	fmt.Println(strings.HasPrefix(cluster.Servers()[0].PeerURL, "http://[::1]:"))
	fmt.Println(strings.HasPrefix(node.PeerURL, "http://127.0.0.1:"))
}

// Every voter publishes a client URL first at which nobody listens.
func ExampleWithClientURLs() {
	t := newT() // in a test it is the test's own
	defer t.end()
	dead := etcdtest.NewLink(t, "")
	dead.Refuse() // or Drop: one that says nothing
	cluster := etcdtest.Start(t, 1, etcdtest.WithClientURLs(func(own string) []string {
		return []string{dead.URL(), own}
	}))
	list, err := cluster.Client().MemberList(t.Context())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(list.Members[0].ClientURLs), "client URLs in the list")
	// Output: 2 client URLs in the list
}

// One of three voters is in the list by another spelling of its address.
func ExampleForVoter() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 3, etcdtest.ForVoter(2,
		etcdtest.WithPeerURLs(func(own string) []string {
			return []string{strings.Replace(own, "127.0.0.1", "localhost", 1)}
		})))
	for _, s := range cluster.Servers() {
		fmt.Println(s.Name, strings.Contains(s.PeerURLs()[0], "localhost"))
	}
	// Output:
	// voter-1 false
	// voter-2 true
	// voter-3 false
}

// The voters speak plain HTTP, and a joiner comes that does not.
func ExampleWithSchemes() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1)
	node := cluster.NewServer("node-2", etcdtest.WithSchemes("http", "https"))
	scheme, _, _ := strings.Cut(node.PeerURL, ":")
	fmt.Println(scheme)
	// Output: https
}

// A cluster whose data is said to be corrupt.
func ExampleCluster_RaiseAlarm() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1)
	cluster.RaiseAlarm(cluster.Servers()[0], pb.AlarmType_CORRUPT)
	_, err := cluster.Client().Put(t.Context(), "k", "v")
	fmt.Println(errors.Is(err, rpctypes.ErrCorrupt), cluster.Alarms()[0].Alarm)

	cluster.ClearAlarms()
	_, err = cluster.Client().Put(t.Context(), "k", "v")
	fmt.Println(err)
	// Output:
	// true CORRUPT
	// <nil>
}

// A cluster whose database is full.
func ExampleWithQuota() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1, etcdtest.WithQuota(4<<20))
	cluster.FillQuota()
	_, err := cluster.Client().Put(t.Context(), "k", "v")
	fmt.Println(errors.Is(err, rpctypes.ErrNoSpace), cluster.Alarms()[0].Alarm)
	// Output: true NOSPACE
}

// A server gets no proxy of the environment the tests run in; this one gets
// its own.
func ExampleWithEnv() {
	t := newT() // in a test it is the test's own
	defer t.end()
	cluster := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"),
		etcdtest.WithEnv("HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY="))
	fmt.Println(cluster.Servers()[0].Running())
	// Output: true
}
