package learner_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// An operator steps until it is done, each time with a joiner of its own and the
// memory it has kept as JSON, or has lost.
func TestStepsFromManyProcessesMakeOneJoin(t *testing.T) {
	for name, keeps := range map[string]bool{"memory kept": true, "memory lost": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := clustertest.New(a, b, c)
				host := cluster.Host(d)
				var kept []byte
				var did []member.Do
				for range 200 {
					j, err := learner.NewJoiner(cluster, "new", member.Config{Start: host.Start, DataDir: host})
					require.NoError(t, err)
					var memory member.Memory
					if keeps && kept != nil {
						require.NoError(t, json.Unmarshal(kept, &memory))
					}
					s, err := j.Step(t.Context(), d, memory)
					require.NoError(t, err)
					kept, err = json.Marshal(s.Memory)
					require.NoError(t, err)
					did = append(did, s.Did)
					if s.Did == member.DoDone {
						assert.Equal(t, 4, s.Result.Voters)
						break
					}
					time.Sleep(s.After)
				}
				assert.Equal(t, member.DoDone, did[len(did)-1], did)
				assert.Empty(t, cluster.VotesGivenToDead())
			})
		})
	}
}

func TestStepSaysWhenNothingMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := clustertest.New(a)
		var memory member.Memory
		for range 500 {
			j, err := learner.NewJoiner(cluster, "new", member.Config{StallTimeout: time.Minute}) // nobody starts it
			require.NoError(t, err)
			s, err := j.Step(t.Context(), d, memory)
			if err != nil {
				require.ErrorIs(t, err, member.ErrNotLive)
				return
			}
			memory = s.Memory
			time.Sleep(s.After)
		}
		t.Fatal("it waits for ever")
	})
}
