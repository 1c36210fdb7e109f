package member_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/member/membertest"
)

// What the tables are about: a server named "new" that joins, as member 9 where
// it is in the list, beside m1, m2 and m3.
const (
	ourURL  = "http://10.0.0.9:2380"
	ourName = "new"
	ourID   = member.ID(9)
	cluster = member.ID(0xc1)
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

type change func(*member.Seen)

// seen is a live voter that serves, changed.
func seen(id member.ID, changes ...change) member.Seen {
	m := member.Seen{
		Member: member.Member{ID: id, Name: fmt.Sprintf("m%d", id), PeerURLs: []string{fmt.Sprintf("http://10.0.0.%d:2380", id)},
			ClientURLs: []string{fmt.Sprintf("http://10.0.0.%d:2379", id)}},
		Liveness: member.Alive,
		Status:   member.Status{ID: id, ClusterID: cluster, Version: "3.6.16", Leader: 1, Term: 2, Index: 100, Applied: 100, DBSize: 20480},
		At:       now,
		Since:    now.Add(-time.Hour),
	}
	for _, change := range changes {
		change(&m)
	}
	m.Target = member.Target{Member: m.Member, Endpoints: m.ClientURLs}
	return m
}

// ours is our entry: a live voter, changed.
func ours(changes ...change) *member.Seen {
	m := seen(ourID, append([]change{named(ourName)}, changes...)...)
	return &m
}

func named(name string) change       { return func(m *member.Seen) { m.Name = name } }
func at(urls ...string) change       { return func(m *member.Seen) { m.PeerURLs = urls } }
func runs(version string) change     { return func(m *member.Seen) { m.Status.Version = version } }
func fails(err error) change         { return func(m *member.Seen) { m.Err = err } }
func alarmed(text string) change     { return func(m *member.Seen) { m.Status.Errors = []string{text} } }
func older(age time.Duration) change { return func(m *member.Seen) { m.Since = now.Add(-age) } }
func aLearner(m *member.Seen)        { m.Learner, m.Status.Learner = true, true }
func saysLearner(m *member.Seen)     { m.Status.Learner = true }
func nameless(m *member.Seen)        { m.Name = "" }
func dead(m *member.Seen)            { m.Liveness, m.At, m.Status = member.Dead, time.Time{}, member.Status{} }
func silent(m *member.Seen) {
	m.Liveness, m.At, m.Status = member.Unknown, time.Time{}, member.Status{}
}
func neverRan(m *member.Seen)              { silent(m); m.Name, m.ClientURLs = "", nil }
func voters(n int) (members []member.Seen) { return live(n, n) }

// live are n voters of which some answer, and the rest are silent.
func live(n, answer int) (members []member.Seen) {
	for id := member.ID(1); int(id) <= n; id++ {
		if int(id) <= answer {
			members = append(members, seen(id))
		} else {
			members = append(members, seen(id, silent))
		}
	}
	return members
}

func snapshot(members ...member.Seen) member.Snapshot {
	return member.Snapshot{At: now, ClusterID: cluster, Members: slices.Clone(members), Leader: 1, Index: 100, Fresh: true}
}

// proof is a read through our member that was answered at once.
func proof() *member.Proof {
	return &member.Proof{ReadAnswer: member.ReadAnswer{ClusterID: cluster, Way: "peer"}, At: now, Took: time.Millisecond, Since: now}
}

// strategies are both ways in.
func strategies(t testing.TB) (byLearner, byVoting member.Strategy) {
	t.Helper()
	j, err := learner.NewJoiner(membertest.New("http://a:2380"), ourName, member.Config{})
	require.NoError(t, err)
	return member.StrategyOf(j.Engine), member.Voting
}

// want is a decision: what is done, and for a refusal or a wait, its reason.
type want struct {
	do  member.Do
	why error
}

func does(do member.Do) want  { return want{do: do} }
func refuses(why error) want  { return want{member.DoRefuse, why} }
func waitsFor(why error) want { return want{member.DoWait, why} }

// differs says how an act is not the wanted one.
func (w want) differs(act member.Act) error {
	ends := act.Do == member.DoRefuse || act.Do == member.DoWait
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
