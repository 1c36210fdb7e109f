package conformance_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/version"
)

// threeCases begin with three voters. Who restarts a voter comes before who has a
// member promoted and removed: 3.6.0 panics over that when it reads its log again
// (etcd #20051).
var threeCases = []conformance{
	{name: "what each of three answers", play: whatEachOfThreeAnswers},
	{name: "another member answers", play: anotherMemberAnswers},
	{name: "a voter that lags", play: aVoterThatLags},
	{name: "a voter that is dead", play: aVoterThatIsDead},
	{name: "a voter that never started", play: aVoterThatNeverStarted},
	{name: "two changes at once", play: twoChangesAtOnce},
	{name: "a change while the quorum sleeps", play: aChangeWhileTheQuorumSleeps},
	{name: "through a follower", play: throughAFollower},
	{name: "no quorum", play: noQuorum, spoils: true},
	{name: "removing voters", play: removingVoters, spoils: true},
}

// fiveCases begin with five voters.
var fiveCases = []conformance{{name: "one of five voters is dead", play: oneOfFiveIsDead, spoils: true}}

func whatEachOfThreeAnswers(s *stage) {
	leader := s.leader()
	want := s.list()
	for _, m := range s.voters() {
		e := s.entry(m)
		st, err := s.Status(s.soon(), at(e))
		require.NoError(s, err)
		assert.Equal(s, e.ID, st.ID)
		assert.Equal(s, leader.ID, st.Leader)
		assert.Equal(s, s.says().String(), st.Version)
		assert.Empty(s, st.Errors)
		list, err := s.List(s.soon(), at(e))
		require.NoError(s, err)
		assert.Equal(s, cluster.List{ClusterID: st.ClusterID, By: e.ID, Members: want}, list)
		listAt, err := s.ListAt(s.soon(), at(e))
		require.NoError(s, err)
		assert.Equal(s, list, listAt)
		peers, err := s.PeerMembers(s.soon(), at(e))
		require.NoError(s, err)
		assert.Equal(s, list, peers)
		readsBy(s, m, e)
		require.NoError(s, s.MayChange(s.soon(), at(e)))
		require.NoError(s, s.barrier(s.soon(), at(e)))
		s.untilTrue("all are connected", func(ctx context.Context) bool {
			metrics, err := s.Metrics(ctx, at(e))
			_, self := metrics.Peers[e.ID]
			return err == nil && metrics.ServerID == e.ID && connected(metrics) == 2 && !self
		})
	}
}

func connected(m cluster.Metrics) (n int) {
	for _, p := range m.Peers {
		if p.Met && p.Active {
			n++
		}
	}
	return n
}

func anotherMemberAnswers(s *stage) {
	a, b := s.entry(s.voters()[0]), s.entry(s.voters()[1])
	wrong := cluster.Target{Member: a}
	wrong.ClientURLs = b.ClientURLs
	st, err := s.Status(s.soon(), wrong)
	require.NoError(s, err)
	assert.Equal(s, b.ID, st.ID, "it says who it is")
	listAt, err := s.ListAt(s.soon(), wrong)
	require.NoError(s, err)
	assert.Equal(s, b.ID, listAt.By)
	list, err := s.List(s.soon(), wrong)
	require.NoError(s, err)
	assert.Equal(s, b.ID, list.By)

	both := cluster.Target{Member: a}
	both.ClientURLs = slices.Concat([]string{s.machine().clientURL()}, b.ClientURLs, a.ClientURLs)
	st, err = s.Status(s.soon(), both)
	require.NoError(s, err)
	assert.Equal(s, a.ID, st.ID, "whom it is about counts most")
	require.NoError(s, s.barrier(s.soon(), both), "the first that takes a connection is written to")
}

func throughAFollower(s *stage) {
	leader, followers := s.cast()
	via, m := followers[0], s.machine()
	s.settled()
	s.breathe()
	e, err := s.Add(s.soon(), via, []string{m.peerURL()}, true)
	require.NoError(s, err)
	l, err := s.ListAt(s.soon(), via)
	require.NoError(s, err)
	assert.Contains(s, l.Members, e, "who answered a change has made it")
	s.runs(m, e)
	s.caughtUp(m, e)
	s.serving(m, e)

	m.pause()
	s.writes()
	s.refuses(rpctypes.ErrMemberLearnerNotReady, s.Promote(s.soon(), via, e.ID))
	m.resume()
	s.caughtUp(m, e)
	s.refuses(rpctypes.ErrMemberNotFound, s.Promote(s.soon(), via, stranger))
	s.breathe()
	s.refuses(rpctypes.ErrMemberNotFound, s.Update(s.soon(), via, stranger, []string{m.peerURL()}))
	s.breathe()
	s.refuses(rpctypes.ErrMemberNotFound, s.Remove(s.soon(), via, stranger))
	s.refuses(rpctypes.ErrBadLeaderTransferee, s.MoveLeader(s.soon(), leader, e.ID), "a learner")
	s.refuses(rpctypes.ErrNotLeader, s.MoveLeader(s.soon(), via, via.ID))
	s.breathe()
	require.NoError(s, s.Promote(s.soon(), via, e.ID))
	s.breathe()
	s.refuses(rpctypes.ErrMemberNotLearner, s.Promote(s.soon(), via, e.ID), "again")

	s.leads(leader, via)
	s.breathe()
	require.NoError(s, s.Remove(s.soon(), leader, e.ID), "through whom led before")
	assert.Zero(s, s.exits(m), "exit code")
}

func aVoterThatNeverStarted(s *stage) {
	e := s.added(false, s.machine())
	other, err := s.add(s.machine().peerURL())
	if s.can(version.QuorumAddCheck) {
		require.NoError(s, err, "three of four are enough")
		require.NoError(s, s.remove(other.ID))
	} else {
		s.refuses(rpctypes.ErrUnhealthy, err, "all are asked for")
	}
	voter, err := s.addVoter(s.machine().peerURL())
	if s.can(version.QuorumAddCheck) {
		require.NoError(s, err, "three of five will have started")
		_, err = s.addVoter(s.machine().peerURL())
		s.refuses(rpctypes.ErrMemberNotEnoughStarted, err, "three of six will not do")
		require.NoError(s, s.remove(voter.ID))
	} else {
		s.refuses(rpctypes.ErrUnhealthy, err, "all are asked for")
	}
	s.refuses(rpctypes.ErrMemberLearnerNotReady, s.promote(e.ID), "a voter that has nothing yet")
	require.NoError(s, s.remove(e.ID))
	assert.Len(s, s.list(), 3)
}

// twoChangesAtOnce is about raft, which takes one change at a time: another is
// dropped, and its caller never told.
func twoChangesAtOnce(s *stage) {
	leader := s.leader()
	add := func(m machine) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.Add(ctx, leader, []string{m.peerURL()}, true)
			return err
		}
	}
	errs := calls{"one": add(s.machine()), "another": add(s.machine())}.within(s.briefly())
	one, another := errs["one"], errs["another"]
	if one != nil {
		one, another = another, one
	}
	require.NoError(s, one)
	if !errors.Is(another, rpctypes.ErrTooManyLearners) {
		s.stalled(another)
	}
	var learners []cluster.Member
	for _, e := range s.list() {
		if e.Learner {
			learners = append(learners, e)
		}
	}
	require.Len(s, learners, 1)
	require.NoError(s, s.remove(learners[0].ID))
}

// aChangeWhileTheQuorumSleeps is one that was sent and timed out: it may be done
// later, or never, and only the list tells.
func aChangeWhileTheQuorumSleeps(s *stage) {
	leader, followers := s.cast()
	for _, f := range followers {
		s.host(f).pause()
	}
	m := s.machine()
	_, err := s.Add(s.briefly(), leader, []string{m.peerURL()}, true)
	s.stalled(err)
	l, err := s.ListAt(s.soon(), leader)
	require.NoError(s, err)
	_, listed := entryOf(l.Members, m)
	assert.False(s, listed, "nothing is committed")
	for _, f := range followers {
		s.host(f).resume()
	}
	s.leader()
	time.Sleep(1100 * time.Millisecond) // else it is the same ID
	again, err := s.add(m.peerURL())
	e, listed := entryOf(s.list(), m)
	require.True(s, listed)
	if err != nil {
		s.refuses(rpctypes.ErrPeerURLExist, err, "it was done later")
	} else {
		assert.Equal(s, again.ID, e.ID, "it was never done")
	}
	require.NoError(s, s.remove(e.ID))
}

func oneOfFiveIsDead(s *stage) {
	leader, followers := s.cast()
	s.settled()
	dead := followers[0]
	s.host(dead).kill()
	s.disconnected(leader, dead)
	for _, learner := range []bool{true, false} {
		url := s.machine().peerURL()
		e, err := s.addAs(learner, url)
		if !s.can(version.QuorumAddCheck) {
			s.refuses(rpctypes.ErrUnhealthy, err, "all are asked for, learner: %t", learner)
			continue
		}
		// Four had been connected for long enough before, perhaps not these four.
		if err != nil {
			s.until("four of five are enough", func(context.Context) error {
				e, err = s.addAs(learner, url)
				return err
			})
		}
		require.NoError(s, s.remove(e.ID))
	}
	for _, f := range followers[1:3] {
		require.NoError(s, s.remove(f.ID), "three stay that are connected, then two")
		host := s.host(f)
		if code := s.exits(host); !panickedAtStatus(host) {
			assert.Zero(s, code, "exit code")
		}
	}
	s.refuses(rpctypes.ErrUnhealthy, s.remove(followers[3].ID), "one would stay")
	require.NoError(s, s.remove(dead.ID))
}

// disconnected waits until a member finds another gone.
func (s *stage) disconnected(of, from cluster.Target) {
	s.Helper()
	s.untilTrue("it is seen to be gone", func(ctx context.Context) bool {
		metrics, err := s.Metrics(ctx, of)
		p := metrics.Peers[from.ID]
		return err == nil && p.Met && !p.Active && p.Disconnected > 0
	})
}

func aVoterThatLags(s *stage) {
	_, followers := s.cast()
	behind := s.host(followers[0])
	behind.pause()
	s.writes()
	s.refuses(rpctypes.ErrMemberLearnerNotReady, s.promote(followers[0].ID))
	behind.resume()
	s.until("it has caught up", func(ctx context.Context) error {
		_, err := s.Read(ctx, followers[0])
		return err
	})
	s.refuses(rpctypes.ErrMemberNotLearner, s.promote(followers[0].ID))
}

func aVoterThatIsDead(s *stage) {
	leader, followers := s.cast()
	dead, other := followers[0], followers[1]
	s.settled()
	s.host(dead).kill()
	s.disconnected(leader, dead)
	s.disconnected(other, dead)
	_, err := s.Read(s.soon(), dead)
	s.unreachable(err)
	l, err := s.List(s.soon(), dead, other)
	require.NoError(s, err, "who answers, answers")
	assert.Equal(s, other.ID, l.By)

	url := []string{s.machine().peerURL()}
	for _, via := range []cluster.Target{leader, other} {
		_, err = s.Add(s.soon(), via, url, true)
		s.refuses(rpctypes.ErrUnhealthy, err, "a learner through %s", via)
		_, err = s.Add(s.soon(), via, url, false)
		s.refuses(rpctypes.ErrUnhealthy, err, "a voter through %s", via)
		s.refuses(rpctypes.ErrUnhealthy, s.Remove(s.soon(), via, other.ID), "one of the two that live")
	}

	began := time.Now()
	require.NoError(s, s.host(dead).restart())
	var e cluster.Member
	s.onlyThen(began, "the restarted voter", func() (err error) {
		s.refusesWhileYoung(began, func() error { return s.remove(other.ID) })
		e, err = s.add(url...)
		return err
	})
	require.NoError(s, s.remove(e.ID))
}

func noQuorum(s *stage) {
	leader, followers := s.cast()
	before := s.list()
	for _, f := range followers {
		s.host(f).kill()
	}
	_, err := s.List(s.briefly(), own)
	s.stalled(err)
	s.isLost(leader, followers[0].Member)
	l, err := s.ListAt(s.soon(), leader)
	require.NoError(s, err)
	assert.Equal(s, before, l.Members)
	if s.can(version.ReadThroughPeer) {
		_, err = s.Read(s.soon(), leader)
		var unready *cluster.Unready
		assert.ErrorAs(s, err, &unready, "the server gives up before we do")
	}
	for _, f := range followers {
		require.NoError(s, s.host(f).restart())
	}
	assert.Equal(s, before, s.list())
	s.leader()
}

func removingVoters(s *stage) {
	leader, followers := s.cast()
	dead, last := followers[0], followers[1]
	s.host(dead).kill()
	s.disconnected(leader, dead)
	require.NoError(s, s.remove(dead.ID), "one that is down may go")
	s.refuses(rpctypes.ErrMemberNotFound, s.remove(dead.ID))
	assert.Len(s, s.list(), 2)
	require.NoError(s, s.host(dead).restart())
	s.exits(s.host(dead)) // with 0 or 1, as its listeners are up by then or not

	s.onlyThen(time.Now().Add(-healthy), "the other", func() error {
		err := s.remove(leader.ID)
		if !errors.Is(err, rpctypes.ErrStopped) {
			return err
		}
		if _, there := byID(s.list(), leader.ID); there {
			return rpctypes.ErrUnhealthy
		}
		return nil // it ended before it could answer
	})
	assert.Zero(s, s.exits(s.host(leader)), "exit code")
	s.untilTrue("the last one leads", func(ctx context.Context) bool {
		l, err := s.List(ctx, last)
		st, _ := s.Status(ctx, last)
		return err == nil && len(l.Members) == 1 && st.Leader == last.ID
	})
}
