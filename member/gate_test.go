package member_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/member"
)

// eager is a strategy that wants the vote after three seconds, come what may.
type eager struct{}

func (eager) Absent(decide.Case) decide.Act                  { return decide.Act{Do: decide.DoAddLearner} }
func (eager) Found(_ decide.Case, m cluster.Seen) decide.Act { return decide.StartIt(m.Member, "") }
func (eager) Learner(c decide.Case, m cluster.Seen) decide.Act {
	if c.Progress.Elapsed < 3*time.Second {
		return decide.WaitFor(m.Member, errors.New("three seconds will do"))
	}
	return decide.Act{Do: decide.DoPromote, Member: m.Member}
}

// The gate is the engine's: no strategy passes it by.
func TestNoStrategyPassesTheGateBy(t *testing.T) {
	for name, happens := range map[string]func(*clustertest.Cluster){
		"it died":                      func(c *clustertest.Cluster) { c.Kill(2) },
		"it is stopped":                func(c *clustertest.Cluster) { c.Pause(2) },
		"it is cut off":                func(c *clustertest.Cluster) { c.CutPeer(2) },
		"another answers in its place": func(c *clustertest.Cluster) { c.Kill(2); c.Route("http://10.0.0.2:2380", 1) },
		"it lags":                      func(c *clustertest.Cluster) { c.LagApply(2, 5) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clustertest.New("http://10.0.0.1:2380")
				host := fake.Host("http://10.0.0.2:2380")
				j, err := member.New(fake, "new", member.Config{Start: host.Start, StallTimeout: 10 * time.Second}, eager{})
				require.NoError(t, err)
				time.AfterFunc(2*time.Second, func() { happens(fake) })
				_, err = j.Join(t.Context(), "http://10.0.0.2:2380")
				require.Error(t, err)
				assert.Empty(t, fake.VotesGivenToDead())
				assert.Zero(t, fake.Count(clustertest.OpPromote))
			})
		})
	}
}

// Nothing may stand between the proof and the vote. Where an observer blocks all the
// same, as it must not, the vote is not asked for on a proof that has grown old.
func TestAVoteThatComesTooLateForItsProofIsNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New("http://10.0.0.1:2380")
		host := fake.Host("http://10.0.0.2:2380")
		slow := 3
		j, err := member.New(fake, "new", member.Config{Start: host.Start, Observe: func(e member.Event) {
			if e.Kind == member.Promoting && slow > 0 {
				slow--
				time.Sleep(300 * time.Millisecond)
			}
		}}, decide.Learning{})
		require.NoError(t, err)
		r, err := j.Join(t.Context(), "http://10.0.0.2:2380")
		require.NoError(t, err)
		assert.Zero(t, slow)
		assert.Equal(t, 1, fake.Count(clustertest.OpPromote))
		assert.False(t, r.Member.Learner)
	})
}
