package learner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/member"
)

// How long an undo may take beyond the caller's context is the caller's to say, and
// what was not undone by then is in the error.
func TestAnUndoEndsInTime(t *testing.T) {
	for _, limit := range []time.Duration{0, 3 * time.Second, 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			fake := clustertest.New(a, b, c)
			fake.FaultAll(clustertest.OpRemove, clustertest.Fault{Hang: true})
			began := time.Now()
			_, err := join(inTime(t, 10*time.Second), fake, d, "new", func(c *member.Config) {
				c.UndoWithin, c.Start = limit, nil
			})
			var failed *member.JoinError
			require.ErrorAs(t, err, &failed)
			assert.Contains(t, failed.Undone, "could not undo")
			if limit == 0 {
				limit = 30 * time.Second
			}
			took := time.Since(began) - 10*time.Second
			assert.Greater(t, took, limit-time.Second)
			assert.Less(t, took, limit+2*time.Second)
		})
	}
}
