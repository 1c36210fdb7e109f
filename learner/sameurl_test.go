package learner_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// overtaken is a client at whose first question of who is at a URL something happens.
type overtaken struct {
	cluster.Client
	once sync.Once
	by   func()
}

func (o *overtaken) Ask(ctx context.Context, url string) ([]cluster.Reply, error) {
	o.once.Do(o.by)
	return o.Client.Ask(ctx, url)
}

// Two joins of one URL, and the other is through between our look and our question.
func TestAJoinOvertakenByAnotherOfItsURLFindsItsMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New("http://a:2380")
		host := c.Host("http://b:2380")
		join := func(client cluster.Client) (member.Result, error) {
			j, err := learner.NewJoiner(client, "b", member.Config{Start: host.Start, Stop: host.Stop})
			require.NoError(t, err)
			return j.Join(t.Context(), "http://b:2380")
		}
		var first member.Result
		r, err := join(&overtaken{Client: c, by: func() {
			var err error
			first, err = join(c)
			assert.NoError(t, err)
		}})
		require.NoError(t, err)
		assert.Equal(t, first.Member.ID, r.Member.ID)
		assert.False(t, r.Changed)
		assert.Len(t, c.Members(), 2)
	})
}
