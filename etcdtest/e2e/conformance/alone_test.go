package conformance_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
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
	{name: "a paused learner gets its vote once it has caught up", play: aPausedLearner, spoils: true},
	{name: "a killed learner gets its vote", play: aKilledLearner, spoils: true},
	{name: "a learner that receives a snapshot", play: aLearnerThatReceivesASnapshot, spoils: true, needs: []version.Ability{version.SilentAfterSnapshot}},
	{name: "a second voter the old way", play: aSecondVoterTheOldWay, spoils: true},
}

func whatALoneVoterAnswers(s *stage) {
	m := s.voters()[0]
	l, err := s.List(s.soon(), own)
	require.NoError(s, err)
	require.Len(s, l.Members, 1)
	e := l.Members[0]
	assert.Equal(s, cluster.Member{
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
	assert.Equal(s, cluster.Status{
		ID: e.ID, ClusterID: l.ClusterID, Version: s.says().String(), Leader: e.ID,
		Term: st.Term, Index: st.Index, Applied: st.Applied, DBSize: st.DBSize,
	}, st)

	for name, ask := range map[string]func() (cluster.List, error){
		"list":         func() (cluster.List, error) { return s.List(s.soon(), at(e)) },
		"list at":      func() (cluster.List, error) { return s.ListAt(s.soon(), at(e)) },
		"list at own":  func() (cluster.List, error) { return s.ListAt(s.soon(), own) },
		"peer members": func() (cluster.List, error) { return s.PeerMembers(s.soon(), at(e)) },
	} {
		again, err := ask()
		require.NoError(s, err, name)
		assert.Equal(s, l, again, name)
	}
	readsBy(s, m, e)

	// A stranger that asks at its peer port is told the version and the cluster, and
	// stopped; nobody answers where no server is.
	replies, err := s.Ask(s.soon(), m.peerURL())
	require.NoError(s, err)
	assert.Equal(s, []cluster.Reply{{Status: 412, Version: s.says().String(), ClusterID: l.ClusterID.String()}}, replies)
	_, err = s.Ask(s.soon(), s.machine().peerURL())
	s.unreachable(err, "ask")
	told, err := s.Endpoints(s.soon())
	require.NoError(s, err)
	require.Len(s, told, 1)
	assert.Equal(s, l, told[0].List)
	assert.Equal(s, e.ID, told[0].Status.ID)
	assert.Equal(s, e.ID, told[0].Status.Leader)
	assert.Equal(s, l.ClusterID, told[0].Status.ClusterID)

	require.NoError(s, s.MayChange(s.soon(), at(e)))
	require.NoError(s, s.MayChange(s.soon(), own))
	behind, err := s.Barrier(s.soon(), at(e))
	require.NoError(s, err)
	assert.Equal(s, l, behind.List, "the list of the server that committed it")
	assert.NotEmpty(s, behind.Carrier)
	again, err := s.Barrier(s.soon(), at(e))
	require.NoError(s, err)
	assert.Equal(s, behind.Carrier, again.Carrier, "one connection carries both")
	after, err := s.Status(s.soon(), at(e))
	require.NoError(s, err)
	assert.Greater(s, after.Index, st.Index, "a barrier is an entry")
	assert.Equal(s, st.Term, after.Term)

	for _, url := range []string{"", m.metricsURL()} {
		metrics, err := s.Metrics(s.soon(), cluster.Target{Member: e, MetricsURL: url})
		require.NoError(s, err)
		assert.GreaterOrEqual(s, metrics.Applied, after.Applied)
		assert.False(s, metrics.Receiving)
		assert.Empty(s, metrics.Peers, "there is nobody else")
	}
}

// readsBy holds a read through a member to the way it takes: the peer port, or
// on 3.4 /health.
func readsBy(s *stage, m machine, e cluster.Member) {
	s.Helper()
	t := behind(m, e)
	metrics := t
	metrics.MetricsURL = m.metricsURL()
	for way, t := range map[string]cluster.Target{"client": t, "metrics": metrics} {
		answer, err := s.Read(s.soon(), t)
		require.NoError(s, err)
		want := cluster.ReadAnswer{Way: way}
		if s.can(version.ReadThroughPeer) {
			want = cluster.ReadAnswer{Way: "peer", ClusterID: s.clusterID()}
		}
		who, err := s.Who(s.soon(), answer.URL, s.clusterID(), e.ID)
		require.NoError(s, err)
		assert.Equal(s, cluster.TheMember, who.Identity, who)
		assert.Equal(s, answer.Conn, who.Conn)
		answer.URL, answer.Conn = "", ""
		assert.Equal(s, want, answer)
	}
	another := t
	another.ID = 0xabcdef
	_, err := s.Read(s.soon(), another)
	assert.Error(s, err, "it is not that member")
	who, err := s.Who(s.soon(), m.peerURL(), 0x1234, e.ID)
	require.NoError(s, err)
	assert.Equal(s, cluster.AnotherCluster, who.Identity, "%s", who)
}

func (s *stage) clusterID() cluster.ID {
	s.Helper()
	l, err := s.ListAt(s.soon(), own)
	require.NoError(s, err)
	return l.ClusterID
}

func whereNobodyIsToBeAsked(s *stage) {
	about := s.list()[0]
	nowhere := cluster.Target{Member: cluster.Member{ID: 7}}
	for name, err := range s.asks(nowhere, about).within(s.soon()) {
		assert.ErrorIs(s, err, cluster.ErrUnreachable, name)
	}
	m := s.machine()
	silent := behind(m, cluster.Member{ID: 7})
	for name, ask := range s.asks(silent, about) {
		s.unreachable(ask(s.soon()), name)
	}
}

// calls are what is asked of one target, by their names.
type calls map[string]func(context.Context) error

// asks are all of them.
func (s *stage) asks(t cluster.Target, about cluster.Member) calls {
	all := s.changes(t, about)
	all["list"] = func(ctx context.Context) error { _, err := s.List(ctx, t); return err }
	all["list at"] = func(ctx context.Context) error { _, err := s.ListAt(ctx, t); return err }
	all["status"] = func(ctx context.Context) error { _, err := s.Status(ctx, t); return err }
	all["read"] = func(ctx context.Context) error { _, err := s.Read(ctx, t); return err }
	all["peer members"] = func(ctx context.Context) error { _, err := s.PeerMembers(ctx, t); return err }
	all["metrics"] = func(ctx context.Context) error { _, err := s.Metrics(ctx, t); return err }
	return all
}

// changes are those that require a leader and no quorum to be refused; about is
// the member that some of them are about.
func (s *stage) changes(t cluster.Target, about cluster.Member) calls {
	return calls{
		"add learner": func(ctx context.Context) error { _, err := s.Add(ctx, t, about.PeerURLs, true); return err },
		"add voter":   func(ctx context.Context) error { _, err := s.Add(ctx, t, about.PeerURLs, false); return err },
		"promote":     func(ctx context.Context) error { return s.Promote(ctx, t, about.ID) },
		"remove":      func(ctx context.Context) error { return s.Remove(ctx, t, about.ID) },
		"update":      func(ctx context.Context) error { return s.Update(ctx, t, about.ID, about.PeerURLs) },
		"move leader": func(ctx context.Context) error { return s.MoveLeader(ctx, t, about.ID) },
		"may change":  func(ctx context.Context) error { return s.MayChange(ctx, t) },
		"barrier":     func(ctx context.Context) error { return s.barrier(ctx, t) },
	}
}

func (c calls) only(names ...string) calls {
	some := calls{}
	for _, name := range names {
		some[name] = c[name]
	}
	return some
}

// within makes all calls at once, and returns their errors.
func (c calls) within(ctx context.Context) map[string]error {
	type result struct {
		name string
		err  error
	}
	results := make(chan result)
	for name, call := range c {
		go func() { results <- result{name, call(ctx)} }()
	}
	errs := map[string]error{}
	for range c {
		r := <-results
		errs[r.name] = r.err
	}
	return errs
}

func badPeerURLs(s *stage) {
	before := s.list()
	good := s.machine().peerURL()
	port := good[strings.LastIndex(good, ":"):]
	leader := s.leader()
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
		_, err := s.Add(s.soon(), leader, urls, true)
		s.refuses(rpctypes.ErrMemberBadURLs, err, "learner %q", urls)
		_, err = s.Add(s.soon(), leader, urls, false)
		s.refuses(rpctypes.ErrMemberBadURLs, err, "voter %q", urls)
	}
	assert.Equal(s, before, s.list())
}

func peerURLsThatEtcdTakes(s *stage) {
	for name, spell := range map[string]func(a, b string) (urls, listed []string){
		"spaces":      func(a, _ string) (_, _ []string) { return []string{" " + a + " "}, []string{a} },
		"capitals":    func(a, _ string) (_, _ []string) { return []string{"HTTP" + a[len("http"):]}, []string{a} },
		"a query":     func(a, _ string) (_, _ []string) { return []string{a + "?b=c"}, []string{a + "?b=c"} },
		"user info":   func(a, _ string) (_, _ []string) { return []string{"http://b:c@" + a[len("http://"):]}, nil },
		"no host":     func(_, _ string) (_, _ []string) { return []string{"http://:1"}, []string{"http://:1"} },
		"two, sorted": func(a, b string) (_, _ []string) { return []string{min(a, b), max(a, b)}, nil },
		"two, as called": func(a, b string) (_, _ []string) {
			return []string{max(a, b), min(a, b)}, []string{min(a, b), max(a, b)}
		},
	} {
		urls, listed := spell(s.machine().peerURL(), s.machine().peerURL())
		if listed == nil {
			listed = urls
		}
		e, err := s.add(urls...)
		if !assert.NoError(s, err, name) {
			continue
		}
		assert.Equal(s, listed, e.PeerURLs, name)
		if got, ok := byID(s.list(), e.ID); assert.True(s, ok, name) {
			assert.Equal(s, blank(e), blank(got), name)
		}
		require.NoError(s, s.remove(e.ID), name)
	}
}

func addingALearnerAgain(s *stage) {
	voter, m := s.voters()[0], s.machine()
	before := s.list()
	e, err := s.add(m.peerURL())
	require.NoError(s, err)
	assert.Equal(s, cluster.Member{ID: e.ID, PeerURLs: []string{m.peerURL()}, Learner: true}, blank(e))
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
func blank(e cluster.Member) cluster.Member {
	if len(e.ClientURLs) == 0 {
		e.ClientURLs = nil
	}
	return e
}

// withinOneSecond is about IDs: etcd makes them of the URLs and the second.
func withinOneSecond(s *stage) {
	leader := s.leader()
	add := func(m machine) (cluster.Member, error) {
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

const stranger cluster.ID = 0xabcdef

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
	began := time.Now()
	s.runs(next, moved)
	s.caughtUp(next, moved)
	s.serving(next, moved)
	st, err := s.Status(s.soon(), behind(next, moved))
	require.NoError(s, err)
	assert.Equal(s, s.can(version.SafeMemberUpdateOfLearner), st.Learner)
	if s.can(version.SafeMemberUpdateOfLearner) {
		s.gone(next, moved)
		return
	}
	s.refuses(rpctypes.ErrMemberNotLearner, s.promote(e.ID))
	s.refusesWhileYoung(began, func() error { return s.remove(e.ID) })
	next.kill()
	s.until("it may go, for it is down", func(context.Context) error { return s.remove(e.ID) })
}

func aLearnersLife(s *stage) {
	m := s.machine()
	leader := s.leader()
	e := s.learner(m)
	t := behind(m, e)
	for name, ask := range s.asks(t, e) {
		s.unreachable(ask(s.soon()), "%s, before the start", name)
	}

	s.runs(m, e)
	s.caughtUp(m, e)
	readsBy(s, m, e)
	s.serving(m, e)
	e = s.entry(m)
	assert.Equal(s, cluster.Member{
		ID: e.ID, Name: m.name(), PeerURLs: []string{m.peerURL()}, ClientURLs: []string{m.clientURL()}, Learner: true,
	}, e)

	st, err := s.Status(s.soon(), at(e))
	require.NoError(s, err)
	assert.NotZero(s, st.Applied)
	assert.NotZero(s, st.DBSize)
	assert.Equal(s, cluster.Status{
		ID: e.ID, ClusterID: s.clusterID(), Version: s.says().String(), Leader: leader.ID, Learner: true,
		Term: st.Term, Index: st.Index, Applied: st.Applied, DBSize: st.DBSize,
	}, st)
	s.untilTrue("it follows", func(ctx context.Context) bool {
		there, _ := s.Status(ctx, leader)
		here, _ := s.Status(ctx, at(e))
		return here.Index == there.Index && here.Applied == there.Applied && here.Term == there.Term
	})

	for name, err := range s.changes(at(e), e).within(s.soon()) {
		s.refuses(errForLearner, err, name)
	}
	_, err = s.List(s.soon(), at(e))
	s.refuses(errForLearner, err, "list")
	_, err = s.ListAt(s.soon(), at(e))
	s.refuses(errForLearner, err, "list at")
	s.refuses(rpctypes.ErrBadLeaderTransferee, s.MoveLeader(s.soon(), leader, e.ID))

	l, err := s.List(s.soon(), at(e), leader)
	require.NoError(s, err, "the learner refuses, the voter answers")
	assert.Equal(s, leader.ID, l.By)
	peers, err := s.PeerMembers(s.soon(), at(e))
	require.NoError(s, err)
	assert.Equal(s, cluster.List{ClusterID: l.ClusterID, By: e.ID, Members: l.Members}, peers)

	metrics, err := s.Metrics(s.soon(), at(e))
	require.NoError(s, err)
	assert.NotZero(s, metrics.Applied)
	assert.NotZero(s, metrics.Received)
	assert.False(s, metrics.Receiving)
	assert.Equal(s, e.ID, metrics.ServerID)
	assert.True(s, metrics.Learner)
	require.Len(s, metrics.Peers, 1)
	assert.True(s, metrics.Peers[leader.ID].Active)
	assert.NotZero(s, metrics.Peers[leader.ID].Received)
	s.untilTrue("the voter is connected", func(ctx context.Context) bool {
		metrics, err := s.Metrics(ctx, leader)
		return err == nil && metrics.Peers[e.ID].Active
	})
	s.gone(m, e)
	metrics, err = s.Metrics(s.soon(), leader)
	require.NoError(s, err)
	assert.True(s, metrics.Peers[e.ID].Met, "who is removed is not forgotten")
	assert.False(s, metrics.Peers[e.ID].Active)
}

func aRemovedLearner(s *stage) {
	m := s.machine()
	e := s.joined(m)
	require.NoError(s, s.remove(e.ID))
	assert.Zero(s, s.exits(m), "exit code")
	s.closed(e)
	for name, ask := range s.asks(at(e), e) {
		s.unreachable(ask(s.soon()), name)
	}
	require.NoError(s, m.restart())
	s.exits(m)
}

func aPausedLearner(s *stage) {
	m := s.machine()
	leader := s.leader()
	e := s.joined(m)
	m.pause()
	for name, err := range s.asks(at(e), e).within(s.briefly()) {
		s.unanswered(err, name)
	}
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
	s.leads(leader, at(e))
	s.refuses(rpctypes.ErrNotLeader, s.MoveLeader(s.soon(), leader, e.ID))
}

// aKilledLearner is why a promote needs more than etcd's own test.
func aKilledLearner(s *stage) {
	m := s.machine()
	leader := s.leader()
	e := s.joined(m)
	m.kill()
	s.closed(e)
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
func (s *stage) isLost(t cluster.Target, about cluster.Member) {
	s.Helper()
	var st cluster.Status
	s.untilTrue("no leader", func(ctx context.Context) bool {
		var err error
		st, err = s.Status(ctx, t)
		return err == nil && st.Leader == 0
	})
	assert.Equal(s, []string{"etcdserver: no leader"}, st.Errors)
	for name, err := range s.changes(t, about).within(s.soon()) {
		s.refuses(rpctypes.ErrNoLeader, err, name)
	}
	for name, err := range s.asks(t, about).only("list", "list at", "status", "read", "peer members", "metrics").within(s.briefly()) {
		switch name {
		case "list":
			s.stalled(err, name)
		case "read":
			s.unreadable(err)
		default:
			assert.NoError(s, err, name)
		}
	}
}

// unreadable is that no read came through: 3.4 says so, others wait.
func (s *stage) unreadable(err error) {
	s.Helper()
	if s.can(version.ReadThroughPeer) {
		s.unanswered(err, "read")
		return
	}
	var unready *cluster.Unready
	assert.ErrorAs(s, err, &unready, "read")
}

// snapshotIndex is more than what 3.6 and later keep of their log.
const snapshotIndex = 6000

// aLearnerThatReceivesASnapshot may be silent on its client port, although it has
// caught up and can be promoted.
func aLearnerThatReceivesASnapshot(s *stage) {
	s.snapshots()
	m := s.machine()
	e := s.learner(m)
	s.runs(m, e)
	s.caughtUp(m, e)
	e = s.entry(m)
	assert.True(s, e.Started(), "it is named")
	t := behind(m, e)
	t.MetricsURL = m.metricsURL()
	metrics, err := s.Metrics(s.soon(), t)
	require.NoError(s, err)
	assert.GreaterOrEqual(s, metrics.Applied, uint64(snapshotIndex))
	assert.NotZero(s, metrics.Received)
	assert.False(s, metrics.Receiving)
	peers, err := s.PeerMembers(s.soon(), t)
	require.NoError(s, err)
	assert.Equal(s, s.list(), peers.Members)

	_, err = s.Status(s.briefly(), t)
	if err != nil {
		s.unanswered(err)
		_, err = s.Read(s.soon(), t)
		require.NoError(s, err, "while it is silent")
		require.NoError(s, s.barrier(s.soon(), s.leader()))
	}
	s.serving(m, e)
	require.NoError(s, s.promote(e.ID))
	s.untilTrue("it votes", func(ctx context.Context) bool {
		st, err := s.Status(ctx, t)
		return err == nil && !st.Learner && st.Applied > snapshotIndex
	})
}

func aSecondVoterTheOldWay(s *stage) {
	first, m := s.entry(s.voters()[0]), s.machine()
	leader := at(first)
	e, err := s.addVoter(m.peerURL())
	require.NoError(s, err, "one voter may always have a second")
	assert.Equal(s, cluster.Member{ID: e.ID, PeerURLs: []string{m.peerURL()}}, blank(e))
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
	s.refuses(rpctypes.ErrMemberNotFound, s.remove(third.ID), "twice")
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
