package decide_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
)

// What the tables are about: a server named "new" that joins, as member 9 where
// it is in the list, beside m1, m2 and m3.
const (
	ourURL    = "http://10.0.0.9:2380"
	ourName   = "new"
	ourID     = cluster.ID(9)
	clusterID = cluster.ID(0xc1)
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

type change func(*cluster.Seen)

// seen is a live voter that serves, changed.
func seen(id cluster.ID, changes ...change) cluster.Seen {
	m := cluster.Seen{
		Member: cluster.Member{ID: id, Name: fmt.Sprintf("m%d", id), PeerURLs: []string{fmt.Sprintf("http://10.0.0.%d:2380", id)},
			ClientURLs: []string{fmt.Sprintf("http://10.0.0.%d:2379", id)}},
		Liveness: cluster.Alive,
		Status:   cluster.Status{ID: id, ClusterID: clusterID, Version: "3.6.16", Leader: 1, Term: 2, Index: 100, Applied: 100, DBSize: 20480},
		At:       now,
		Since:    now.Add(-time.Hour),
	}
	for _, change := range changes {
		change(&m)
	}
	m.Target = cluster.Target{Member: m.Member}
	return m
}

// ours is our entry: a live voter, changed.
func ours(changes ...change) *cluster.Seen {
	m := seen(ourID, append([]change{named(ourName)}, changes...)...)
	return &m
}

func named(name string) change       { return func(m *cluster.Seen) { m.Name = name } }
func at(urls ...string) change       { return func(m *cluster.Seen) { m.PeerURLs = urls } }
func runs(version string) change     { return func(m *cluster.Seen) { m.Status.Version = version } }
func fails(err error) change         { return func(m *cluster.Seen) { m.Err = err } }
func alarmed(text string) change     { return func(m *cluster.Seen) { m.Status.Errors = []string{text} } }
func older(age time.Duration) change { return func(m *cluster.Seen) { m.Since = now.Add(-age) } }
func aLearner(m *cluster.Seen)       { m.Learner, m.Status.Learner = true, true }
func saysLearner(m *cluster.Seen)    { m.Status.Learner = true }
func nameless(m *cluster.Seen)       { m.Name = "" }
func dead(m *cluster.Seen)           { m.Liveness, m.At, m.Status = cluster.Dead, time.Time{}, cluster.Status{} }
func silent(m *cluster.Seen) {
	m.Liveness, m.At, m.Status = cluster.Unknown, time.Time{}, cluster.Status{}
}

// unheard is a silence that lasts: the leader hears nothing of the member.
func unheard(for_ time.Duration) change {
	return func(m *cluster.Seen) {
		m.Silence = cluster.Silence{Began: now.Add(-for_), Since: now.Add(-for_), Still: now.Add(-for_), Newest: now, Looks: 1 + int(for_/time.Second), Leader: 1, Term: 2, Bytes: 700}
	}
}

func heard(m *cluster.Seen) {
	m.Silence = cluster.Silence{Began: now, Newest: now, Leader: 1, Term: 2, Bytes: 700, Sign: "the leader 1 has heard from it"}
}

func by(leader cluster.ID) change { return func(m *cluster.Seen) { m.Silence.Leader = leader } }

func deaf(for_ time.Duration) change {
	return func(m *cluster.Seen) {
		m.Silence = cluster.Silence{Began: now.Add(-for_), Deaf: "the metrics of the leader 1 cannot be read"}
	}
}

func gone30s(m *cluster.Seen)   { silent(m); unheard(30 * time.Second)(m) }
func unseen30s(m *cluster.Seen) { neverRan(m); unheard(30 * time.Second)(m) }

func neverRan(m *cluster.Seen)              { silent(m); m.Name, m.ClientURLs = "", nil }
func voters(n int) (members []cluster.Seen) { return live(n, n) }

// live are n voters of which some answer, and the rest are silent.
func live(n, answer int) (members []cluster.Seen) {
	for id := cluster.ID(1); int(id) <= n; id++ {
		if int(id) <= answer {
			members = append(members, seen(id))
		} else {
			members = append(members, seen(id, silent))
		}
	}
	return members
}

func snapshot(members ...cluster.Seen) cluster.Snapshot {
	return cluster.Snapshot{At: now, ClusterID: clusterID, Members: slices.Clone(members), Leader: 1, Index: 100, Fresh: true}
}

// proof is a read through our member that was answered at once.
func proof() *decide.Proof {
	who := cluster.Answer{Identity: cluster.TheMember, URL: ourURL, Way: "peer", Conn: "one"}
	return &decide.Proof{ReadAnswer: cluster.ReadAnswer{ClusterID: clusterID, Way: "peer", URL: ourURL, Conn: "one"},
		Before: who, After: who, Asked: now, Took: time.Millisecond}
}

// shown is an absence that two barriers have shown, so far apart, the last one now.
func shown(apart time.Duration) decide.Absence {
	return decide.Absence{}.Again(now.Add(-apart), "here").Again(now, "here")
}

// want is a decision: what is done, and for a refusal or a wait, its reason.
type want struct {
	do  decide.Do
	why error
}

func does(do decide.Do) want  { return want{do: do} }
func refuses(why error) want  { return want{decide.DoRefuse, why} }
func waitsFor(why error) want { return want{decide.DoWait, why} }

// differs says how an act is not the wanted one.
func (w want) differs(act decide.Act) error {
	ends := act.Do == decide.DoRefuse || act.Do == decide.DoWait || act.Do == decide.DoProve
	switch {
	case act.Do != w.do:
		return fmt.Errorf("want %s (%w), got %s: %s", w.do, w.why, act.Do, act.Text)
	case ends && (act.Why == nil || act.Text == ""):
		return fmt.Errorf("%s without a reason", act.Do)
	case !ends && act.Why != nil:
		return fmt.Errorf("%s for %w", act.Do, act.Why)
	case w.why != nil && !errors.Is(act.Why, w.why):
		return fmt.Errorf("%s, want (%w), got %w", act.Do, w.why, act.Why)
	}
	return nil
}

// strategies are both ways in.
func strategies(testing.TB) (byLearner, byVoting decide.Strategy) {
	return decide.Learning{}, decide.Voting{}
}

// filled is a policy with what zero means filled in.
func filled(p decide.Policy) decide.Policy {
	p.ReadWithin, p.StallTimeout = cmp.Or(p.ReadWithin, 250*time.Millisecond), cmp.Or(p.StallTimeout, 5*time.Minute)
	p.EvictAfter = cmp.Or(p.EvictAfter, 15*time.Minute)
	return p
}
