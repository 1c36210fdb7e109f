package clustertest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
)

// prepare is what happened to a cluster before a call.
type prepare = func(*testing.T, *clustertest.Cluster)

func kill(ids ...cluster.ID) prepare {
	return func(_ *testing.T, c *clustertest.Cluster) {
		for _, id := range ids {
			c.Kill(id)
		}
	}
}

func unstarted(learner bool) prepare {
	return func(_ *testing.T, c *clustertest.Cluster) {
		c.AddRaw(cluster.Member{PeerURLs: []string{"http://x:2380"}, Learner: learner})
	}
}

func both(fs ...prepare) prepare {
	return func(t *testing.T, c *clustertest.Cluster) {
		for _, f := range fs {
			f(t, c)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	const learner, voter = true, false
	for name, tc := range map[string]struct {
		voters  int
		version string
		before  prepare
		urls    []string
		learner bool
		want    error
	}{
		"a learner to three":              {voters: 3, learner: learner},
		"a voter to three":                {voters: 3, learner: voter},
		"no URL":                          {voters: 1, urls: []string{}, want: rpctypes.ErrMemberBadURLs},
		"no scheme":                       {voters: 1, urls: []string{"d:2380"}, want: rpctypes.ErrMemberBadURLs},
		"no port":                         {voters: 1, urls: []string{"http://d"}, want: rpctypes.ErrMemberBadURLs},
		"a path":                          {voters: 1, urls: []string{"http://d:2380/x"}, want: rpctypes.ErrMemberBadURLs},
		"another scheme":                  {voters: 1, urls: []string{"ftp://d:2380"}, want: rpctypes.ErrMemberBadURLs},
		"a socket":                        {voters: 1, urls: []string{"unix://d:2380"}, learner: learner},
		"somebody's URL":                  {voters: 1, urls: []string{"http://d:2380", "http://a:2380"}, learner: learner, want: rpctypes.ErrPeerURLExist},
		"somebody's URL in other letters": {voters: 1, urls: []string{"http://A:2380"}, learner: learner},
		"a second learner":                {voters: 1, before: unstarted(learner), learner: learner, want: rpctypes.ErrTooManyLearners},
		"a voter beside a learner":        {voters: 1, before: unstarted(learner), learner: voter},

		"a voter beside an unstarted one":         {voters: 1, before: unstarted(voter), learner: voter, want: rpctypes.ErrMemberNotEnoughStarted},
		"a learner beside an unstarted one":       {voters: 1, before: unstarted(voter), learner: learner, want: rpctypes.ErrUnhealthy},
		"a voter, three started of four":          {voters: 3, before: unstarted(voter), learner: voter},
		"a voter, three started of four, old":     {voters: 3, version: "3.5.16", before: unstarted(voter), learner: voter, want: rpctypes.ErrUnhealthy},
		"a learner, one dead of two":              {voters: 2, before: kill(2), learner: learner, want: rpctypes.ErrUnhealthy},
		"a learner, one dead of three":            {voters: 3, before: kill(2), learner: learner, want: rpctypes.ErrUnhealthy},
		"a learner, one dead of four":             {voters: 4, before: kill(2), learner: learner},
		"a learner, one dead of four, 3.6.10":     {voters: 4, version: "3.6.10", before: kill(2), learner: learner, want: rpctypes.ErrUnhealthy},
		"a learner, one dead of four, 3.6.11":     {voters: 4, version: "3.6.11", before: kill(2), learner: learner},
		"a learner, one dead of four, 3.5.29":     {voters: 4, version: "3.5.29", before: kill(2), learner: learner, want: rpctypes.ErrUnhealthy},
		"a learner, one dead of four, 3.5.30":     {voters: 4, version: "3.5.30", before: kill(2), learner: learner},
		"a learner, one dead of four, 3.4.45":     {voters: 4, version: "3.4.45", before: kill(2), learner: learner, want: rpctypes.ErrUnhealthy},
		"a voter, one dead of five":               {voters: 5, before: kill(2), learner: voter},
		"a learner, two dead of five":             {voters: 5, before: kill(2, 3), learner: learner, want: rpctypes.ErrUnhealthy},
		"a learner, two dead of seven":            {voters: 7, before: kill(2, 3), learner: learner},
		"a learner, three dead of seven":          {voters: 7, before: kill(2, 3, 4), learner: learner, want: rpctypes.ErrUnhealthy},
		"the rules off, one dead of three":        {voters: 3, before: both(kill(2), func(_ *testing.T, c *clustertest.Cluster) { c.SetStrict(false) }), learner: voter},
		"the rules off, bad URL":                  {voters: 3, before: func(_ *testing.T, c *clustertest.Cluster) { c.SetStrict(false) }, urls: []string{"d"}, want: rpctypes.ErrMemberBadURLs},
		"one paused for long of three":            {voters: 3, before: func(_ *testing.T, c *clustertest.Cluster) { c.Pause(2); time.Sleep(time.Minute) }, learner: learner},
		"one cut for long of three":               {voters: 3, before: func(_ *testing.T, c *clustertest.Cluster) { c.CutPeer(2); time.Sleep(time.Minute) }, learner: learner},
		"one just restarted of three":             {voters: 3, before: func(_ *testing.T, c *clustertest.Cluster) { c.Kill(2); c.Restart(2); time.Sleep(4 * time.Second) }, learner: learner, want: rpctypes.ErrUnhealthy},
		"one restarted of three, six seconds ago": {voters: 3, before: func(_ *testing.T, c *clustertest.Cluster) { c.Kill(2); c.Restart(2); time.Sleep(6 * time.Second) }, learner: learner},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tc.voters, func(t *testing.T, c *clustertest.Cluster) {
				if tc.version != "" {
					c.SetVersion(0, tc.version)
				}
				if tc.before != nil {
					tc.before(t, c)
				}
				if tc.urls == nil {
					tc.urls = []string{"http://y:2380"}
				}
				had, index := len(c.Members()), c.Index()
				m, err := c.Add(within(t, time.Second/2), at(c, 1), tc.urls, tc.learner)
				if tc.want != nil {
					require.ErrorIs(t, err, tc.want)
					assert.Len(t, c.Members(), had)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, cluster.Member{ID: m.ID, PeerURLs: tc.urls, Learner: tc.learner}, m)
				assert.Len(t, c.Members(), had+1)
				assert.Equal(t, index+1, c.Index())
			})
		})
	}
}

// E§0.12: the ID is a hash of the URLs and the second.
func TestTheSameURLWithinOneSecond(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		ctx := within(t, time.Minute)
		id := add(t, c, "http://b:2380", true)
		_, err := c.Add(ctx, leader(c), []string{"http://b:2380"}, false)
		require.ErrorIs(t, err, rpctypes.ErrMemberExist)
		time.Sleep(time.Second)
		_, err = c.Add(ctx, leader(c), []string{"http://b:2380"}, false)
		require.ErrorIs(t, err, rpctypes.ErrPeerURLExist)
		require.NoError(t, c.Remove(ctx, leader(c), id))

		id = add(t, c, "http://b:2380", true)
		require.NoError(t, c.Remove(ctx, leader(c), id))
		_, err = c.Add(ctx, leader(c), []string{"http://b:2380"}, true)
		require.ErrorIs(t, err, rpctypes.ErrMemberNotFound, "removed within this second")
		time.Sleep(time.Second)
		assert.Greater(t, add(t, c, "http://b:2380", true), id)
	})
}

func TestLearnerLimit(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		c.SetLearnerLimit(2)
		add(t, c, "http://b:2380", true)
		add(t, c, "http://c:2380", true)
		_, err := c.Add(within(t, time.Second), leader(c), []string{"http://d:2380"}, true)
		assert.ErrorIs(t, err, rpctypes.ErrTooManyLearners)
	})
}

// E§0.11: a 3.3 server does not know learners.
func TestAnOldServerAddsAVoter(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		c.SetVersion(0, "3.3.27")
		m, err := c.Add(within(t, time.Minute), at(c, 1), []string{"http://b:2380"}, true)
		require.NoError(t, err)
		assert.False(t, m.Learner)
		assert.False(t, c.HasQuorum())
		assert.ErrorContains(t, c.Promote(within(t, time.Second), at(c, 1), m.ID), "Unimplemented")
	})
}

// E§0.1: of two changes at once, raft drops one, and nobody is told.
func TestAChangeBesideAnotherIsDropped(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
		go func() {
			_, err := c.Add(within(t, time.Second), at(c, 1), []string{"http://b:2380"}, true)
			assert.NoError(t, err)
		}()
		synctest.Wait()
		_, err := c.Add(within(t, 10*time.Second), at(c, 1), []string{"http://c:2380"}, false)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Minute)
		assert.Equal(t, []cluster.ID{1, 2}, ids(c.Members()), "not even later")
	})
}

// #15528: below 3.6 a change right after another may be dropped too.
func TestAChangeRightAfterAnother(t *testing.T) {
	for version, dropped := range map[string]bool{"3.4.45": true, "3.5.35": true, "3.6.0": false} {
		bubble(t, 1, func(t *testing.T, c *clustertest.Cluster) {
			c.SetVersion(0, version)
			id := add(t, c, "http://b:2380", true)
			err := c.Remove(within(t, time.Second), at(c, 1), id)
			assert.Equal(t, dropped, err != nil, version)
			if dropped {
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.NoError(t, c.Remove(within(t, time.Second), at(c, 1), id))
			}
		})
	}
}
