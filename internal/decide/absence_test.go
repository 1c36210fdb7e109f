package decide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Two barriers prove an absence if they are a second apart; that an add was not done,
// if they went on its own connection.
func TestAnAbsenceIsProvenByTwoBarriers(t *testing.T) {
	const s = time.Second
	for name, tc := range map[string]struct {
		at           []time.Duration
		on           []cluster.Carrier
		proven, here bool
	}{
		"none":                             {},
		"one":                              {at: []time.Duration{0}, on: []cluster.Carrier{"here"}},
		"two at once":                      {at: []time.Duration{0, 0}, on: []cluster.Carrier{"here", "here"}},
		"two, less than a second apart":    {at: []time.Duration{0, s - 1}, on: []cluster.Carrier{"here", "here"}},
		"two, a second apart":              {at: []time.Duration{0, s}, on: []cluster.Carrier{"here", "here"}, proven: true, here: true},
		"three":                            {at: []time.Duration{0, s / 2, s}, on: []cluster.Carrier{"here", "here", "here"}, proven: true, here: true},
		"elsewhere":                        {at: []time.Duration{0, s}, on: []cluster.Carrier{"there", "there"}, proven: true},
		"the connection was lost between":  {at: []time.Duration{0, s}, on: []cluster.Carrier{"here", "there"}, proven: true},
		"one elsewhere, one here":          {at: []time.Duration{0, s}, on: []cluster.Carrier{"there", "here"}, proven: true},
		"and a second one here":            {at: []time.Duration{0, s, 2 * s}, on: []cluster.Carrier{"there", "here", "here"}, proven: true, here: true},
		"here, elsewhere and here again":   {at: []time.Duration{0, s, 2 * s}, on: []cluster.Carrier{"here", "there", "here"}, proven: true},
		"on connections that nobody names": {at: []time.Duration{0, s}, on: []cluster.Carrier{"", ""}, proven: true},
	} {
		t.Run(name, func(t *testing.T) {
			var a decide.Absence
			for i, at := range tc.at {
				a = a.Again(now.Add(at), tc.on[i])
			}
			assert.Equal(t, tc.proven, a.Proven())
			assert.Equal(t, tc.here, a.ProvenOn("here"))
			assert.False(t, a.ProvenOn(""), "nobody knows which connection carried the add")
		})
	}
	assert.True(t, decide.Absence{Told: true}.Proven(), "the server said so, to the remove of that ID")
}

// What becomes of an entry when its join has failed.
func TestUndoing(t *testing.T) {
	mine := decide.Own{ID: ourID}
	doubt := decide.Own{Doubt: true, On: "here"}
	stays := does(decide.DoDone)
	proves := want{decide.DoProve, reason.ErrUndecided}
	for name, tc := range map[string]struct {
		own     decide.Own
		entry   *cluster.Seen
		policy  decide.OnFailure
		change  func(*decide.Case)
		want    want
		removed cluster.ID
		text    string
	}{
		"added and never ran":                  {own: mine, entry: ours(aLearner, neverRan), want: remove},
		"added, and its URLs were changed":     {own: mine, entry: ours(aLearner, neverRan, at("http://elsewhere:2380")), want: remove},
		"added and has run":                    {own: mine, entry: ours(aLearner), want: stays, text: "has run"},
		"added and has run, by Undo":           {own: mine, entry: ours(aLearner), policy: decide.Undo, want: remove},
		"it votes":                             {own: mine, entry: ours(), policy: decide.Undo, want: stays, text: "keeps its vote"},
		"it votes, without a quorum":           {own: mine, entry: ours(), policy: decide.Undo, change: func(c *decide.Case) { c.Snapshot.NoQuorum = true }, want: stays, text: "no quorum"},
		"a voter that never ran":               {own: mine, entry: ours(neverRan), policy: decide.Undo, want: stays, text: "keeps its vote"},
		"its vote was asked for":               {own: decide.Own{ID: ourID, Asked: true}, entry: ours(aLearner), policy: decide.Undo, want: stays, text: "undecided"},
		"another has its place":                {own: decide.Own{ID: 55}, entry: ours(aLearner, neverRan), policy: decide.Undo, want: stays, text: "not added by this call"},
		"without a quorum":                     {own: mine, entry: ours(aLearner, neverRan), change: func(c *decide.Case) { c.Snapshot.NoQuorum = true }, want: waitsFor(reason.ErrNoQuorum)},
		"whatever is there":                    {entry: ours(aLearner, neverRan), policy: decide.Undo, want: remove},
		"an add in doubt, and it is there":     {own: doubt, entry: ours(aLearner, neverRan), want: remove},
		"gone, by one list":                    {own: mine, want: proves},
		"gone, proven":                         {own: mine, change: absent(ourID, shown(time.Second)), want: done},
		"gone, and no quorum":                  {own: mine, change: func(c *decide.Case) { c.Snapshot.NoQuorum = true }, want: waitsFor(reason.ErrNoQuorum)},
		"nothing there, by one list":           {want: proves},
		"nothing there, proven":                {change: absent(decide.AtOurURLs, shown(time.Second)), want: done},
		"an add in doubt":                      {own: doubt, want: proves},
		"in doubt, one barrier behind it":      {own: doubt, change: absent(decide.AtOurURLs, decide.Absence{}.Again(now.Add(-time.Second), "here")), want: proves},
		"in doubt, a moment after a barrier":   {own: doubt, change: absent(decide.AtOurURLs, decide.Absence{}.Again(now, "here")), want: waitsFor(reason.ErrUndecided)},
		"in doubt, and shown not to be done":   {own: doubt, change: absent(decide.AtOurURLs, shown(time.Second)), want: done, text: "not done"},
		"in doubt, and two barriers elsewhere": {own: decide.Own{Doubt: true, On: "there"}, change: absent(decide.AtOurURLs, shown(time.Second)), want: want{decide.DoDone, reason.ErrUndecided}},
		"in doubt, on what nobody names":       {own: decide.Own{Doubt: true}, change: absent(decide.AtOurURLs, shown(time.Second)), want: want{decide.DoDone, reason.ErrUndecided}},
		"removed, unanswered, and listed":      {own: mine, entry: ours(aLearner, neverRan), change: func(c *decide.Case) { c.Removing = ourID }, want: remove},
		"removed, unanswered, and in no list":  {own: mine, change: func(c *decide.Case) { c.Removing = ourID }, want: proves},
	} {
		t.Run(name, func(t *testing.T) {
			c := caseOf(tc.entry, cluster.DataInfo{})
			c.Absent = nil
			if tc.change != nil {
				tc.change(&c)
			}
			act := decide.Undoing(c, tc.own, tc.policy)
			assert.Equal(t, tc.want.do, act.Do, act.Text)
			if tc.want.why != nil {
				assert.ErrorIs(t, act.Why, tc.want.why)
			}
			assert.Contains(t, act.Text, tc.text)
			if act.Do == decide.DoRemove {
				assert.Equal(t, ourID, act.Member.ID)
			}
		})
	}
	for voting, says := range map[bool]string{false: "may still be done", true: "may stop the cluster"} {
		assert.Contains(t, decide.Undecided(decide.Own{Voting: voting}, []string{ourURL}).Error(), says)
	}
}

func absent(id cluster.ID, a decide.Absence) func(*decide.Case) {
	return func(c *decide.Case) { c.Absent = map[cluster.ID]decide.Absence{id: a} }
}

// A member is removed, and is gone once that was proven or answered.
func TestRemoval(t *testing.T) {
	for name, tc := range map[string]struct {
		members []cluster.Seen
		change  func(*decide.Case)
		want    want
	}{
		"there":                           {members: append(voters(3), *ours()), want: remove},
		"a learner":                       {members: append(voters(3), *ours(aLearner)), want: remove},
		"never listed":                    {members: voters(3), want: want{decide.DoProve, reason.ErrUndecided}},
		"never listed, proven":            {members: voters(3), change: absent(ourID, shown(time.Second)), want: done},
		"asked for, and not in one list":  {members: voters(3), change: func(c *decide.Case) { c.Removing = ourID }, want: want{decide.DoProve, reason.ErrUndecided}},
		"asked for, and a server said so": {members: voters(3), change: func(c *decide.Case) { c.Absent = map[cluster.ID]decide.Absence{ourID: {Told: true}} }, want: done},
		"without a quorum":                {members: voters(3), change: func(c *decide.Case) { c.Snapshot.NoQuorum = true }, want: waitsFor(reason.ErrNoQuorum)},
	} {
		t.Run(name, func(t *testing.T) {
			c := decide.Case{Snapshot: snapshot(tc.members...), PeerURLs: []string{ourURL}, Policy: filled(decide.Policy{})}
			if tc.change != nil {
				tc.change(&c)
			}
			assert.NoError(t, tc.want.differs(decide.Removal(c, ourID)))
		})
	}
}

// What is about one member by its ID is about nobody else, whoever has its URLs now.
func TestByIDIsByThatID(t *testing.T) {
	taken := ours(aLearner) // another ID under the same URLs
	c := decide.Case{Snapshot: snapshot(append(voters(3), *taken)...), Only: 44, Started: 44, PeerURLs: []string{ourURL}, Proof: proof(), Policy: filled(decide.Policy{})}
	assert.NoError(t, want{decide.DoProve, reason.ErrUndecided}.differs(decide.Next(c, decide.Learning{})))
	c.Absent = map[cluster.ID]decide.Absence{44: shown(time.Second)}
	assert.NoError(t, refuses(reason.ErrGone).differs(decide.Next(c, decide.Learning{})))
	c.Only, c.Started = ourID, ourID
	assert.NoError(t, does(decide.DoPromote).differs(decide.Next(c, decide.Learning{})))
}
