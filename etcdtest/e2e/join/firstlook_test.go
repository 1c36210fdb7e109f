package join_test

import (
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

func TestAFirstLookAtDeadAndHungEndpointsTakesOneTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second // a busy machine answers late too
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"))
	leader := c.Leader()
	var live, stopped string
	for _, s := range c.Servers() {
		if s != leader && stopped == "" {
			s.Pause()
			stopped = s.ClientURL
		} else {
			live = s.ClientURL
		}
	}
	hung1, _ := kit.HungURL(t)
	hung2, _ := kit.HungURL(t)
	for name, endpoints := range map[string][]string{
		"the live one first": {live, stopped, kit.DeadURL(c), hung1, kit.DeadURL(c), hung2, kit.DeadURL(c)},
		"the live one last":  {hung1, kit.DeadURL(c), stopped, hung2, kit.DeadURL(c), kit.DeadURL(c), live},
	} {
		t.Run(name, func(t *testing.T) {
			cli := cluster.NewClient(kit.Dial(t, clientv3.Config{Endpoints: endpoints}), cluster.ClientConfig{EndpointTimeout: timeout})
			j, err := learner.NewJoiner(cli, "looker", member.Config{})
			require.NoError(t, err)
			begin := time.Now()
			plan, err := j.Plan(kit.Within(t, time.Minute), "http://127.0.0.1:1")
			took := time.Since(begin)
			require.NoError(t, err)
			t.Logf("the first look took %.2f endpoint timeouts", took.Seconds()/timeout.Seconds())
			assert.Less(t, took, 3*timeout)
			assert.Len(t, plan.Snapshot.Voters(), 3)
			assert.Len(t, plan.Snapshot.LiveVoters(), 2)
			assert.NotZero(t, plan.Snapshot.Leader)
		})
	}
}
