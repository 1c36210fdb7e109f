package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
)

// The request arrives, is done, and its answer never comes back.
func TestALostAnswerIsFoundOutByLooking(t *testing.T) {
	for name, when := range map[string]member.Kind{
		"of the first list's successors": member.Found, // every read from then on
		"of the add":                     member.Adding,
		"of the reads after the add":     member.Added,
		"of the promotion":               member.Promoting,
		"of the last look":               member.GotVote,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
			voter := c.Servers()[0]
			link := etcdtest.NewLink(t, voter.ClientURL)
			through := link.URL()
			cli := kit.Dial(t, clientv3.Config{Endpoints: []string{through}})
			s := c.NewServer("second")
			r, err := kit.JoinBy(t, kit.Within(t, time.Minute), kit.TheLearnersWay, cluster.NewClient(cli, cluster.ClientConfig{
				EndpointTimeout: 500 * time.Millisecond,
				Endpoints: func(m cluster.Member) []string {
					if m.ID == cluster.ID(kit.MemberOf(t, c, voter).ID) {
						return []string{through}
					}
					return m.ClientURLs
				}}), s,
				kit.OnEvent(when, func(member.Event) {
					link.SwallowResponses()
					time.AfterFunc(3*time.Second, link.Heal)
				}),
				func(cfg *member.Config) { cfg.WriteTimeout = time.Second })
			require.NoError(t, err)
			assert.Equal(t, 2, r.Voters)
			voters, learners := kit.Roles(t, c)
			assert.Equal(t, 2, voters)
			assert.Zero(t, learners)
			kit.TakesWrites(t, c)
		})
	}
}

func TestALostAnswerOfARemoveIsFoundOutByLooking(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
	voter, s := c.Servers()[0], c.NewServer("second")
	link := etcdtest.NewLink(t, voter.ClientURL)
	through := link.URL()
	cli := kit.Dial(t, clientv3.Config{Endpoints: []string{through}})
	id := cluster.ID(c.AddLearner(s))
	cfg := member.Config{WriteTimeout: time.Second, Observe: kit.LogEvents(t)}
	client := cluster.NewClient(cli, cluster.ClientConfig{EndpointTimeout: 500 * time.Millisecond,
		Endpoints: func(cluster.Member) []string { return []string{through} }})
	kit.OnEvent(member.Removing, func(member.Event) {
		link.SwallowResponses()
		time.AfterFunc(3*time.Second, link.Heal)
	})(&cfg)
	require.NoError(t, member.Remove(kit.Within(t, time.Minute), client, id, cfg))
	assert.Nil(t, kit.MemberOf(t, c, s))
}
