package join_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
)

func TestGrowsFromOneToThreeUnderLoad(t *testing.T) {
	for name, opts := range map[string][]etcdtest.Option{
		"plain": nil,
		"mTLS":  {etcdtest.WithTLS()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, opts...)
			writers := c.Writers(8)
			for i, name := range []string{"second", "third"} {
				s := c.NewServer(name)
				r, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s)
				require.NoError(t, err)
				assert.Equal(t, name, r.Member.Name)
				assert.False(t, r.Member.Learner)
				assert.Equal(t, i+2, r.Voters)
				assert.Equal(t, i+1, r.Margin+r.Quorum-1)
				assert.False(t, r.Serving.IsZero())
			}
			kit.CheckWrites(t, writers)
		})
	}
}
