package learner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// A learner is given its vote by its ID, whatever becomes of it meanwhile.
func TestPromoteByID(t *testing.T) {
	const patience = 3 * time.Minute
	for name, tc := range map[string]struct {
		voters []string
		then   func(c *clustertest.Cluster, id cluster.ID) // after a minute, on another goroutine
		now    func(c *clustertest.Cluster, id cluster.ID) // before the call
		config member.Config
		want   error
		within time.Duration // that it takes, at most
	}{
		"it runs":                               {voters: []string{a, b, c}, now: restart, within: time.Second},
		"it runs, beside one voter":             {voters: []string{a}, now: restart, within: time.Second},
		"it votes already":                      {voters: []string{a, b, c}, now: func(c *clustertest.Cluster, id cluster.ID) { restart(c, id); c.Promoted(id) }, within: time.Second},
		"it has never run, and then does":       {voters: []string{a, b, c}, then: restart, within: 70 * time.Second},
		"somebody else promotes it":             {voters: []string{a, b, c}, now: func(c *clustertest.Cluster, id cluster.ID) { restart(c, id); c.CutPeer(id) }, then: func(c *clustertest.Cluster, id cluster.ID) { c.HealPeer(id); c.Promoted(id) }, within: 70 * time.Second},
		"its link is cut, and healed":           {voters: []string{a, b, c}, now: func(c *clustertest.Cluster, id cluster.ID) { restart(c, id); c.CutPeer(id) }, then: (*clustertest.Cluster).HealPeer, within: 70 * time.Second},
		"it never runs":                         {voters: []string{a, b, c}, want: member.ErrNotLive, within: patience},
		"it is killed":                          {voters: []string{a, b, c}, now: func(c *clustertest.Cluster, id cluster.ID) { restart(c, id); c.Kill(id) }, want: member.ErrNotLive, within: patience},
		"it is stopped":                         {voters: []string{a}, now: func(c *clustertest.Cluster, id cluster.ID) { restart(c, id); c.Pause(id) }, want: member.ErrNotLive, within: patience},
		"somebody removes it":                   {voters: []string{a, b, c}, then: (*clustertest.Cluster).Removed, want: member.ErrGone, within: 70 * time.Second},
		"a voter is dead":                       {voters: []string{a, b, c}, now: func(c *clustertest.Cluster, id cluster.ID) { restart(c, id); c.Kill(3) }, want: member.ErrQuorumAtRisk, within: patience},
		"a voter is dead, and that is accepted": {voters: []string{a, b, c}, now: func(c *clustertest.Cluster, id cluster.ID) { restart(c, id); c.Kill(3) }, config: member.Config{AcceptNoMargin: true}, within: 10 * time.Second},
		"nobody answers that long":              {voters: []string{a, b, c}, config: member.Config{StallTimeout: time.Minute}, want: member.ErrStalled, within: 65 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clustertest.New(tc.voters...)
				time.Sleep(10 * time.Second) // all have been connected for long
				id := fake.AddRaw(cluster.Member{PeerURLs: []string{d}, Learner: true})
				if tc.now != nil {
					tc.now(fake, id)
				}
				if tc.then != nil {
					time.AfterFunc(time.Minute, func() { tc.then(fake, id) })
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				asked := time.Now()
				r, err := learner.Promote(ctx, fake, id, tc.config)
				assert.LessOrEqual(t, time.Since(asked), tc.within)
				assert.Empty(t, fake.VotesGivenToDead())
				m, listed := fake.Member(id)
				assert.Zero(t, fake.Count(clustertest.OpRemove), "it undoes nothing")
				if tc.want != nil {
					require.ErrorIs(t, err, tc.want)
					assert.Equal(t, listed, m.Learner)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, id, r.Member.ID)
				assert.False(t, m.Learner)
			})
		})
	}
}

func restart(c *clustertest.Cluster, id cluster.ID) { c.Restart(id) }
