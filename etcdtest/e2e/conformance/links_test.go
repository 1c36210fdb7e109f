package conformance_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/version"
)

var (
	linkCases        = []conformance{{name: "a learner that is cut off", play: aLearnerThatIsCutOff}, {name: "a member that nobody can dial", play: aMemberThatNobodyCanDial}}
	twoLearnersCases = []conformance{
		{name: "as many learners as are allowed", play: asManyLearnersAsAreAllowed, needs: []version.Ability{version.MaxLearnersFlag}},
	}
)

// aLearnerThatIsCutOff is why only a read through it tells that it is in contact.
func aLearnerThatIsCutOff(s *stage) {
	m := s.machine()
	leader := s.leader()
	e := s.joined(m)
	s.cut(m)
	_, err := s.Read(kit.Within(s.T, 3*time.Second), behind(m, e)) // 3.4 takes one
	s.unreadable(err)
	st, err := s.Status(s.soon(), at(e))
	require.NoError(s, err)
	assert.Equal(s, leader.ID, st.Leader, "a learner never campaigns, so it never drops its leader")
	assert.Empty(s, st.Errors)
	assert.True(s, st.Learner)
	s.writes()
	s.refuses(rpctypes.ErrMemberLearnerNotReady, s.promote(e.ID))
	s.mend(m)
	s.caughtUp(m, e)
	s.gone(m, e)
}

// aMemberThatNobodyCanDial is why only the bytes that the leader receives tell who is
// dead: all call it disconnected, and it reads, writes and votes.
func aMemberThatNobodyCanDial(s *stage) {
	m := s.machine()
	leader := s.leader()
	e := s.joined(m)
	s.shut(m)
	s.disconnected(leader, at(e))
	s.caughtUp(m, e)
	require.NoError(s, s.promote(e.ID))
	told := func() cluster.Peer {
		metrics, err := s.Metrics(s.soon(), leader)
		require.NoError(s, err)
		require.Equal(s, leader.ID, metrics.ServerID)
		return metrics.Peers[e.ID]
	}
	before := told()
	s.writes() // needs its vote
	s.untilTrue("the leader hears it", func(context.Context) bool { return told().Received > before.Received })
	assert.False(s, told().Active)
	_, err := s.add(s.machine().peerURL())
	s.refuses(rpctypes.ErrUnhealthy, err, "every later change fails, which is why it is told")
	s.mend(m)
	s.untilTrue("it is connected again", func(context.Context) bool { return told().Active })
	s.settled()
	s.gone(m, e)
}

func asManyLearnersAsAreAllowed(s *stage) {
	a, b := s.machine(), s.machine()
	first := s.joined(a)
	second := s.joined(b)
	_, err := s.add(s.machine().peerURL())
	s.refuses(rpctypes.ErrTooManyLearners, err)
	assert.True(s, s.entry(a).Learner)
	require.NoError(s, s.remove(first.ID))
	a.kill()
	third, err := s.add(b.peerURL() + "?again")
	require.NoError(s, err, "URLs are compared letter by letter")
	require.NoError(s, s.remove(third.ID))
	s.gone(b, second)
}
