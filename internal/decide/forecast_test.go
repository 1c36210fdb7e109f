package decide_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// The margin, for every size of a cluster and every number of voters that
// answer: now, with a new voter alive, with a new voter failing, and without one
// that is silent and one that is live.
func TestForecastOfTheQuorum(t *testing.T) {
	type row struct {
		quorum, margin            int
		added, addedWorst         int
		removedSilent, removedOne int // the margin then; of a silent voter, and of a live one
	}
	for name, want := range map[string]row{
		"1 of 1": {1, 0, 0, -1, 0, -1},
		"0 of 1": {1, -1, -1, -2, -1, -1},
		"2 of 2": {2, 0, 1, 0, 0, 0},
		"1 of 2": {2, -1, 0, -1, 0, -1},
		"3 of 3": {2, 1, 1, 0, 0, 0},
		"2 of 3": {2, 0, 0, -1, 0, -1},
		"1 of 3": {2, -1, -1, -2, -1, -2},
		"4 of 4": {3, 1, 2, 1, 0, 1},
		"3 of 4": {3, 0, 1, 0, 1, 0},
		"2 of 4": {3, -1, 0, -1, 0, -1},
		"5 of 5": {3, 2, 2, 1, 0, 1},
		"4 of 5": {3, 1, 1, 0, 1, 0},
		"3 of 5": {3, 0, 0, -1, 0, -1},
		"2 of 5": {3, -1, -1, -2, -1, -2},
		"7 of 7": {4, 3, 3, 2, 0, 2},
		"6 of 7": {4, 2, 2, 1, 2, 1},
		"5 of 7": {4, 1, 1, 0, 1, 0},
		"4 of 7": {4, 0, 0, -1, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			n, answer := sizes(t, name)
			s := snapshot(live(n, answer)...)
			f := cluster.Foresee(s, cluster.ToAddLearner, cluster.Member{})
			assert.Equal(t, [4]int{want.quorum, want.margin, want.quorum, want.margin}, [4]int{f.Quorum, f.Margin, f.QuorumAfter, f.MarginAfter}, "a learner changes nothing")
			assert.Equal(t, want.margin, f.Worst)
			assert.Equal(t, want.margin, s.Margin())
			assert.Equal(t, want.quorum, s.Quorum())
			for _, change := range []cluster.Change{cluster.ToAddVoter, cluster.ToPromote} {
				f = cluster.Foresee(s, change, cluster.Member{ID: ourID, Learner: true})
				assert.Equal(t, [2]int{want.added, want.addedWorst}, [2]int{f.MarginAfter, f.Worst}, change)
				assert.Equal(t, [2]int{n, n + 1}, [2]int{f.Voters, f.VotersAfter}, change)
				assert.Equal(t, want.addedWorst >= 0, f.Safe(), change)
			}
			if answer > 0 {
				f = cluster.Foresee(s, cluster.ToRemove, s.Members[0].Member)
				assert.Equal(t, [2]int{want.removedOne, want.removedOne}, [2]int{f.MarginAfter, f.Worst}, "remove a live one")
			}
			if answer < n && n > 1 {
				f = cluster.Foresee(s, cluster.ToRemove, s.Members[n-1].Member)
				assert.Equal(t, [2]int{want.removedSilent, want.removedSilent}, [2]int{f.MarginAfter, f.Worst}, "remove a silent one")
			}
		})
	}
}

func sizes(t *testing.T, name string) (n, answer int) {
	t.Helper()
	_, err := fmt.Sscanf(name, "%d of %d", &answer, &n)
	assert.NoError(t, err)
	return n, answer
}

// Etcd refuses an add unless it is connected: to all voters before 3.5.30 and
// 3.6.11, since then to as many as the quorum with one more.
func TestForecastOfTheConnectionsAnAddNeeds(t *testing.T) {
	const old, young = "3.6.10", "3.6.11"
	for name, tc := range map[string]struct {
		n, answer            int
		refusedOld, refused  bool
		removeFirst, already bool // where it is refused, is a dead one to be removed first? already: by the newer rule too
	}{
		"1 of 1": {n: 1, answer: 1},
		"2 of 2": {n: 2, answer: 2},
		"1 of 2": {n: 2, answer: 1, refusedOld: true, refused: true},
		"3 of 3": {n: 3, answer: 3},
		"2 of 3": {n: 3, answer: 2, refusedOld: true, refused: true, removeFirst: true},
		"1 of 3": {n: 3, answer: 1, refusedOld: true, refused: true},
		"3 of 4": {n: 4, answer: 3, refusedOld: true, removeFirst: true},
		"4 of 5": {n: 5, answer: 4, refusedOld: true, removeFirst: true},
		"3 of 5": {n: 5, answer: 3, refusedOld: true, refused: true, removeFirst: true},
		"5 of 7": {n: 7, answer: 5, refusedOld: true, removeFirst: true},
		"4 of 7": {n: 7, answer: 4, refusedOld: true, refused: true, removeFirst: true},
		"3 of 7": {n: 7, answer: 3, refusedOld: true, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			for version, refused := range map[string]bool{"3.4.45": tc.refusedOld, "3.5.29": tc.refusedOld, old: tc.refusedOld, "": tc.refusedOld,
				"3.5.30": tc.refused, young: tc.refused, "3.7.3": tc.refused, "3.7.0-beta.0": tc.refused} {
				s := snapshot(live(tc.n, tc.answer)...)
				for i := range s.Members {
					s.Members[i].Status.Version = version
				}
				for _, change := range []cluster.Change{cluster.ToAddLearner, cluster.ToAddVoter} {
					f := cluster.Foresee(s, change, cluster.Member{})
					assert.Equal(t, refused, f.Refused != "", "%s on %q: %s", change, version, f.Refused)
					assert.Equal(t, refused && tc.removeFirst, f.RemoveFirst, "%s on %q", change, version)
				}
			}
		})
	}
}

// The rule of whom is asked counts, and where the leader is not known the lowest.
func TestForecastGoesByTheServerThatIsAsked(t *testing.T) {
	members := live(4, 3)
	members[0].Status.Version, members[1].Status.Version = "3.6.16", "3.6.10"
	for name, tc := range map[string]struct {
		leader  cluster.ID
		refused bool
	}{
		"the leader is new":          {1, false},
		"the leader is old":          {2, true},
		"nobody leads":               {0, true},
		"the leader did not answer":  {4, true},
		"the leader is not a member": {77, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(members...)
			s.Leader = tc.leader
			assert.Equal(t, tc.refused, cluster.Foresee(s, cluster.ToAddLearner, cluster.Member{}).Refused != "")
		})
	}
}

// Etcd counts as started who has a name, alive or not.
func TestForecastOfStartedMembersAndRemoves(t *testing.T) {
	of := func(members []cluster.Seen, more ...cluster.Seen) []cluster.Seen { return append(members, more...) }
	for name, tc := range map[string]struct {
		members []cluster.Seen
		change  cluster.Change
		id      cluster.ID
		refused string
	}{
		"add a voter to one":                                 {voters(1), cluster.ToAddVoter, 0, ""},
		"add a voter beside one that never ran":              {of(voters(1), *ours(neverRan)), cluster.ToAddVoter, 0, "1 started voters are fewer than 2"},
		"add a learner beside one that never ran":            {of(voters(1), *ours(neverRan)), cluster.ToAddLearner, 0, "1 of 2 voters are connected"},
		"add a voter to three, one never ran":                {of(voters(2), *ours(neverRan)), cluster.ToAddVoter, 0, "2 started voters are fewer than 3"},
		"add a voter to three, one is dead but has a name":   {of(voters(2), seen(3, dead)), cluster.ToAddVoter, 0, "2 of 3 voters are connected"},
		"promote beside one":                                 {of(voters(1), *ours(aLearner)), cluster.ToPromote, ourID, ""},
		"promote one that has not published itself":          {of(voters(1), *ours(aLearner, neverRan)), cluster.ToPromote, ourID, ""},
		"promote beside a dead one: etcd does not look":      {of(voters(2), seen(3, dead), *ours(aLearner)), cluster.ToPromote, ourID, ""},
		"promote beside two that never ran":                  {of(voters(1), seen(2, neverRan), seen(3, neverRan), *ours(aLearner)), cluster.ToPromote, ourID, "1 started voters and the learner are fewer than 3"},
		"remove a learner":                                   {of(live(3, 1), *ours(aLearner)), cluster.ToRemove, ourID, ""},
		"remove one of three":                                {voters(3), cluster.ToRemove, 3, ""},
		"remove one of two":                                  {voters(2), cluster.ToRemove, 2, ""},
		"remove the dead one of three":                       {of(voters(2), seen(3, dead)), cluster.ToRemove, 3, ""},
		"remove a live one of three, another is dead":        {of(voters(2), seen(3, dead)), cluster.ToRemove, 1, "1 connected voters would remain, fewer than 2"},
		"remove the last":                                    {voters(1), cluster.ToRemove, 1, "0 started voters would remain, fewer than 1"},
		"remove one of two that never ran":                   {of(voters(1), *ours(neverRan)), cluster.ToRemove, ourID, ""},
		"remove one that ran, of two of which one never did": {of(voters(1), *ours(neverRan)), cluster.ToRemove, 1, "0 started voters would remain, fewer than 1"},
		"remove one that ran, of three of which two did":     {of(voters(2), *ours(neverRan)), cluster.ToRemove, 1, "1 started voters would remain, fewer than 2"},
		"remove who is not there":                            {voters(3), cluster.ToRemove, 77, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(tc.members...)
			m, _ := s.ByID(tc.id)
			if m.ID == 0 {
				m.ID = tc.id
			}
			f := cluster.Foresee(s, tc.change, m.Member)
			if tc.refused == "" {
				assert.Empty(t, f.Refused)
				return
			}
			assert.Contains(t, f.Refused, tc.refused)
		})
	}
}

func TestForecastInWords(t *testing.T) {
	for name, tc := range map[string]struct {
		members []cluster.Seen
		change  cluster.Change
		want    string
	}{
		"a learner":                {voters(3), cluster.ToAddLearner, "to add a learner takes 3 voters of quorum 2 to 3 of quorum 2; 3 of them answer, and 1 more may fail"},
		"the second voter":         {voters(1), cluster.ToAddVoter, "to add a voter takes 1 voters of quorum 1 to 2 of quorum 2; 1 of them answer, and if the new one fails too, the quorum is lost"},
		"the third":                {voters(2), cluster.ToPromote, "to promote takes 2 voters of quorum 2 to 3 of quorum 2; 2 of them answer, and 0 more may fail even if the new one does"},
		"one of three, one silent": {live(3, 2), cluster.ToRemove, "to remove takes 3 voters of quorum 2 to 2 of quorum 2; 2 of them answer, and the rest would have no quorum; etcd will refuse: 1 connected voters would remain, fewer than 2, their quorum"},
		"three, one silent":        {live(3, 2), cluster.ToAddLearner, "to add a learner takes 3 voters of quorum 2 to 3 of quorum 2; 2 of them answer, and 0 more may fail; etcd will refuse: 2 of 3 voters are connected, it wants 3 for 5 s; remove a dead one first"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, cluster.Foresee(snapshot(tc.members...), tc.change, tc.members[0].Member).String())
		})
	}
}

// To err towards refusing: a member that only we cannot reach counts as failed,
// and so does one whose place another server answers in.
func TestForecastCountsWhoAnswered(t *testing.T) {
	s := snapshot(seen(1), seen(2, silent), seen(3, fails(&cluster.WrongServerError{Want: 3, Got: 1})))
	s.Members[2].Liveness = cluster.Unknown
	assert.Equal(t, 1, cluster.Foresee(s, cluster.ToPromote, cluster.Member{}).Live)
	assert.Equal(t, -1, s.Margin())
}
