package clustertest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/member"
)

// url is the peer URL of the nth machine.
func url(n cluster.ID) string { return fmt.Sprintf("http://%c:2380", rune('a'+n-1)) }

// bubble runs a test in virtual time, on a cluster of voters.
func bubble(t *testing.T, voters int, test func(t *testing.T, c *clustertest.Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var urls []string
		for i := range voters {
			urls = append(urls, url(cluster.ID(i+1)))
		}
		test(t, clustertest.New(urls...))
	})
}

// at is where a client dials a member; one without client URLs is dialled where it
// would serve.
func at(c *clustertest.Cluster, id cluster.ID) cluster.Target {
	m, _ := c.Member(id)
	t := cluster.Target{Member: m}
	t.ID = id
	if len(t.ClientURLs) == 0 {
		t.ClientURLs = []string{strings.ReplaceAll(url(id), "2380", "2379")}
	}
	if len(t.PeerURLs) == 0 {
		t.PeerURLs = []string{url(id)}
	}
	return t
}

func leader(c *clustertest.Cluster) cluster.Target { return at(c, c.Leader()) }

// within is a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// spec is what an installer would start a member with.
func spec(c *clustertest.Cluster, id cluster.ID, name string) member.StartSpec {
	s := member.StartSpec{Name: name, MemberID: id, ClusterID: clustertest.ClusterID}
	var initial []string
	for _, m := range c.Members() {
		n := m.Name
		if m.ID == id {
			n, s.PeerURLs = name, m.PeerURLs
		} else if n == "" {
			n = "unnamed-" + m.ID.String()
		}
		for _, u := range m.PeerURLs {
			initial = append(initial, n+"="+u)
		}
	}
	s.InitialCluster = strings.Join(initial, ",")
	return s
}

func add(t *testing.T, c *clustertest.Cluster, url string, learner bool) cluster.ID {
	t.Helper()
	m, err := c.Add(within(t, time.Minute), leader(c), []string{url}, learner)
	require.NoError(t, err)
	return m.ID
}

func start(t *testing.T, c *clustertest.Cluster, id cluster.ID) {
	t.Helper()
	require.NoError(t, c.Start(t.Context(), spec(c, id, "m"+id.String())))
}

// learner adds a learner, starts it, and waits until it has caught up.
func learner(t *testing.T, c *clustertest.Cluster, url string) cluster.ID {
	t.Helper()
	id := add(t, c, url, true)
	start(t, c, id)
	caughtUp(t, c, id)
	return id
}

// caughtUp waits until a read through the member succeeds.
func caughtUp(t *testing.T, c *clustertest.Cluster, id cluster.ID) {
	t.Helper()
	ctx := within(t, time.Hour)
	for {
		_, err := c.Read(ctx, at(c, id))
		if err == nil {
			return
		}
		require.NoError(t, ctx.Err())
		time.Sleep(time.Millisecond)
	}
}

// serving waits until the member's client port answers.
func serving(t *testing.T, c *clustertest.Cluster, id cluster.ID) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := c.Status(ctx, at(c, id))
		cancel()
		if err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// took runs f and tells how long it took.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func lines(calls []clustertest.Call) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.String())
	}
	return out
}

func ids(list []cluster.Member) []cluster.ID {
	var out []cluster.ID
	for _, m := range list {
		out = append(out, m.ID)
	}
	return out
}

// barrier commits one, and leaves what it shows alone.
func barrier(c *clustertest.Cluster, ctx context.Context, via cluster.Target) error {
	_, err := c.Barrier(ctx, via)
	return err
}
