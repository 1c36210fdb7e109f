package e2e_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// aloneCases begin with one voter.
var aloneCases = []conformance{
	{name: "what a lone voter answers", play: whatALoneVoterAnswers},
	{name: "where nobody is to be asked", play: whereNobodyIsToBeAsked},
	{name: "bad peer URLs", play: badPeerURLs},
	{name: "peer URLs that etcd takes", play: peerURLsThatEtcdTakes},
	{name: "adding a learner again", play: addingALearnerAgain},
	{name: "within one second", play: withinOneSecond},
	{name: "removing", play: removing},
	{name: "promoting what is not there", play: promotingWhatIsNotThere},
	{name: "updating", play: updating},
	{name: "a learner's life", play: aLearnersLife},
	{name: "a removed learner", play: aRemovedLearner},
	{name: "a paused learner gets its vote once it has caught up", spoils: true, play: aPausedLearner},
	{name: "a killed learner gets its vote", spoils: true, play: aKilledLearner},
	{name: "a second voter the old way", spoils: true, play: aSecondVoterTheOldWay},
}

func whatALoneVoterAnswers(s *stage) {
	m := s.voters()[0]
	l, err := s.List(s.soon(), own)
	require.NoError(s, err)
	require.Len(s, l.Members, 1)
	e := l.Members[0]
	assert.Equal(s, member.Member{
		ID: e.ID, Name: m.name(), PeerURLs: []string{m.peerURL()}, ClientURLs: []string{m.clientURL()},
	}, e)
	assert.NotZero(s, e.ID)
	assert.NotZero(s, l.ClusterID)
	assert.Equal(s, e.ID, l.By)

	st, err := s.Status(s.soon(), at(e))
	require.NoError(s, err)
	assert.NotZero(s, st.Term)
	assert.NotZero(s, st.Applied)
	assert.LessOrEqual(s, st.Applied, st.Index)
	assert.NotZero(s, st.DBSize)
	assert.Equal(s, member.Status{
		ID: e.ID, ClusterID: l.ClusterID, Version: s.says().String(), Leader: e.ID,
		Term: st.Term, Index: st.Index, Applied: st.Applied, DBSize: st.DBSize,
	}, st)

	for name, ask := range map[string]func() (member.List, error){
		"list":         func() (member.List, error) { return s.List(s.soon(), at(e)) },
		"list at":      func() (member.List, error) { return s.ListAt(s.soon(), at(e)) },
		"list at own":  func() (member.List, error) { return s.ListAt(s.soon(), own) },
		"peer members": func() (member.List, error) { return s.PeerMembers(s.soon(), at(e)) },
	} {
		again, err := ask()
		require.NoError(s, err, name)
		assert.Equal(s, l, again, name)
	}
	readsBy(s, m, e)

	require.NoError(s, s.MayChange(s.soon(), at(e)))
	require.NoError(s, s.MayChange(s.soon(), own))
	require.NoError(s, s.Nudge(s.soon(), at(e)))
	after, err := s.Status(s.soon(), at(e))
	require.NoError(s, err)
	assert.Greater(s, after.Index, st.Index, "a nudge is an entry")
	assert.Equal(s, st.Term, after.Term)

	for _, url := range []string{"", m.metricsURL()} {
		metrics, err := s.Metrics(s.soon(), member.Target{Member: e, Endpoints: e.ClientURLs, MetricsURL: url})
		require.NoError(s, err)
		assert.GreaterOrEqual(s, metrics.Applied, after.Applied)
		assert.False(s, metrics.Receiving)
		assert.Empty(s, metrics.Connected, "there is nobody else")
	}
}

// readsBy holds a read through a member to the way it takes: the peer port, or
// on 3.4 /health.
func readsBy(s *stage, m machine, e member.Member) {
	s.Helper()
	t := behind(m, e)
	metrics := t
	metrics.MetricsURL = m.metricsURL()
	for way, t := range map[string]member.Target{"client": t, "metrics": metrics} {
		answer, err := s.Read(s.soon(), t)
		require.NoError(s, err)
		want := member.ReadAnswer{Way: way}
		if s.can(version.ReadThroughPeer) {
			want = member.ReadAnswer{Way: "peer", ClusterID: s.clusterID()}
		}
		assert.Equal(s, want, answer)
	}
}

func (s *stage) clusterID() member.ID {
	s.Helper()
	l, err := s.ListAt(s.soon(), own)
	require.NoError(s, err)
	return l.ClusterID
}

func whereNobodyIsToBeAsked(s *stage) {
	nowhere := member.Target{Member: member.Member{ID: 7}}
	for name, err := range s.asks(nowhere, member.Member{ID: 8}) {
		assert.ErrorIs(s, err, member.ErrUnreachable, name)
	}
	m := s.machine()
	silent := behind(m, member.Member{ID: 7})
	for name, err := range s.asks(silent, member.Member{ID: 8}) {
		s.unreachable(err, name)
	}
}

// asks makes every call to one target, about another member, and returns the
// errors by the names of the calls.
func (s *stage) asks(t member.Target, about member.Member) map[string]error {
	errs := s.changes(t, about)
	_, errs["list"] = s.List(s.soon(), t)
	_, errs["list at"] = s.ListAt(s.soon(), t)
	_, errs["status"] = s.Status(s.soon(), t)
	_, errs["read"] = s.Read(s.soon(), t)
	_, errs["peer members"] = s.PeerMembers(s.soon(), t)
	_, errs["metrics"] = s.Metrics(s.soon(), t)
	return errs
}

// changes are the calls that etcd takes from a caller who requires a leader.
func (s *stage) changes(t member.Target, about member.Member) map[string]error {
	errs := map[string]error{}
	_, errs["add learner"] = s.Add(s.soon(), t, []string{"http://127.0.0.1:1"}, true)
	_, errs["add voter"] = s.Add(s.soon(), t, []string{"http://127.0.0.1:1"}, false)
	errs["promote"] = s.Promote(s.soon(), t, about.ID)
	errs["remove"] = s.Remove(s.soon(), t, about.ID)
	errs["update"] = s.Update(s.soon(), t, about.ID, about.PeerURLs)
	errs["may change"] = s.MayChange(s.soon(), t)
	errs["nudge"] = s.Nudge(s.soon(), t)
	return errs
}

func badPeerURLs(s *stage) {
	before := s.list()
	good := s.machine().peerURL()
	port := good[strings.LastIndex(good, ":"):]
	for _, urls := range [][]string{
		nil,
		{""},
		{"127.0.0.1" + port},
		{"http://"},
		{"http://127.0.0.1"},
		{"http://127.0.0.1:port"},
		{good + "/"},
		{good + "/raft"},
		{"ftp://127.0.0.1" + port},
		{"://127.0.0.1" + port},
		{good, "http://127.0.0.1"},
	} {
		_, err := s.add(urls...)
		s.refuses(rpctypes.ErrMemberBadURLs, err, "learner %q", urls)
		_, err = s.addVoter(urls...)
		s.refuses(rpctypes.ErrMemberBadURLs, err, "voter %q", urls)
	}
	assert.Equal(s, before, s.list())
}

func peerURLsThatEtcdTakes(s *stage) {
	m, other := s.machine(), s.machine()
	hostPort := strings.TrimPrefix(m.peerURL(), "http://")
	inOrder := []string{m.peerURL(), other.peerURL()}
	if inOrder[0] > inOrder[1] {
		inOrder[0], inOrder[1] = inOrder[1], inOrder[0]
	}
	for name, tc := range map[string]struct{ urls, listed []string }{
		"spaces":              {[]string{" " + m.peerURL() + " "}, []string{m.peerURL()}},
		"a scheme in letters": {[]string{"HTTP://" + hostPort}, []string{m.peerURL()}},
		"a query":             {[]string{m.peerURL() + "?a=b"}, nil},
		"user info":           {[]string{"http://a:b@" + hostPort}, nil},
		"no host":             {[]string{"http://:1"}, nil},
		"sorted":              {[]string{inOrder[0], inOrder[1]}, inOrder},
		"not sorted":          {[]string{inOrder[1], inOrder[0]}, inOrder},
	} {
		want := tc.listed
		if want == nil {
			want = tc.urls
		}
		e, err := s.add(tc.urls...)
		if !assert.NoError(s, err, name) {
			continue
		}
		assert.Equal(s, want, e.PeerURLs, name)
		assert.Contains(s, s.list(), e, name)
		require.NoError(s, s.remove(e.ID), name)
	}
}

func addingALearnerAgain(s *stage) {
	voter, m := s.voters()[0], s.machine()
	before := s.list()
	e, err := s.add(m.peerURL())
	require.NoError(s, err)
	assert.Equal(s, member.Member{ID: e.ID, PeerURLs: []string{m.peerURL()}, Learner: true}, blank(e))
	assert.NotZero(s, e.ID)
	listed := s.entry(m)
	assert.Equal(s, e.ID, listed.ID)
	assert.True(s, listed.Learner)
	assert.False(s, listed.Started())
	assert.Empty(s, listed.ClientURLs)
	assert.Len(s, s.list(), len(before)+1)

	time.Sleep(1100 * time.Millisecond) // else it is the same ID
	_, err = s.add(m.peerURL())
	s.refuses(rpctypes.ErrPeerURLExist, err, "a learner's")
	_, err = s.addVoter(m.peerURL())
	s.refuses(rpctypes.ErrPeerURLExist, err, "a learner's, as a voter")
	_, err = s.add(s.machine().peerURL(), m.peerURL())
	s.refuses(rpctypes.ErrPeerURLExist, err, "a learner's beside another")
	_, err = s.add(voter.peerURL())
	s.refuses(rpctypes.ErrPeerURLExist, err, "a voter's")
	_, err = s.add(s.machine().peerURL())
	s.refuses(rpctypes.ErrTooManyLearners, err)

	require.NoError(s, s.remove(e.ID))
	assert.Equal(s, before, s.list())
	again, err := s.add(m.peerURL())
	require.NoError(s, err, "the place is free again")
	assert.NotEqual(s, e.ID, again.ID)
	require.NoError(s, s.remove(again.ID))
}

// blank makes no difference between no URLs and an empty list of them.
func blank(e member.Member) member.Member {
	if len(e.ClientURLs) == 0 {
		e.ClientURLs = nil
	}
	return e
}

// withinOneSecond is about IDs: etcd makes them of the URLs and the second.
func withinOneSecond(s *stage) {
	leader := s.leader()
	add := func(m machine) (member.Member, error) {
		s.breathe()
		return s.Add(s.soon(), leader, []string{m.peerURL()}, true)
	}
	s.inOneSecond(func() func() {
		m := s.machine()
		e, err := add(m)
		require.NoError(s, err)
		_, err = add(m)
		return func() {
			s.refuses(rpctypes.ErrMemberExist, err)
			require.NoError(s, s.remove(e.ID))
		}
	})
	s.inOneSecond(func() func() {
		m := s.machine()
		e, err := add(m)
		require.NoError(s, err)
		s.breathe()
		require.NoError(s, s.Remove(s.soon(), leader, e.ID))
		_, err = add(m)
		return func() {
			s.refuses(rpctypes.ErrMemberNotFound, err)
			time.Sleep(1100 * time.Millisecond)
			again, err := add(m)
			require.NoError(s, err, "a second later")
			assert.NotEqual(s, e.ID, again.ID)
			require.NoError(s, s.remove(again.ID))
		}
	})
}

// inOneSecond has do begin with a second of the clock, and checks what it came
// to, if it was done within that second.
func (s *stage) inOneSecond(do func() (check func())) {
	s.Helper()
	for range 10 {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second + 5*time.Millisecond)))
		began := time.Now().Unix()
		check := do()
		if time.Now().Unix() == began {
			check()
			return
		}
		time.Sleep(1100 * time.Millisecond)
		for _, e := range s.list() {
			if e.Learner {
				require.NoError(s, s.remove(e.ID))
			}
		}
	}
	s.Skip("this machine is too slow for several changes within a second")
}

const stranger member.ID = 0xabcdef

func removing(s *stage) {
	m := s.machine()
	e := s.learner(m)
	require.NoError(s, s.remove(e.ID))
	s.refuses(rpctypes.ErrMemberNotFound, s.remove(e.ID), "twice")
	s.refuses(rpctypes.ErrMemberNotFound, s.remove(stranger), "unknown")
	s.refuses(rpctypes.ErrMemberNotEnoughStarted, s.remove(s.leader().ID), "the last one")
}

func promotingWhatIsNotThere(s *stage) {
	m := s.machine()
	e := s.learner(m)
	s.refuses(rpctypes.ErrMemberLearnerNotReady, s.promote(e.ID), "never started")
	require.NoError(s, s.remove(e.ID))
	s.refuses(rpctypes.ErrMemberNotFound, s.promote(e.ID), "removed")
	s.refuses(rpctypes.ErrMemberNotFound, s.promote(stranger), "unknown")
	s.refuses(rpctypes.ErrMemberNotLearner, s.promote(s.leader().ID), "a voter")
}

func updating(s *stage) {
	voter, m, next := s.voters()[0], s.machine(), s.machine()
	v := s.entry(voter)
	require.NoError(s, s.update(v.ID, voter.peerURL()), "to what it is")
	assert.Equal(s, v, s.entry(voter))
	s.refuses(rpctypes.ErrMemberNotFound, s.update(stranger, m.peerURL()))

	e := s.learner(m)
	s.refuses(rpctypes.ErrPeerURLExist, s.update(e.ID, voter.peerURL()))
	s.refuses(rpctypes.ErrPeerURLExist, s.update(e.ID, next.peerURL(), voter.peerURL()))
	assert.Equal(s, e.PeerURLs, s.entry(m).PeerURLs)
	require.NoError(s, s.update(e.ID, next.peerURL()))
	_, listed := entryOf(s.list(), m)
	assert.False(s, listed, "its former URL")
	moved := s.entry(next)
	assert.Equal(s, e.ID, moved.ID)
	if s.can(version.SafeMemberUpdateOfLearner) {
		assert.True(s, moved.Learner)
	} else {
		// A voter in the list and a learner in raft, for ever (etcd #21694).
		assert.False(s, moved.Learner)
		s.refuses(rpctypes.ErrMemberLearnerNotReady, s.promote(e.ID))
		other := s.machine()
		limited, err := s.add(other.peerURL())
		if assert.NotErrorIs(s, err, rpctypes.ErrTooManyLearners, "the limit does not count it") && err == nil {
			require.NoError(s, s.remove(limited.ID))
		}
	}
	s.runs(next, moved)
	s.caughtUp(next, moved)
	s.serving(next, moved)
	st, err := s.Status(s.soon(), behind(next, moved))
	require.NoError(s, err)
	assert.Equal(s, s.can(version.SafeMemberUpdateOfLearner), st.Learner)
	if !s.can(version.SafeMemberUpdateOfLearner) {
		s.refuses(rpctypes.ErrMemberNotLearner, s.promote(e.ID))
	}
	s.gone(next, moved)
}

func aLearnersLife(s *stage) {
	m := s.machine()
	leader := s.leader()
	e := s.learner(m)
	t := behind(m, e)
	for name, err := range s.asks(t, e) {
		s.unreachable(err, "%s, before the start", name)
	}

	s.runs(m, e)
	s.caughtUp(m, e)
	readsBy(s, m, e)
	s.serving(m, e)
	e = s.entry(m)
	assert.Equal(s, member.Member{
		ID: e.ID, Name: m.name(), PeerURLs: []string{m.peerURL()}, ClientURLs: []string{m.clientURL()}, Learner: true,
	}, e)

	st, err := s.Status(s.soon(), at(e))
	require.NoError(s, err)
	assert.NotZero(s, st.Applied)
	assert.NotZero(s, st.DBSize)
	assert.Equal(s, member.Status{
		ID: e.ID, ClusterID: s.clusterID(), Version: s.says().String(), Leader: leader.ID, Learner: true,
		Term: st.Term, Index: st.Index, Applied: st.Applied, DBSize: st.DBSize,
	}, st)
	s.untilTrue("it follows", func(ctx context.Context) bool {
		there, _ := s.Status(ctx, leader)
		here, _ := s.Status(ctx, at(e))
		return here.Index == there.Index && here.Applied == there.Applied && here.Term == there.Term
	})

	for name, err := range s.changes(at(e), e) {
		s.refuses(errForLearner, err, name)
	}
	_, err = s.List(s.soon(), at(e))
	s.refuses(errForLearner, err, "list")
	_, err = s.ListAt(s.soon(), at(e))
	s.refuses(errForLearner, err, "list at")
	s.refuses(errForLearner, s.MoveLeader(s.soon(), at(e), e.ID), "move leader")
	s.refuses(rpctypes.ErrBadLeaderTransferee, s.MoveLeader(s.soon(), leader, e.ID))

	l, err := s.List(s.soon(), at(e), leader)
	require.NoError(s, err, "the learner refuses, the voter answers")
	assert.Equal(s, leader.ID, l.By)
	peers, err := s.PeerMembers(s.soon(), at(e))
	require.NoError(s, err)
	assert.Equal(s, member.List{ClusterID: l.ClusterID, By: e.ID, Members: l.Members}, peers)

	metrics, err := s.Metrics(s.soon(), at(e))
	require.NoError(s, err)
	assert.NotZero(s, metrics.Applied)
	assert.NotZero(s, metrics.Received)
	assert.False(s, metrics.Receiving)
	assert.Equal(s, map[member.ID]bool{leader.ID: true}, metrics.Connected)
	metrics, err = s.Metrics(s.soon(), leader)
	require.NoError(s, err)
	assert.Equal(s, map[member.ID]bool{e.ID: true}, metrics.Connected)
	s.gone(m, e)
}

func aRemovedLearner(s *stage) {
	m := s.machine()
	e := s.joined(m)
	require.NoError(s, s.remove(e.ID))
	s.exits(m, 0)
	for name, err := range s.asks(at(e), e) {
		s.unreachable(err, name)
	}
	require.NoError(s, m.restart())
	s.untilTrue("it ends again", func(context.Context) bool {
		_, ended := m.exit()
		return ended
	})
}

func aPausedLearner(s *stage) {
	m := s.machine()
	leader := s.leader()
	e := s.joined(m)
	m.pause()
	_, err := s.Read(s.briefly(), at(e))
	s.unanswered(err, "read")
	_, err = s.Status(s.briefly(), at(e))
	s.unanswered(err, "status")
	_, err = s.ListAt(s.briefly(), at(e))
	s.unanswered(err, "list at")
	_, err = s.PeerMembers(s.briefly(), at(e))
	s.unanswered(err, "peer members")
	_, err = s.Metrics(s.briefly(), at(e))
	s.unanswered(err, "metrics")
	s.unanswered(s.Nudge(s.briefly(), at(e)), "nudge")
	s.writes()
	s.refuses(rpctypes.ErrMemberLearnerNotReady, s.promote(e.ID), "it is behind")
	m.resume()
	s.caughtUp(m, e)

	require.NoError(s, s.promote(e.ID))
	s.untilTrue("it knows that it votes", func(ctx context.Context) bool {
		st, err := s.Status(ctx, at(e))
		return err == nil && !st.Learner
	})
	assert.False(s, s.entry(m).Learner)
	s.refuses(rpctypes.ErrMemberNotLearner, s.promote(e.ID), "again")
	l, err := s.List(s.soon(), at(e))
	require.NoError(s, err)
	assert.Equal(s, e.ID, l.By)
	assert.Len(s, l.Members, 2)

	s.breathe()
	s.refuses(rpctypes.ErrMemberNotLearner, s.Promote(s.soon(), at(e), e.ID), "through the follower")
	s.breathe()
	s.refuses(rpctypes.ErrMemberNotFound, s.Promote(s.soon(), at(e), stranger), "through the follower")
	s.refuses(rpctypes.ErrNotLeader, s.MoveLeader(s.soon(), at(e), e.ID))
	s.refuses(rpctypes.ErrBadLeaderTransferee, s.MoveLeader(s.soon(), leader, stranger))
	require.NoError(s, s.MoveLeader(s.soon(), leader, leader.ID), "to whom leads")
	require.NoError(s, s.MoveLeader(s.soon(), leader, e.ID))
	assert.Equal(s, e.ID, s.leader().ID)
	s.refuses(rpctypes.ErrNotLeader, s.MoveLeader(s.soon(), leader, e.ID))
}

// aKilledLearner is why a promote needs more than etcd's own test.
func aKilledLearner(s *stage) {
	m := s.machine()
	leader := s.leader()
	e := s.joined(m)
	m.kill()
	s.untilTrue("its port is shut", func(ctx context.Context) bool {
		_, err := s.Status(ctx, at(e))
		return err != nil && strings.Contains(err.Error(), "connection refused")
	})
	_, err := s.Read(s.soon(), at(e))
	s.unreachable(err)
	require.NoError(s, s.promote(e.ID), "the log was received, so etcd does not mind")

	_, err = s.List(s.briefly(), own)
	s.stalled(err)
	l, err := s.ListAt(s.soon(), leader)
	require.NoError(s, err)
	assert.Equal(s, leader.ID, l.By)
	assert.Len(s, l.Members, 2)
	listed, _ := entryOf(l.Members, m)
	assert.False(s, listed.Learner)
	s.isLost(leader, e)

	require.NoError(s, m.restart())
	assert.Equal(s, l.Members, s.list(), "with its server the quorum is back, and nothing was done")
}

// isLost holds a server to what it says once it knows that there is no quorum.
func (s *stage) isLost(t member.Target, about member.Member) {
	s.Helper()
	var st member.Status
	s.untilTrue("no leader", func(ctx context.Context) bool {
		var err error
		st, err = s.Status(ctx, t)
		return err == nil && st.Leader == 0
	})
	assert.Equal(s, []string{"etcdserver: no leader"}, st.Errors)
	for name, err := range s.changes(t, about) {
		s.refuses(rpctypes.ErrNoLeader, err, name)
	}
	s.refuses(rpctypes.ErrNotLeader, s.MoveLeader(s.soon(), t, about.ID))
	_, err := s.List(s.briefly(), t)
	s.stalled(err, "list")
	_, err = s.Read(s.briefly(), t)
	s.unreadable(err)
	_, err = s.ListAt(s.soon(), t)
	assert.NoError(s, err)
	_, err = s.PeerMembers(s.soon(), t)
	assert.NoError(s, err)
	_, err = s.Metrics(s.soon(), t)
	assert.NoError(s, err)
}

// unreadable is that no read came through: 3.4 says so at once, others wait.
func (s *stage) unreadable(err error) {
	s.Helper()
	if s.can(version.ReadThroughPeer) {
		s.unanswered(err, "read")
		return
	}
	var unready *member.Unready
	assert.ErrorAs(s, err, &unready, "read")
}

func aSecondVoterTheOldWay(s *stage) {
	first, m := s.entry(s.voters()[0]), s.machine()
	leader := at(first)
	e, err := s.addVoter(m.peerURL())
	require.NoError(s, err, "one voter may always have a second")
	assert.Equal(s, member.Member{ID: e.ID, PeerURLs: []string{m.peerURL()}}, blank(e))
	_, err = s.List(s.briefly(), own)
	s.stalled(err, "it counts before it runs")
	s.stalled(s.Update(s.briefly(), leader, first.ID, first.PeerURLs))
	l, err := s.ListAt(s.soon(), leader)
	require.NoError(s, err)
	assert.Len(s, l.Members, 2)
	listed, _ := entryOf(l.Members, m)
	assert.Equal(s, e, blank(listed))
	s.isLost(leader, e)

	began := time.Now()
	s.runs(m, e)
	s.untilTrue("the second is named", func(ctx context.Context) bool {
		l, err := s.List(ctx, own)
		listed, _ := entryOf(l.Members, m)
		return err == nil && listed.Started()
	})
	s.serving(m, e)
	s.onlyThen(began, "the second voter", func() error {
		s.refusesWhileYoung(began, func() error { return s.remove(e.ID) })
		_, err := s.add(s.machine().peerURL())
		return err
	})
	for _, added := range s.list() {
		if added.Learner {
			require.NoError(s, s.remove(added.ID))
		}
	}

	third := s.added(false, s.machine())
	_, err = s.addVoter(s.machine().peerURL())
	s.refuses(rpctypes.ErrMemberNotEnoughStarted, err, "two of three have started")
	_, err = s.add(s.machine().peerURL())
	s.refuses(rpctypes.ErrUnhealthy, err, "a learner, while one of three voters does not run")
	s.refuses(rpctypes.ErrMemberNotEnoughStarted, s.remove(e.ID), "one of two would have started")
	require.NoError(s, s.remove(third.ID), "one that never ran may go")
	s.refuses(rpctypes.ErrMemberNotFound, s.remove(third.ID))
}

// onlyThen is the rule of the five seconds: a change is refused as unhealthy
// until that long after something began, and then made.
func (s *stage) onlyThen(began time.Time, what string, change func() error) {
	s.Helper()
	refused := false
	for end := time.Now().Add(patient); ; time.Sleep(5 * often) {
		err := change()
		if err == nil {
			break
		}
		require.ErrorIs(s, err, rpctypes.ErrUnhealthy, what)
		refused = true
		if time.Now().After(end) {
			require.NoError(s, err, what)
		}
	}
	assert.GreaterOrEqual(s, time.Since(began), healthy, "%s had not been connected for long enough", what)
	if !refused {
		s.Logf("%s: this machine was too slow to see a refusal", what)
	}
}

// refusesWhileYoung holds a change to its refusal, if that comes in time.
func (s *stage) refusesWhileYoung(began time.Time, change func() error) {
	s.Helper()
	if time.Since(began) > healthy/2 {
		return
	}
	if err := change(); time.Since(began) < healthy || !errors.Is(err, rpctypes.ErrUnhealthy) {
		s.refuses(rpctypes.ErrUnhealthy, err)
	}
}
