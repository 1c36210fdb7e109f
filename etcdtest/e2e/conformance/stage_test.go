package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// A world is a cluster and its machines: the fake one under virtual time, or
// processes. It is the client that a case asks, too.
type world interface {
	cluster.Client
	says() version.Version // what the servers call themselves
	voters() []machine     // those that the cluster began with
	machine() machine      // another one, that nobody knows
	put(leader cluster.Target, n int) error
	snapshots()   // those who join from now on receive one
	cut(machine)  // from all others, on the peer port; in a world with links
	shut(machine) // for the dials of all others, on the peer port; it dials them
	mend(machine) // ends cut and shut
}

// A machine has its URLs and a disk, and runs one server at a time.
type machine interface {
	name() string
	peerURL() string
	clientURL() string
	metricsURL() string
	start(member.StartSpec) error
	restart() error
	kill()
	pause()
	resume()
	exit() (code int, ended bool)
}

const (
	enough  = 20 * time.Second // for a call that is answered
	scarce  = time.Second      // for one that is not
	each    = 2 * time.Second  // for one that is made again and again
	patient = time.Minute      // until a state is reached
	often   = 20 * time.Millisecond
	healthy = 5 * time.Second // etcd's HealthInterval
)

// refusedWords are how a shut port shows: gRPC keeps only the text.
const refusedWords = "connection refused"

// stage is where a case is played.
type stage struct {
	*testing.T
	world
}

// barrier commits one, and leaves what it shows alone.
func (s *stage) barrier(ctx context.Context, via cluster.Target) error {
	_, err := s.Barrier(ctx, via)
	return err
}

func (s *stage) can(a version.Ability) bool { return s.says().Can(a) }

// until tries again until there is no error; the last one fails the case.
func (s *stage) until(what string, try func(context.Context) error) {
	s.Helper()
	for end := time.Now().Add(patient); ; time.Sleep(often) {
		ctx, cancel := context.WithTimeout(s.Context(), each)
		err := try(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			require.NoError(s, err, what)
		}
	}
}

func (s *stage) untilTrue(what string, try func(context.Context) bool) {
	s.Helper()
	s.until(what, func(ctx context.Context) error {
		if !try(ctx) {
			return errors.New("not so")
		}
		return nil
	})
}

// soon is the context of a call that is answered, briefly of one that is not.
func (s *stage) soon() context.Context { return kit.Within(s.T, enough) }

func (s *stage) briefly() context.Context { return kit.Within(s.T, scarce) }

// at is where an entry's server is by its own word, behind where it is by ours.
func at(e cluster.Member) cluster.Target { return cluster.Target{Member: e} }

func behind(m machine, e cluster.Member) cluster.Target {
	e.PeerURLs, e.ClientURLs = []string{m.peerURL()}, []string{m.clientURL()}
	return cluster.Target{Member: e}
}

var own cluster.Target // the endpoints of the caller's client

// list is the member list, and entry the one of a machine in it.
func (s *stage) list() []cluster.Member {
	s.Helper()
	var l cluster.List
	s.until("a member list", func(ctx context.Context) (err error) {
		l, err = s.List(ctx, own)
		return err
	})
	return l.Members
}

func (s *stage) entry(m machine) cluster.Member {
	s.Helper()
	e, ok := entryOf(s.list(), m)
	require.True(s, ok, "%s is not in the list", m.name())
	return e
}

func entryOf(list []cluster.Member, m machine) (cluster.Member, bool) {
	for _, e := range list {
		if slices.Contains(e.PeerURLs, m.peerURL()) {
			return e, true
		}
	}
	return cluster.Member{}, false
}

func byID(list []cluster.Member, id cluster.ID) (cluster.Member, bool) {
	i := slices.IndexFunc(list, func(e cluster.Member) bool { return e.ID == id })
	if i < 0 {
		return cluster.Member{}, false
	}
	return list[i], true
}

// leader waits for the voter that leads; followers are the others.
func (s *stage) leader() cluster.Target {
	s.Helper()
	var leader cluster.Target
	s.until("a leader", func(ctx context.Context) error {
		l, err := s.List(ctx, own)
		if err != nil {
			return err
		}
		st, err := s.Status(ctx, own)
		if err != nil {
			return err
		}
		e, ok := byID(l.Members, st.Leader)
		if leader = at(e); !ok {
			return fmt.Errorf("leader %s is not in the list", st.Leader)
		}
		return nil
	})
	return leader
}

// cast are the founding voters by what they do now.
func (s *stage) cast() (leader cluster.Target, followers []cluster.Target) {
	s.Helper()
	leader = s.leader()
	for _, m := range s.voters() {
		if e := s.entry(m); e.ID != leader.ID {
			followers = append(followers, at(e))
		}
	}
	return leader, followers
}

// host is the founding voter's machine.
func (s *stage) host(t cluster.Target) machine {
	for _, m := range s.voters() {
		if slices.Contains(t.PeerURLs, m.peerURL()) {
			return m
		}
	}
	s.Fatalf("no machine of %s", t)
	return nil
}

// breathe lets raft be ready for another change: a server below 3.6 answers
// before, and drops what comes at once (etcd #15528).
func (s *stage) breathe() {
	if !s.can(version.ChangesBackToBack) {
		time.Sleep(150 * time.Millisecond)
	}
}

// The changes go to the leader, but where a case is about something else.

func (s *stage) add(urls ...string) (cluster.Member, error) { return s.addAs(true, urls...) }

func (s *stage) addVoter(urls ...string) (cluster.Member, error) { return s.addAs(false, urls...) }

func (s *stage) addAs(learner bool, urls ...string) (cluster.Member, error) {
	s.Helper()
	s.breathe()
	return s.Add(s.soon(), s.leader(), urls, learner)
}

func (s *stage) promote(id cluster.ID) error {
	s.Helper()
	s.breathe()
	return s.Promote(s.soon(), s.leader(), id)
}

func (s *stage) remove(id cluster.ID) error {
	s.Helper()
	s.breathe()
	return s.Remove(s.soon(), s.leader(), id)
}

func (s *stage) update(id cluster.ID, urls ...string) error {
	s.Helper()
	s.breathe()
	return s.Update(s.soon(), s.leader(), id, urls)
}

// added is a new learner, or voter, as soon as the servers have been connected for
// long enough.
func (s *stage) added(learner bool, m machine) cluster.Member {
	s.Helper()
	var e cluster.Member
	for end := time.Now().Add(patient); ; time.Sleep(5 * often) {
		var err error
		e, err = s.addAs(learner, m.peerURL())
		if !errors.Is(err, rpctypes.ErrUnhealthy) || time.Now().After(end) {
			require.NoError(s, err)
			return e
		}
	}
}

func (s *stage) learner(m machine) cluster.Member { s.Helper(); return s.added(true, m) }

// settled waits until all voters have been connected for long enough for an add.
func (s *stage) settled() {
	s.Helper()
	require.NoError(s, s.remove(s.learner(s.machine()).ID))
}

// runs starts the machine as a member of the list, with or without a quorum.
func (s *stage) runs(m machine, e cluster.Member) {
	s.Helper()
	l, err := s.ListAt(s.soon(), own)
	require.NoError(s, err)
	var initial []string
	for _, other := range l.Members {
		name := other.Name
		switch {
		case other.ID == e.ID:
			name = m.name()
		case name == "":
			name = "unstarted-" + other.ID.String()
		}
		for _, u := range other.PeerURLs {
			initial = append(initial, name+"="+u)
		}
	}
	require.NoError(s, m.start(member.StartSpec{
		Name: m.name(), MemberID: e.ID, ClusterID: l.ClusterID,
		PeerURLs: []string{m.peerURL()}, InitialCluster: strings.Join(initial, ","),
	}))
}

// caughtUp waits until the machine reads, serving until its client port answers.
func (s *stage) caughtUp(m machine, e cluster.Member) {
	s.Helper()
	t := behind(m, e)
	t.MetricsURL = m.metricsURL()
	s.until(m.name()+" has caught up", func(ctx context.Context) error {
		_, err := s.Read(ctx, t)
		return err
	})
}

func (s *stage) serving(m machine, e cluster.Member) {
	s.Helper()
	s.until(m.name()+" serves", func(ctx context.Context) error {
		_, err := s.Status(ctx, behind(m, e))
		return err
	})
}

// joined is a new learner that has caught up and serves, as it is in the list.
func (s *stage) joined(m machine) cluster.Member {
	s.Helper()
	e := s.learner(m)
	s.runs(m, e)
	s.caughtUp(m, e)
	s.serving(m, e)
	return s.entry(m)
}

// gone removes a learner, and ends its server.
func (s *stage) gone(m machine, e cluster.Member) {
	s.Helper()
	require.NoError(s, s.remove(e.ID))
	m.kill()
}

// writes lets clients write so much that who misses it is not ready for a vote.
func (s *stage) writes() {
	s.Helper()
	leader := s.leader()
	st, err := s.Status(s.soon(), leader)
	require.NoError(s, err)
	require.NoError(s, s.put(leader, int(st.Index)/4+20))
}

// exits waits until the server has ended by itself, and returns its exit code.
func (s *stage) exits(m machine) (code int) {
	s.Helper()
	s.untilTrue(m.name()+" exits", func(context.Context) (ended bool) {
		code, ended = m.exit()
		return ended
	})
	return code
}

// leads moves leadership to another voter. One that has not yet applied the last
// change of the membership ignores the request, and the call is not answered.
func (s *stage) leads(leader, to cluster.Target) {
	s.Helper()
	s.until("leadership has moved", func(ctx context.Context) error {
		st, err := s.Status(ctx, to)
		if err == nil && st.Leader == to.ID {
			return nil
		}
		err = s.MoveLeader(ctx, leader, to.ID)
		if err != nil && !errors.Is(err, rpctypes.ErrNotLeader) {
			s.stalled(err)
		}
		return err
	})
	assert.Equal(s, to.ID, s.leader().ID)
}

// closed waits until nobody listens where the member did.
func (s *stage) closed(e cluster.Member) {
	s.Helper()
	s.untilTrue("the port is shut", func(ctx context.Context) bool {
		_, err := s.Status(ctx, at(e))
		return err != nil && strings.Contains(err.Error(), refusedWords)
	})
}

// What a call came to. The words are etcd's, and compared by identity.

func (s *stage) refuses(want, got error, what ...any) {
	s.Helper()
	assert.ErrorIs(s, got, want, what...)
}

// unanswered is that nothing came back in time.
func (s *stage) unanswered(err error, what ...any) {
	s.Helper()
	assert.ErrorIs(s, err, context.DeadlineExceeded, what...)
}

// unreachable is that nobody listens.
func (s *stage) unreachable(err error, what ...any) {
	s.Helper()
	assert.ErrorContains(s, err, refusedWords, what...)
}

// stalled is that there is no quorum: no answer, or the word that none is to
// come. A server's own end of a request may come a moment before ours.
func (s *stage) stalled(err error, what ...any) {
	s.Helper()
	require.Error(s, err, what...)
	for _, word := range []error{
		rpctypes.ErrNoLeader, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail,
		rpctypes.ErrTimeoutDueToConnectionLost, context.DeadlineExceeded,
	} {
		if errors.Is(err, word) {
			return
		}
	}
	assert.ErrorContains(s, err, context.DeadlineExceeded.Error(), what...)
}

// errForLearner is a learner's refusal, as a client has it.
var errForLearner = rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)
