package strangers_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// through is the library's client with these endpoints, in this order.
func through(t *testing.T, urls ...string) *cluster.EtcdClient {
	t.Helper()
	client := cluster.NewClient(kit.Dial(t, clientv3.Config{Endpoints: urls}), cluster.ClientConfig{})
	t.Cleanup(client.Close)
	return client
}

// refusedWhole checks that no verb does anything through these endpoints, and that each
// of them is named.
func refusedWhole(t *testing.T, client cluster.Client, why error, id cluster.ID, urls ...string) {
	t.Helper()
	stopped := false
	config := member.Config{Start: func(context.Context, member.StartSpec) error { t.Error("started"); return nil },
		Stop: func(context.Context) error { stopped = true; return nil }}
	j, err := learner.NewJoiner(client, "new", config)
	require.NoError(t, err)
	ctx := kit.Within(t, 2*time.Minute)
	_, plan := j.Plan(ctx, "http://127.0.0.1:1")
	_, join := j.Join(ctx, "http://127.0.0.1:1")
	_, step := j.Step(ctx, "http://127.0.0.1:1", member.Memory{})
	for verb, err := range map[string]error{
		"plan": plan, "join": join, "step": step,
		"abort": j.Abort(ctx, "http://127.0.0.1:1"), "leave": member.Leave(ctx, client, id, config),
	} {
		require.ErrorIs(t, err, why, verb)
		for _, url := range urls {
			assert.ErrorContains(t, err, url, verb)
		}
	}
	assert.False(t, stopped)
}

// A voter's data was wiped, and its static start founded a cluster of its own at its old
// address (rancher/k3k#836, kubespray#13329, etcd#19307): the endpoints are of two.
func TestEndpointsOfTwoClusters(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.5.35"))
	one, two, split := c.Servers()[0], c.Servers()[1], c.Servers()[2]
	id := cluster.ID(kit.MemberOf(t, c, split).ID)
	split.Stop()
	split.Wipe()
	require.NoError(t, split.StartArgs(split.Name+"="+split.PeerURL, "--initial-cluster-state=new", "--initial-cluster-token=another"))
	require.NoError(t, split.WaitServing(kit.Within(t, 30*time.Second)))
	before := kit.Entries(t, c.ClientFor(one, two))
	for name, urls := range map[string][]string{
		"the split one first": {split.ClientURL, one.ClientURL, two.ClientURL},
		"the split one last":  {one.ClientURL, two.ClientURL, split.ClientURL},
		"one of each":         {two.ClientURL, split.ClientURL},
	} {
		t.Run(name, func(t *testing.T) { refusedWhole(t, through(t, urls...), cluster.ErrWrongCluster, id, urls...) })
	}
	t.Run("another is meant", func(t *testing.T) {
		list, err := through(t, one.ClientURL).List(kit.Within(t, 20*time.Second), cluster.Target{})
		require.NoError(t, err)
		client := cluster.NewClient(kit.Dial(t, clientv3.Config{Endpoints: []string{split.ClientURL}}), cluster.ClientConfig{ClusterID: list.ClusterID})
		t.Cleanup(client.Close)
		refusedWhole(t, client, cluster.ErrWrongCluster, id)
	})
	assert.Equal(t, before, kit.Entries(t, c.ClientFor(one, two)))
}

// One member was reset with --force-new-cluster while the others were only stopped
// (rancher/rke2#2857, k3s-io/k3s#11992, etcd#8169): one cluster ID, two histories.
func TestEndpointsOfTwoHistories(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.5.35"), etcdtest.WithLinks())
	one, two, three := c.Servers()[0], c.Servers()[1], c.Servers()[2]
	id := cluster.ID(kit.MemberOf(t, c, three).ID)
	for _, s := range c.Servers() {
		s.Stop()
	}
	require.NoError(t, one.StartArgs("", "--force-new-cluster"))
	require.NoError(t, one.WaitServing(kit.Within(t, 30*time.Second)))
	one.Stop()
	one.Link().CutRaft() // the others do not learn of it
	for _, s := range []*etcdtest.Server{one, two, three} {
		require.NoError(t, s.Start(""))
	}
	require.NoError(t, one.WaitServing(kit.Within(t, 30*time.Second)))
	require.NoError(t, two.WaitServing(kit.Within(t, 30*time.Second)))
	for name, urls := range map[string][]string{
		"one first": {one.ClientURL, two.ClientURL, three.ClientURL},
		"one last":  {two.ClientURL, one.ClientURL},
	} {
		t.Run(name, func(t *testing.T) { refusedWhole(t, through(t, urls...), cluster.ErrDiverged, id, urls...) })
	}
	assert.Len(t, kit.Entries(t, c.ClientFor(one)), 1)
	assert.Len(t, kit.Entries(t, c.ClientFor(two)), 3)
}

// A learner refuses the list, and is told of; the others do for all that follows.
func TestAnEndpointThatIsALearnerHasNoSay(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	s := c.NewServer("learner")
	id := c.AddLearner(s)
	require.NoError(t, s.Start(c.InitialCluster(s)))
	require.NoError(t, s.WaitServing(kit.Within(t, 30*time.Second)))
	client := through(t, s.ClientURL, c.Endpoints()[0])
	p := planFor(t, client, "http://127.0.0.1:1")
	assert.Len(t, p.Snapshot.Members, 2)
	require.Len(t, p.Snapshot.Unused, 1)
	assert.Contains(t, p.Snapshot.Unused[0], s.ClientURL)
	require.NoError(t, member.Remove(kit.Within(t, time.Minute), client, cluster.ID(id), member.Config{}))
}
