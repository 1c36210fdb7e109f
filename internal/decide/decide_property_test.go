package decide_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// Whatever a look finds, members without names, URLs or versions, under any
// policy: a decision breaks none of the promises.
func TestNoDecisionBreaksAPromise(t *testing.T) {
	byLearner, byVoting := strategies(t)
	seen := map[decide.Do]int{}
	for seed := range uint64(5_000) {
		g := generator{rand.New(rand.NewPCG(seed, 0))}
		c := g.theCase()
		for name, s := range map[string]decide.Strategy{"learner": byLearner, "voting": byVoting} {
			act := decide_(t, seed, c, s)
			seen[act.Do]++
			if broken := brokenPromise(c, act, name == "learner"); broken != "" {
				t.Fatalf("seed %d, %s: %s %s (%s): %s\n%+v", seed, name, act.Do, act.Member, act.Text, broken, c)
			}
			require.Equal(t, act.Do, decide.Next(c, s).Do, "a decision depends on its case alone")
		}
	}
	for _, do := range []decide.Do{decide.DoRefuse, decide.DoWait, decide.DoAddLearner, decide.DoAddVoter, decide.DoRemove, decide.DoUpdate, decide.DoArchive, decide.DoStart, decide.DoPromote, decide.DoDone, decide.DoProve} {
		assert.Greater(t, seen[do], 10, "the generator hardly ever leads to %q", do)
	}
}

// decide names the seed of a panic.
func decide_(t *testing.T, seed uint64, c decide.Case, s decide.Strategy) decide.Act {
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("seed %d panics: %v\n%+v", seed, p, c)
		}
	}()
	act := decide.Next(c, s)
	for _, change := range []cluster.Change{cluster.ToAddLearner, cluster.ToAddVoter, cluster.ToPromote, cluster.ToRemove} {
		_ = member.Plan{Do: act.Do, Member: act.Member, Text: act.Text, Forecast: cluster.Foresee(c.Snapshot, change, act.Member)}.String()
	}
	return act
}

// brokenPromise says which promise an act breaks, or nothing.
func brokenPromise(c decide.Case, act decide.Act, byLearner bool) string {
	ours, found := c.Snapshot.ByURLs(c.PeerURLs)
	target, listed := c.Snapshot.ByID(act.Member.ID)
	isOurs := found && listed && target.ID == ours.ID
	ends := act.Do == decide.DoRefuse || act.Do == decide.DoWait || act.Do == decide.DoProve
	if ends != (act.Why != nil) {
		return "a reason where none is, or none where one is"
	}
	if c.Snapshot.NoQuorum && !ends && act.Do != decide.DoStart {
		return "there is no quorum"
	}
	if act.Do == decide.DoArchive || errors.Is(act.Why, reason.ErrRemoved) && act.Do == decide.DoRefuse {
		if !c.Absent[c.Data.MemberID].Proven() && !(byLearner && found && !ours.Started() && ours.ID == c.Data.MemberID) {
			return "that its member is gone was not proven"
		}
	}
	if errors.Is(act.Why, reason.ErrGone) && act.Do == decide.DoRefuse && !c.Absent[c.Started].Proven() {
		return "that it is gone was not proven"
	}
	switch act.Do {
	case decide.DoProve:
		if _, there := c.Snapshot.ByID(act.Absent); there {
			return "it is in the list"
		}
	case decide.DoAddLearner, decide.DoAddVoter:
		_, taken := c.Snapshot.ByName(c.Name)
		switch {
		case byLearner != (act.Do == decide.DoAddLearner):
			return "the other strategy's act"
		case found || c.Started != 0:
			return "there is an entry, or there was"
		case taken:
			return "the name is taken"
		case c.Data.Kind == cluster.DataMember || c.Data.Kind == cluster.DataDamaged:
			return "with data in the directory"
		}
	case decide.DoRemove:
		switch {
		case !listed:
			return "it is not in the list"
		case isOurs && target.Learner && c.Exit != nil && c.Started == target.ID:
			return "" // its log is lost
		case target.Liveness == cluster.Alive || target.Silence.Sign != "":
			return "it lives"
		case target.Liveness != cluster.Dead && target.Silence.Newest.Sub(target.Silence.Still) < 30*time.Second:
			return "it is not known to be dead, or not to run"
		case target.Liveness != cluster.Dead && target.Silence.Leader != c.Snapshot.Leader:
			return "another leader's word"
		case c.Data.Kind == cluster.DataMember && c.Data.MemberID == target.ID:
			return "its data is ours"
		case !isOurs && target.Name != c.Name && (target.Started() || c.Policy.Slot != decide.EvictStalled):
			return "it is somebody else's"
		}
	case decide.DoUpdate:
		switch {
		case c.Data.Kind != cluster.DataMember || !listed || target.ID != c.Data.MemberID || found:
			return "it is not whom our data holds, or our URLs are taken"
		case !c.Policy.UpdateAddress:
			return "nobody allowed it"
		case target.Liveness == cluster.Alive || target.Silence.Sign != "" || target.Liveness != cluster.Dead && !c.Snapshot.Dead(target):
			return "it may live where it is listed"
		case target.Learner && !safeToUpdate(c.Snapshot):
			return "it would lose its role"
		}
	case decide.DoArchive:
		if !c.Policy.Rejoin || c.Data.Kind != cluster.DataMember || found && ours.ID == c.Data.MemberID {
			return "the data is in use, or nobody allowed it"
		}
	case decide.DoStart:
		switch {
		case !isOurs:
			return "it is not our entry"
		case target.Started() && c.Data.Kind == cluster.DataEmpty:
			return "its data is lost"
		case c.Data.Kind == cluster.DataDamaged, c.Data.Kind == cluster.DataMember && c.Data.MemberID != target.ID:
			return "on data that is not its own"
		case c.Started == target.ID:
			return "it was started already"
		case c.Snapshot.NoQuorum && target.Started() && c.Data.Kind != cluster.DataMember:
			return "there is no quorum, it has run before, and its data is not there"
		}
	case decide.DoPromote:
		switch p := c.Proof; {
		case !byLearner:
			return "the other strategy's act"
		case !isOurs || !target.Learner:
			return "it is not our learner"
		case p == nil || p.Took > c.Policy.ReadWithin || p.ClusterID != 0 && p.ClusterID != c.Snapshot.ClusterID:
			return "without a proof"
		case p.Before.Identity != cluster.TheMember || p.After.Identity != cluster.TheMember || p.Before.Conn != p.Conn || p.After.Conn != p.Conn || p.Way != "peer":
			return "on a read that was not bound to it"
		case !c.Snapshot.Fresh:
			return "on facts a pass old"
		}
	case decide.DoDone:
		if !isOurs || target.Learner {
			return "it does not vote"
		}
	}
	return ""
}

// safeToUpdate reports whether every server that answers keeps a learner a
// learner; the generator knows no others that do.
func safeToUpdate(s cluster.Snapshot) bool {
	known := 0
	for _, m := range s.Members {
		switch m.Status.Version {
		case "3.3.27":
			return false
		case "3.6.16", "3.5.35":
			known++
		}
	}
	return known > 0
}

// generator draws cases from what is likely to matter.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func (g generator) once(in int) bool { return g.IntN(in) == 0 }

func (g generator) theCase() decide.Case {
	c := g.anyCase()
	if g.once(4) { // a learner that is about to get its vote, but for one thing
		good := decide.Case{Snapshot: snapshot(append(voters(1+g.IntN(4)), *ours(aLearner))...), Name: ourName, PeerURLs: []string{ourURL}, Policy: c.Policy, Started: ourID, Proof: proof()}
		switch g.IntN(6) {
		case 0:
			good.Snapshot = c.Snapshot
		case 1:
			good.Data = c.Data
		case 2:
			good.Started, good.Absent = c.Started, c.Absent
		case 3:
			good.Proof = c.Proof
		case 4:
			good.Exit, good.Survey = c.Exit, c.Survey
		case 5:
			good.Snapshot.Fresh, good.Snapshot.NoQuorum = c.Snapshot.Fresh, c.Snapshot.NoQuorum
		}
		return good
	}
	return c
}

func (g generator) anyCase() decide.Case {
	s := cluster.Snapshot{At: now, ClusterID: clusterID, Index: g.Uint64N(200), Leader: pick[cluster.ID](g, 1, 1, 1, 2, 0), NoQuorum: g.once(5), Fresh: !g.once(5)}
	for i := range g.IntN(6) {
		s.Members = append(s.Members, g.member(cluster.ID(i+1)))
	}
	if g.once(2) {
		s.Members = append(s.Members, g.our())
	}
	c := decide.Case{Snapshot: s, Name: ourName, PeerURLs: pick(g, []string{ourURL}, []string{ourURL}, []string{"http://b9:2380", ourURL}), Data: g.data(), Policy: g.config(),
		Served: g.once(2), SlotLimit: g.IntN(3), Absent: g.absent()}
	if g.once(3) {
		c.Survey = &cluster.Survey{Diverged: pick(g, nil, nil, reason.ErrDiverged), For: time.Duration(g.IntN(5)) * time.Second, Downgrading: g.once(5)}
	}
	if g.once(10) {
		c.Exit = &cluster.ExitError{Code: g.IntN(3), Output: pick(g, "", "panic: tocommit(9) is out of range")}
	}
	if g.once(2) {
		c.Started = pick(g, ourID, ourID, ourID, 77)
	}
	if g.once(2) {
		c.Proof = g.proof()
	}
	return c
}

func (g generator) absent() map[cluster.ID]decide.Absence {
	absent := map[cluster.ID]decide.Absence{}
	for _, id := range []cluster.ID{decide.AtOurURLs, ourID, 77} {
		switch g.IntN(6) {
		case 0, 1, 2, 3:
			absent[id] = decide.Absence{Told: true}
		case 4:
			absent[id] = shown(time.Duration(g.IntN(3)) * time.Second / 2)
		}
	}
	return absent
}

func (g generator) proof() *decide.Proof {
	p := proof()
	p.ClusterID = pick(g, clusterID, clusterID, clusterID, 0, 0xbad)
	p.Took = time.Duration(g.IntN(300)) * time.Millisecond
	p.Way = pick(g, "peer", "peer", "peer", "client")
	for _, who := range []*cluster.Answer{&p.Before, &p.After} {
		who.Identity = pick(g, cluster.TheMember, cluster.TheMember, cluster.TheMember, cluster.AnotherMember, cluster.AnotherCluster, cluster.NoEtcd, cluster.WasRemoved, cluster.IdentityUnknown)
		who.Conn = pick(g, p.Conn, p.Conn, p.Conn, "another")
	}
	return p
}

func (g generator) member(id cluster.ID) cluster.Seen {
	m := seen(id)
	m.Name = pick(g, m.Name, m.Name, m.Name, m.Name, "", ourName)
	m.PeerURLs = pick(g, m.PeerURLs, m.PeerURLs, m.PeerURLs, nil, []string{"::bad::"}, []string{m.PeerURLs[0], fmt.Sprintf("http://b%d:2380", id)})
	if g.once(20) {
		m.PeerURLs = []string{ourURL, "http://c:2380"}
	}
	m.ClientURLs = pick(g, m.ClientURLs, m.ClientURLs, nil)
	g.liveness(&m)
	m.Status.Version = pick(g, "3.6.16", "3.6.16", "3.6.16", "3.5.35", "3.3.27", "", "new")
	if g.once(30) {
		m.Status.Errors = []string{pick(g, "memberID:1 alarm:CORRUPT ", "memberID:1 alarm:NOSPACE ")}
	}
	m.Learner = g.once(4)
	return m
}

func (g generator) liveness(m *cluster.Seen) {
	m.Liveness = pick(g, cluster.Alive, cluster.Alive, cluster.Alive, cluster.Dead, cluster.Unknown)
	if m.Liveness != cluster.Alive && g.once(2) {
		m.At, m.Status = time.Time{}, cluster.Status{}
	}
	if m.Liveness != cluster.Alive {
		m.Err = pick(g, nil, errDied)
	}
	m.Since = now.Add(-pick(g, time.Second, time.Hour))
	pick(g, func(*cluster.Seen) {}, unheard(40*time.Second), unheard(40*time.Second), unheard(2*time.Second), heard, deaf(time.Second), deaf(time.Minute))(m)
}

func (g generator) our() cluster.Seen {
	m := *ours()
	m.Name = pick(g, ourName, ourName, "", "", "x")
	if g.once(4) {
		m.PeerURLs = []string{"http://b9:2380", ourURL}
	}
	m.Learner = g.once(2)
	m.Status.Learner = m.Learner != g.once(10)
	g.liveness(&m)
	return m
}

func (g generator) data() cluster.DataInfo {
	var all []cluster.DataInfo
	for _, name := range []string{"unknown", "unknown", "unknown", "empty", "empty", "ours", "ours", "a removed", "another's", "foreign", "damaged"} {
		all = append(all, dataDirs[name])
	}
	d := pick(g, all...)
	if d.MemberID == 8 {
		d.MemberID = 1
	}
	return d
}

func (g generator) config() decide.Policy {
	return filled(decide.Policy{
		SameName: pick(g, decide.Refuse, decide.ReplaceIfDead), Slot: pick(g, decide.SlotWait, decide.SlotFail, decide.EvictStalled),
		ReturnAt: pick(g, decide.Serving, decide.Promoted), Rejoin: g.once(2), UpdateAddress: g.once(2), AcceptNoMargin: g.once(2),
		ServerVersion: pick(g, version.Version{}, version.Version{}, version.MustParse("3.6.16"), version.MustParse("3.7.3")),
	})
}

// What a learner gets its vote for is its own read: its URLs, in any spelling,
// are those that were added.
func TestOurEntryIsFoundByItsWholeSetOfURLs(t *testing.T) {
	s := snapshot(append(voters(2), *ours(aLearner, at("http://B9:2380", "http://10.0.0.9:02380")))...)
	m, ok := s.ByURLs([]string{ourURL, "http://b9.:2380"})
	require.True(t, ok)
	assert.Equal(t, ourID, m.ID)
	assert.True(t, peerurl.SameSet(m.PeerURLs, []string{ourURL, "http://b9:2380"}))
	_, ok = s.ByURLs([]string{ourURL})
	assert.False(t, ok)
}
