package join_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
)

// The power fails and comes back: every host has its data and calls Join at boot, and
// nobody is there to be asked. They come up by themselves, and nothing is lost.
func TestAfterAPowerCutAllHostsComeUpByThemselves(t *testing.T) {
	for _, version := range []string{"3.5.35", "3.7.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 3, etcdtest.WithVersion(version))
			require.NoError(t, kit.PutOne(kit.Within(t, 20*time.Second), c))
			client := kit.NewClient(c)
			for _, s := range c.Servers() {
				s.Kill()
			}
			var wg sync.WaitGroup
			for _, s := range c.Servers() {
				restarts := 0
				j, err := learner.NewJoiner(client, s.Name, member.Config{
					DataDir: manifest.DataDir{Dir: s.Dir}, Observe: kit.LogEvents(t),
					Start: func(_ context.Context, spec member.StartSpec) error {
						assert.True(t, spec.Restart)
						restarts++
						return s.Start(spec.InitialCluster)
					}})
				require.NoError(t, err)
				wg.Go(func() {
					r, err := j.Join(kit.Within(t, 2*time.Minute), s.PeerURL)
					assert.NoError(t, err)
					assert.False(t, r.Changed, "all are members already")
					assert.Equal(t, 1, restarts)
				})
			}
			wg.Wait()
			kit.TakesWrites(t, c)
			voters, learners := kit.Roles(t, c)
			assert.Equal(t, 3, voters)
			assert.Zero(t, learners)
		})
	}
}
