package decide_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// dataDirs are all that our data directory can hold.
var dataDirs = map[string]cluster.DataInfo{
	"unknown":   {},
	"empty":     {Kind: cluster.DataEmpty},
	"ours":      {Kind: cluster.DataMember, ClusterID: clusterID, MemberID: ourID},
	"a removed": {Kind: cluster.DataMember, ClusterID: clusterID, MemberID: 77},
	"another's": {Kind: cluster.DataMember, ClusterID: clusterID, MemberID: 8}, // of a member under other URLs
	"foreign":   {Kind: cluster.DataMember, ClusterID: 0xbad, MemberID: ourID},
	"damaged":   {Kind: cluster.DataDamaged, Reason: "bad magic"},
}

// cell is one cell of the decision table. Rejoin is Config.Rejoin; where a row
// says nothing of it, it changes nothing.
type cell struct{ learner, voting, learnerRejoin, votingRejoin want }

// both is what both strategies do, one what both do unless they may rejoin.
func both(w want) cell               { return cell{w, w, w, w} }
func one(w, rejoin want) cell        { return cell{w, w, rejoin, rejoin} }
func each(learner, voting want) cell { return cell{learner, voting, learner, voting} }
func (c cell) of(voting, rejoin bool) want {
	switch {
	case voting && rejoin:
		return c.votingRejoin
	case voting:
		return c.voting
	case rejoin:
		return c.learnerRejoin
	}
	return c.learner
}

// What the cells have in common.
var (
	start     = does(decide.DoStart)
	remove    = does(decide.DoRemove)
	archive   = does(decide.DoArchive)
	done      = does(decide.DoDone)
	otherWay  = refuses(reason.ErrOtherWay)
	stalled   = waitsFor(reason.ErrStalled)
	foreign   = both(refuses(reason.ErrForeignData))
	damaged   = both(refuses(reason.ErrDataDamaged))
	moved     = both(refuses(reason.ErrAddress))
	removed   = one(refuses(reason.ErrRemoved), archive)
	lost      = one(refuses(reason.ErrDataLost), remove)
	lostYet   = one(refuses(reason.ErrDataLost), waitsFor(reason.ErrDataLost)) // it may only be silent
	lostLives = both(refuses(reason.ErrDataLost))                              // the directory is not its own
	lostAlive = one(refuses(reason.ErrDataLost), refuses(reason.ErrVoter))
	strange   = both(refuses(reason.ErrRemoved)) // it answers, and the data we see is another's
	gone      = both(refuses(reason.ErrGone))
	goneYet   = both(want{decide.DoProve, reason.ErrUndecided})
)

// table is design.md's decision table (§5): each state of our entry, beside three
// live voters, and what our data directory holds.
var table = map[string]struct {
	entry   *cluster.Seen
	started bool // by this call
	proof   *decide.Proof
	served  bool
	shown   bool // its absence, by one barrier and no more
	row     map[string]cell
}{
	"no entry": {row: map[string]cell{
		"unknown": each(does(decide.DoAddLearner), does(decide.DoAddVoter)), "empty": each(does(decide.DoAddLearner), does(decide.DoAddVoter)),
		"ours": removed, "a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"no entry, of a server that this call has started, by one list": {started: true, shown: true, row: map[string]cell{
		"unknown": goneYet, "empty": goneYet, "ours": goneYet, "a removed": goneYet, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"no entry, of a server that this call has started": {started: true, row: map[string]cell{
		"unknown": gone, "empty": gone, "ours": gone, "a removed": gone, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a learner that never ran": {entry: ours(aLearner, neverRan), row: map[string]cell{
		"unknown": each(start, otherWay), "empty": each(start, otherWay), "ours": each(start, otherWay),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter that never ran": {entry: ours(neverRan), row: map[string]cell{
		"unknown": each(waitsFor(reason.ErrVoter), start), "empty": each(waitsFor(reason.ErrVoter), start), "ours": both(start),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter that never ran, and does not": {entry: ours(unseen30s), row: map[string]cell{
		"unknown": each(remove, start), "empty": each(remove, start), "ours": both(start),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter that never ran, and does not, for a moment": {entry: ours(unseen30s, older(time.Minute)), row: map[string]cell{
		"unknown": each(waitsFor(reason.ErrVoter), start), "empty": each(remove, start), "ours": both(start),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter that never published itself, and speaks": {entry: ours(neverRan, heard), row: map[string]cell{
		"unknown": each(refuses(reason.ErrVoter), start), "empty": each(refuses(reason.ErrVoter), start), "ours": both(start),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a learner that has run, silent": {entry: ours(aLearner, silent), row: map[string]cell{
		"unknown": each(start, otherWay), "empty": lostYet, "ours": each(start, otherWay),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a learner that has run, silent to us only": {entry: ours(aLearner, silent, heard), row: map[string]cell{
		"unknown": each(start, otherWay), "empty": lostLives, "ours": each(start, otherWay),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a learner that has run, dead by its silence": {entry: ours(aLearner, gone30s), row: map[string]cell{
		"unknown": each(start, otherWay), "empty": lost, "ours": each(start, otherWay),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a learner that answers": {entry: ours(aLearner), row: map[string]cell{
		"unknown": each(start, otherWay), "empty": lostLives, "ours": each(start, otherWay),
		"a removed": strange, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter, silent": {entry: ours(silent), row: map[string]cell{
		"unknown": both(start), "empty": lostYet, "ours": both(start),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter, silent to us only": {entry: ours(silent, heard), row: map[string]cell{
		"unknown": both(start), "empty": lostLives, "ours": both(start),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter, silent, and the leader's metrics cannot be read": {entry: ours(silent, deaf(time.Minute)), row: map[string]cell{
		"unknown": both(start), "empty": lostLives, "ours": both(start),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter, dead by its silence": {entry: ours(gone30s), row: map[string]cell{
		"unknown": both(start), "empty": lost, "ours": both(start),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter, dead": {entry: ours(dead), row: map[string]cell{
		"unknown": both(start), "empty": lost, "ours": both(start),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter that answers": {entry: ours(), row: map[string]cell{
		"unknown": both(waitsFor(reason.ErrNotLive)), "empty": lostAlive, "ours": both(waitsFor(reason.ErrNotLive)),
		"a removed": strange, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter that serves": {entry: ours(), served: true, row: map[string]cell{
		"unknown": both(done), "empty": lostAlive, "ours": both(done),
		"a removed": strange, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a voter that says it is a learner": {entry: ours(saysLearner), served: true, row: map[string]cell{
		"unknown": both(waitsFor(reason.ErrRoleDisagrees)), "empty": lostAlive, "ours": both(waitsFor(reason.ErrRoleDisagrees)),
		"a removed": strange, "another's": moved, "foreign": foreign, "damaged": damaged}},

	// The same, once this call has had the server started.
	"a started learner that has published nothing": {entry: ours(aLearner, neverRan), started: true, row: map[string]cell{
		"unknown": each(stalled, otherWay), "empty": each(stalled, otherWay), "ours": each(stalled, otherWay),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a started learner that has published nothing, and reads": {entry: ours(aLearner, neverRan), started: true, proof: proof(), row: map[string]cell{
		"unknown": each(does(decide.DoPromote), otherWay), "empty": each(does(decide.DoPromote), otherWay), "ours": each(does(decide.DoPromote), otherWay),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a started learner": {entry: ours(aLearner), started: true, row: map[string]cell{
		"unknown": each(stalled, otherWay), "empty": each(stalled, otherWay), "ours": each(stalled, otherWay),
		"a removed": strange, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a started learner that reads": {entry: ours(aLearner), started: true, proof: proof(), row: map[string]cell{
		"unknown": each(does(decide.DoPromote), otherWay), "empty": each(does(decide.DoPromote), otherWay), "ours": each(does(decide.DoPromote), otherWay),
		"a removed": strange, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a started voter that has published nothing": {entry: ours(neverRan), started: true, row: map[string]cell{
		"unknown": both(stalled), "empty": both(stalled), "ours": both(stalled),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a started voter, silent": {entry: ours(silent), started: true, row: map[string]cell{
		"unknown": both(stalled), "empty": both(stalled), "ours": both(stalled),
		"a removed": removed, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a started voter that answers": {entry: ours(), started: true, row: map[string]cell{
		"unknown": both(waitsFor(reason.ErrNotLive)), "empty": both(waitsFor(reason.ErrNotLive)), "ours": both(waitsFor(reason.ErrNotLive)),
		"a removed": strange, "another's": moved, "foreign": foreign, "damaged": damaged}},
	"a started voter that serves": {entry: ours(), started: true, served: true, row: map[string]cell{
		"unknown": both(done), "empty": both(done), "ours": both(done),
		"a removed": strange, "another's": moved, "foreign": foreign, "damaged": damaged}},
}

// withoutQuorum is the same table where the cluster has no quorum: nothing is
// done but starting our own entry that never ran, and our own intact data.
var withoutQuorum = map[string]map[string]want{
	"a learner that has run, silent":                           {"ours": start},
	"a voter, silent":                                          {"ours": start},
	"a voter, dead":                                            {"ours": start},
	"a voter, dead by its silence":                             {"ours": start},
	"a voter, silent to us only":                               {"ours": start},
	"a learner that has run, silent to us only":                {"ours": start},
	"a learner that has run, dead by its silence":              {"ours": start},
	"a voter, silent, and the leader's metrics cannot be read": {"ours": start},
	"a voter that never ran, and does not":                     {"unknown": start, "empty": start, "ours": start},
	"a voter that never ran, and does not, for a moment":       {"unknown": start, "empty": start, "ours": start},
	"a voter that never published itself, and speaks":          {"unknown": start, "empty": start, "ours": start},
	"a learner that never ran":                                 {"unknown": start, "empty": start, "ours": start},
	"a voter that never ran":                                   {"unknown": start, "empty": start, "ours": start},
}

func TestEveryCellOfTheDecisionTable(t *testing.T) {
	for state, entry := range table {
		for dir, data := range dataDirs {
			c, ok := entry.row[dir]
			if !ok {
				t.Errorf("%s: no cell for %s data", state, dir)
				continue
			}
			t.Run(state+"/"+dir, func(t *testing.T) {
				all := caseOf(entry.entry, data)
				all.Proof, all.Served = entry.proof, entry.served
				if entry.shown {
					all.Absent = map[cluster.ID]decide.Absence{ourID: decide.Absence{}.Again(now.Add(-time.Second), "here")}
				}
				if entry.started {
					all.Started = ourID
				}
				decideBoth(t, all, c)
				// Which moment Join returns at matters only for a voter that this call started.
				all.Policy.ReturnAt = decide.Promoted
				if entry.started && entry.entry != nil && !entry.entry.Learner && entry.entry.Started() && !slices.Contains([]string{"a removed", "another's", "foreign", "damaged"}, dir) {
					c = both(done)
				}
				decideBoth(t, all, c)

				all.Snapshot.NoQuorum = true
				c = both(waitsFor(reason.ErrNoQuorum))
				switch w, may := withoutQuorum[state][dir]; {
				case may:
					c = both(w)
				case dir == "another's" || dir == "foreign" || dir == "damaged":
					c = entry.row[dir]
				}
				decideBoth(t, all, c)
			})
		}
	}
}

// caseOf is our entry, if there is one, beside three live voters, and what our
// data directory holds.
func caseOf(entry *cluster.Seen, data cluster.DataInfo) decide.Case {
	members := voters(3)
	if data.MemberID == 8 {
		members = append(members, seen(8, silent, named("old")))
	}
	if entry != nil {
		members = append(members, *entry)
	}
	return decide.Case{Snapshot: snapshot(members...), Name: ourName, PeerURLs: []string{ourURL}, Data: data, Policy: filled(decide.Policy{}),
		Absent: map[cluster.ID]decide.Absence{77: shown(time.Second), ourID: shown(time.Second)}}
}

func decideBoth(t *testing.T, c decide.Case, w cell) {
	t.Helper()
	byLearner, byVoting := strategies(t)
	for name, s := range map[string]decide.Strategy{"learner": byLearner, "voting": byVoting} {
		for _, rejoin := range []bool{false, true} {
			c.Policy.Rejoin = rejoin
			act := decide.Next(c, s)
			if err := w.of(name == "voting", rejoin).differs(act); err != nil {
				t.Errorf("%s, rejoin %t, return at %q, no quorum %t: %v", name, rejoin, c.Policy.ReturnAt, c.Snapshot.NoQuorum, err)
				continue
			}
			switch act.Do {
			case decide.DoStart, decide.DoRemove, decide.DoPromote, decide.DoDone:
				assert.Equal(t, ourID, act.Member.ID, "it concerns our entry")
			}
		}
	}
}

var errDied = errors.New("connection refused")

// What does not hang on the data directory: names, addresses, the slot, versions,
// the margin.
func TestDecide(t *testing.T) {
	add, addVoter := does(decide.DoAddLearner), does(decide.DoAddVoter)
	atRisk := refuses(reason.ErrQuorumAtRisk)
	replace := decide.Policy{SameName: decide.ReplaceIfDead}
	margin := decide.Policy{AcceptNoMargin: true}
	evict := decide.Policy{Slot: decide.EvictStalled}
	update := decide.Policy{UpdateAddress: true}
	started := func(c *decide.Case) { c.Started = ourID }
	surveyed := func(s cluster.Survey) func(*decide.Case) { return func(c *decide.Case) { c.Survey = &s } }
	exited := func(output string) func(*decide.Case) {
		return func(c *decide.Case) { c.Started, c.Exit = ourID, &cluster.ExitError{Code: 2, Output: output} }
	}
	limit := func(n int) func(*decide.Case) { return func(c *decide.Case) { c.SlotLimit = n } }
	of := func(members []cluster.Seen, more ...cluster.Seen) []cluster.Seen { return append(members, more...) }
	holder := func(changes ...change) cluster.Seen { return seen(7, append([]change{aLearner}, changes...)...) }

	for name, tc := range map[string]struct {
		members []cluster.Seen
		config  decide.Policy
		change  func(*decide.Case)
		learner want
		voting  want
		member  cluster.ID // whom it concerns
	}{
		// Identity.
		"our URL in another spelling":                     {members: of(voters(3), *ours(aLearner, at("HTTP://10.0.0.9:02380"))), learner: start, voting: otherWay, member: ourID},
		"two URLs in another order":                       {members: of(voters(3), *ours(aLearner, at("http://b9:2380", ourURL))), change: urls(ourURL, "http://b9:2380"), learner: start, voting: otherWay, member: ourID},
		"one URL of several is not our entry":             {members: of(voters(3), *ours(aLearner, at("http://b9:2380", ourURL))), learner: refuses(reason.ErrURLTaken), voting: refuses(reason.ErrURLTaken)},
		"another member has our host and port over https": {members: of(voters(3), seen(8, at("https://10.0.0.9:2380"))), learner: refuses(reason.ErrURLTaken), voting: refuses(reason.ErrURLTaken)},
		"a loopback URL beside members on machines":       {members: voters(3), change: urls("http://127.0.0.1:2380"), learner: refuses(nil), voting: refuses(nil)},
		"an unspecified address":                          {members: voters(3), change: urls("http://0.0.0.0:2380"), learner: refuses(nil), voting: refuses(nil)},
		"our entry runs under another name":               {members: of(voters(3), *ours(aLearner, named("x"))), learner: refuses(reason.ErrOtherName), voting: refuses(reason.ErrOtherName)},
		"a voter of ours runs under another name":         {members: of(voters(3), *ours(named("x"))), learner: refuses(reason.ErrOtherName), voting: refuses(reason.ErrOtherName)},
		"our data proves who it is, whatever its name":    {members: of(voters(3), *ours(named("x"))), change: func(c *decide.Case) { c.Data, c.Served = dataDirs["ours"], true }, learner: done, voting: done, member: ourID},
		"a member without peer URLs is in the list":       {members: of(voters(3), seen(8, at())), learner: add, voting: addVoter},
		"a member whose URL nobody can read":              {members: of(voters(3), seen(8, at("::bad::"))), learner: add, voting: addVoter},

		// Our name.
		"a live member has our name":                           {members: of(voters(2), seen(3, named(ourName))), learner: refuses(reason.ErrNameTaken), voting: refuses(reason.ErrNameTaken)},
		"a live one, to be replaced if dead":                   {members: of(voters(2), seen(3, named(ourName))), config: replace, learner: refuses(reason.ErrNameTaken), voting: refuses(reason.ErrNameTaken)},
		"a silent one, to be replaced if dead":                 {members: of(voters(2), seen(3, silent, named(ourName))), config: replace, learner: waitsFor(reason.ErrNameTaken), voting: waitsFor(reason.ErrNameTaken), member: 3},
		"the same, silent for a while":                         {members: of(voters(2), seen(3, silent, unheard(29*time.Second), named(ourName))), config: replace, learner: waitsFor(reason.ErrNameTaken), voting: waitsFor(reason.ErrNameTaken), member: 3},
		"the same, silent for half a minute":                   {members: of(voters(2), seen(3, gone30s, named(ourName))), config: replace, learner: remove, voting: remove, member: 3},
		"the same, and the leader hears it":                    {members: of(voters(2), seen(3, silent, heard, named(ourName))), config: replace, learner: refuses(reason.ErrNameTaken), voting: refuses(reason.ErrNameTaken)},
		"the same, by the word of a leader that leads no more": {members: of(voters(2), seen(3, gone30s, by(2), named(ourName))), config: replace, learner: waitsFor(reason.ErrNameTaken), voting: waitsFor(reason.ErrNameTaken)},
		"the same, by a word that is ten seconds old":          {members: of(voters(2), seen(3, gone30s, named(ourName))), config: replace, change: func(c *decide.Case) { c.Snapshot.At = now.Add(10 * time.Second) }, learner: waitsFor(reason.ErrNameTaken), voting: waitsFor(reason.ErrNameTaken)},
		"the same, and nobody can tell yet":                    {members: of(voters(2), seen(3, silent, deaf(20*time.Second), named(ourName))), config: replace, learner: waitsFor(reason.ErrNameTaken), voting: waitsFor(reason.ErrNameTaken)},
		"the same, and nobody can tell":                        {members: of(voters(2), seen(3, silent, deaf(30*time.Second), named(ourName))), config: replace, learner: refuses(reason.ErrNameTaken), voting: refuses(reason.ErrNameTaken)},
		"the same, and our data is its": {members: of(voters(2), seen(3, gone30s, named(ourName))), config: replace, change: func(c *decide.Case) {
			c.Data = cluster.DataInfo{Kind: cluster.DataMember, ClusterID: clusterID, MemberID: 3}
		}, learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"a dead one":                                                   {members: of(voters(2), seen(3, dead, named(ourName))), learner: refuses(reason.ErrNameTaken), voting: refuses(reason.ErrNameTaken)},
		"a dead one, to be replaced if dead":                           {members: of(voters(2), seen(3, dead, named(ourName))), config: replace, learner: remove, voting: remove, member: 3},
		"a dead learner, to be replaced if dead":                       {members: of(voters(3), seen(4, aLearner, dead, named(ourName))), config: replace, learner: remove, voting: remove, member: 4},
		"a dead one whose removal costs the quorum":                    {members: of(live(4, 2), seen(5, dead, named(ourName))), config: replace, learner: atRisk, voting: atRisk},
		"our entry never ran, a dead one has our name, to be replaced": {members: of(voters(3), seen(4, dead, named(ourName)), *ours(aLearner, neverRan)), config: replace, learner: remove, voting: remove, member: 4},
		"our entry never ran, a live one has our name, to be replaced": {members: of(voters(2), seen(3, named(ourName)), *ours(aLearner, neverRan)), config: replace, learner: refuses(reason.ErrNameTaken), voting: refuses(reason.ErrNameTaken)},
		"our entry never ran and was started, a live one has our name": {members: of(voters(2), seen(3, named(ourName)), *ours(aLearner, neverRan)), change: started, learner: refuses(reason.ErrNameTaken), voting: refuses(reason.ErrNameTaken)},
		"a dead one has our name in a cluster that knows no learners":  {members: of([]cluster.Seen{seen(1, runs("3.3.27")), seen(2, runs("3.3.27"))}, seen(3, dead, named(ourName))), config: replace, learner: refuses(reason.ErrUnsupported), voting: remove},
		"a dead one has our name, and we are of a version that cannot": {members: of(voters(2), seen(3, dead, named(ourName))), config: decide.Policy{SameName: decide.ReplaceIfDead, ServerVersion: version.MustParse("3.4.20")}, learner: refuses(reason.ErrSkew), voting: refuses(reason.ErrSkew)},
		"a dead one has our name, and a member's data is corrupt":      {members: of([]cluster.Seen{seen(1), seen(2, alarmed("memberID:2 alarm:CORRUPT "))}, seen(3, dead, named(ourName))), config: replace, learner: refuses(reason.ErrCorrupt), voting: refuses(reason.ErrCorrupt)},

		"no quorum, our entry never ran, another has our name": {members: of(voters(1), seen(2, silent, named(ourName)), *ours(neverRan)), change: noQuorum, learner: waitsFor(reason.ErrNameTaken), voting: waitsFor(reason.ErrNameTaken)},

		// Another address.
		"our data is a member's under other URLs":           {members: of(voters(3), seen(8, silent)), change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"the same, to be updated, just looked at":           {members: of(voters(3), seen(8, silent)), config: update, change: data("another's"), learner: waitsFor(reason.ErrAddress), voting: waitsFor(reason.ErrAddress), member: 8},
		"the same, to be updated":                           {members: of(voters(3), seen(8, gone30s)), config: update, change: data("another's"), learner: does(decide.DoUpdate), voting: does(decide.DoUpdate), member: 8},
		"the same, to be updated, and nobody can tell":      {members: of(voters(3), seen(8, silent, deaf(30*time.Second))), config: update, change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"the same, to be updated, and it answers there":     {members: of(voters(3), seen(8)), config: update, change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"the same, to be updated, and it speaks":            {members: of(voters(3), seen(8, silent, heard)), config: update, change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"one of two URLs moved":                             {members: of(voters(3), seen(8, gone30s, at("http://10.0.0.8:2380", "http://b9:2380"))), config: update, change: func(c *decide.Case) { c.Data, c.PeerURLs = dataDirs["another's"], []string{ourURL, "http://b9:2380"} }, learner: does(decide.DoUpdate), voting: does(decide.DoUpdate), member: 8},
		"one of two URLs is not named":                      {members: of(voters(3), seen(8, gone30s, at(ourURL, "http://b9:2380"))), config: update, change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"one moved, and the other is not named":             {members: of(voters(3), seen(8, gone30s, at("http://10.0.0.8:2380", "http://b9:2380"))), config: update, change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"the same, and another member has ours":             {members: of(voters(3), seen(8, silent), *ours(silent)), config: update, change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"the same, and another has our host and port":       {members: of(voters(3), seen(8, silent), seen(7, at("https://10.0.0.9:2380"))), config: update, change: data("another's"), learner: refuses(reason.ErrURLTaken), voting: refuses(reason.ErrURLTaken)},
		"the same, without a quorum":                        {members: of(voters(3), seen(8, silent)), config: update, change: func(c *decide.Case) { c.Data, c.Snapshot.NoQuorum = dataDirs["another's"], true }, learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"the same, a learner, and a version is not known":   {members: of(live(3, 2), seen(8, aLearner, gone30s)), config: update, change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"the same, a learner, and a version is no version":  {members: of(voters(2), seen(3, runs("new")), seen(8, aLearner, gone30s)), config: update, change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"the same, a learner":                               {members: of(voters(3), seen(8, aLearner, gone30s)), config: update, change: data("another's"), learner: does(decide.DoUpdate), voting: does(decide.DoUpdate), member: 8},
		"the same, a learner, where that makes it a zombie": {members: of([]cluster.Seen{seen(1, runs("3.6.11"))}, seen(8, aLearner, silent)), config: update, change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},
		"the same, a learner of versions nobody knows":      {members: of(live(3, 0), seen(8, aLearner, silent)), config: update, change: data("another's"), learner: refuses(reason.ErrAddress), voting: refuses(reason.ErrAddress)},

		// The survey before the first write, and a server that has ended.
		"the lists differ for a moment":                     {members: voters(3), change: surveyed(cluster.Survey{Diverged: reason.ErrDiverged}), learner: waitsFor(reason.ErrDiverged), voting: waitsFor(reason.ErrDiverged)},
		"the lists differ":                                  {members: voters(3), change: surveyed(cluster.Survey{Diverged: reason.ErrDiverged, For: 3 * time.Second}), learner: refuses(reason.ErrDiverged), voting: refuses(reason.ErrDiverged)},
		"the lists differ, and a dead one has our name":     {members: of(voters(2), seen(3, dead, named(ourName))), config: replace, change: surveyed(cluster.Survey{Diverged: reason.ErrDiverged, For: time.Minute}), learner: refuses(reason.ErrDiverged), voting: refuses(reason.ErrDiverged)},
		"a downgrade":                                       {members: voters(3), change: surveyed(cluster.Survey{Downgrading: true}), learner: refuses(reason.ErrDowngrading), voting: refuses(reason.ErrDowngrading)},
		"a survey without findings":                         {members: voters(3), change: surveyed(cluster.Survey{}), learner: add, voting: addVoter},
		"our server ended":                                  {members: of(voters(3), *ours(aLearner, neverRan)), change: exited("member count is unequal"), learner: refuses(reason.ErrNotLive), voting: refuses(reason.ErrNotLive)},
		"our server ended, a learner that has run":          {members: of(voters(3), *ours(aLearner, silent)), change: exited("no space left on device"), learner: refuses(reason.ErrNotLive), voting: refuses(reason.ErrNotLive)},
		"our server panics, its log is lost":                {members: of(voters(3), *ours(aLearner, silent)), change: exited("panic: tocommit(9) is out of range"), learner: refuses(reason.ErrDataLost), voting: refuses(reason.ErrDataLost)},
		"our server panics, its log is lost, it may rejoin": {members: of(voters(3), *ours(aLearner, silent)), config: decide.Policy{Rejoin: true}, change: exited("panic: tocommit(9) is out of range"), learner: remove, voting: remove, member: ourID},
		"our server ended, and with it the quorum":          {members: of(voters(1), *ours(neverRan)), change: func(c *decide.Case) { exited("wrong flag")(c); noQuorum(c) }, learner: refuses(reason.ErrNotLive), voting: refuses(reason.ErrNotLive)},
		"a voter of ours panics, it may rejoin":             {members: of(voters(3), *ours(silent)), config: decide.Policy{Rejoin: true}, change: exited("panic: tocommit(9) is out of range"), learner: refuses(reason.ErrNotLive), voting: refuses(reason.ErrNotLive)},

		// The slot.
		"the slot is taken": {members: of(voters(3), holder()), change: limit(1), learner: waitsFor(reason.ErrSlotTaken), voting: waitsFor(reason.ErrSlotTaken), member: 7},
		"a learner that holds no slot as far as is known":   {members: of(voters(3), holder()), learner: add, voting: addVoter},
		"one slot of two is taken":                          {members: of(voters(3), holder()), change: limit(2), learner: add, voting: addVoter},
		"the slot was taken, and is free":                   {members: voters(3), change: limit(1), learner: add, voting: addVoter},
		"the slot is taken, and not to be waited for":       {members: of(voters(3), holder()), config: decide.Policy{Slot: decide.SlotFail}, change: limit(1), learner: refuses(reason.ErrSlotTaken), voting: refuses(reason.ErrSlotTaken)},
		"evict: a holder that never ran, and is old":        {members: of(voters(3), holder(unseen30s, older(time.Hour))), config: evict, change: limit(1), learner: remove, voting: remove, member: 7},
		"evict: the same, just looked for":                  {members: of(voters(3), holder(neverRan, older(time.Hour))), config: evict, change: limit(1), learner: waitsFor(reason.ErrSlotTaken), voting: waitsFor(reason.ErrSlotTaken), member: 7},
		"evict: the same, and it speaks":                    {members: of(voters(3), holder(neverRan, heard, older(time.Hour))), config: evict, change: limit(1), learner: waitsFor(reason.ErrSlotTaken), voting: waitsFor(reason.ErrSlotTaken), member: 7},
		"evict: the same, to be evicted later":              {members: of(voters(3), holder(unseen30s, older(time.Hour))), config: decide.Policy{Slot: decide.EvictStalled, EvictAfter: 2 * time.Hour}, change: limit(1), learner: waitsFor(reason.ErrSlotTaken), voting: waitsFor(reason.ErrSlotTaken), member: 7},
		"evict: a holder that does not run, 14 minutes old": {members: of(voters(3), holder(unseen30s, older(899*time.Second))), config: evict, change: limit(1), learner: waitsFor(reason.ErrSlotTaken), voting: waitsFor(reason.ErrSlotTaken), member: 7},
		"evict: a holder that never ran, and is young":      {members: of(voters(3), holder(neverRan, older(time.Minute))), config: evict, change: limit(1), learner: waitsFor(reason.ErrSlotTaken), voting: waitsFor(reason.ErrSlotTaken), member: 7},
		"evict: a holder that has run, silent and old":      {members: of(voters(3), holder(silent, older(time.Hour))), config: evict, change: limit(1), learner: waitsFor(reason.ErrSlotTaken), voting: waitsFor(reason.ErrSlotTaken), member: 7},
		"evict: the second holder never ran, and is old":    {members: of(voters(3), holder(), seen(8, aLearner, unseen30s, older(time.Hour))), config: evict, change: limit(2), learner: remove, voting: remove, member: 8},
		"wait: a holder that never ran, and is old":         {members: of(voters(3), holder(neverRan, older(time.Hour))), change: limit(1), learner: waitsFor(reason.ErrSlotTaken), voting: waitsFor(reason.ErrSlotTaken), member: 7},

		"lost data in a cluster that knows no learners":         {members: []cluster.Seen{seen(1, runs("3.3.27")), seen(2, runs("3.3.27")), *ours(gone30s)}, config: decide.Policy{Rejoin: true}, change: data("empty"), learner: refuses(reason.ErrUnsupported), voting: remove},
		"lost data of a voter whose removal costs the quorum":   {members: of(live(4, 2), *ours(silent)), config: decide.Policy{Rejoin: true}, change: data("empty"), learner: atRisk, voting: atRisk},
		"a removed member's data, and the name is taken":        {members: of(voters(2), seen(3, named(ourName))), config: decide.Policy{Rejoin: true}, change: data("a removed"), learner: refuses(reason.ErrNameTaken), voting: refuses(reason.ErrNameTaken)},
		"a removed member's data, and the name is a dead one's": {members: of(voters(2), seen(3, dead, named(ourName))), config: replace, change: data("a removed"), learner: refuses(reason.ErrRemoved), voting: refuses(reason.ErrRemoved)},
		"a removed member's data beside one voter":              {members: voters(1), config: decide.Policy{Rejoin: true}, change: data("a removed"), learner: does(decide.DoArchive), voting: atRisk},

		// Versions, alarms, permissions: all before the first write.
		"servers before 3.4":                        {members: []cluster.Seen{seen(1, runs("3.3.27")), seen(2, runs("3.3.27")), seen(3, runs("3.3.27"))}, learner: refuses(reason.ErrUnsupported), voting: addVoter},
		"one server before 3.4":                     {members: of(voters(2), seen(3, runs("3.3.27"))), learner: refuses(reason.ErrUnsupported), voting: addVoter},
		"a learner before 3.4":                      {members: of(voters(3), seen(4, aLearner, runs("3.3.27"))), learner: refuses(reason.ErrUnsupported), voting: addVoter},
		"a leftover voter of ours in a 3.3 cluster": {members: []cluster.Seen{seen(1, runs("3.3.27")), seen(2, runs("3.3.27")), *ours(neverRan)}, learner: refuses(reason.ErrUnsupported), voting: start},
		"a version nobody can read":                 {members: of(voters(2), seen(3, runs("new"))), learner: refuses(nil), voting: addVoter},
		"nobody has told a version":                 {members: live(3, 0), learner: waitsFor(version.ErrNoVersion), voting: atRisk},
		"nobody has, and we know ours":              {members: live(3, 0), config: decide.Policy{ServerVersion: version.MustParse("3.6.16")}, learner: waitsFor(version.ErrNoVersion), voting: waitsFor(version.ErrNoVersion)},
		"one has not told its version":              {members: live(3, 2), learner: add, voting: atRisk},
		"we are of a version below":                 {members: voters(3), config: decide.Policy{ServerVersion: version.MustParse("3.5.35")}, learner: refuses(reason.ErrSkew), voting: refuses(reason.ErrSkew)},
		"we are of the minor version above":         {members: voters(3), config: decide.Policy{ServerVersion: version.MustParse("3.7.3")}, learner: add, voting: addVoter},
		"a hazard that loses data":                  {members: []cluster.Seen{seen(1, runs("3.5.10"))}, config: decide.Policy{ServerVersion: version.MustParse("3.6.16"), AcceptNoMargin: true}, learner: refuses(reason.ErrHazard), voting: refuses(reason.ErrHazard)},
		"the same, accepted by name":                {members: []cluster.Seen{seen(1, runs("3.5.10"))}, config: decide.Policy{ServerVersion: version.MustParse("3.6.16"), AcceptNoMargin: true, AcceptHazards: []string{"unsaved-members-into-3.6"}}, learner: add, voting: addVoter},
		"another hazard accepted":                   {members: []cluster.Seen{seen(1, runs("3.5.10"))}, config: decide.Policy{ServerVersion: version.MustParse("3.6.16"), AcceptNoMargin: true, AcceptHazards: []string{"inconsistent-index"}}, learner: refuses(reason.ErrHazard), voting: refuses(reason.ErrHazard)},
		"the CORRUPT alarm":                         {members: of(voters(2), seen(3, alarmed("memberID:3 alarm:CORRUPT "))), learner: refuses(reason.ErrCorrupt), voting: refuses(reason.ErrCorrupt)},
		"the NOSPACE alarm":                         {members: of(voters(2), seen(3, alarmed("memberID:3 alarm:NOSPACE "))), learner: add, voting: addVoter},
		"every status is denied":                    {members: []cluster.Seen{seen(1, silent, fails(rpctypes.ErrPermissionDenied)), seen(2, silent, fails(errDied))}, learner: refuses(reason.ErrDenied), voting: refuses(reason.ErrDenied)},
		"one status is denied, another is answered": {members: []cluster.Seen{seen(1), seen(2), seen(3, silent, fails(rpctypes.ErrPermissionDenied))}, learner: add, voting: atRisk},
		"TLS is refused by all":                     {members: []cluster.Seen{seen(1, silent, fails(errors.New("x509: certificate signed by unknown authority")))}, learner: refuses(reason.ErrTLS), voting: refuses(reason.ErrTLS)},

		// The margin, with the new member voting and failing.
		"one voter":                     {members: voters(1), learner: add, voting: atRisk},
		"one voter, no margin accepted": {members: voters(1), config: margin, learner: add, voting: addVoter},
		"two voters":                    {members: voters(2), learner: add, voting: addVoter},
		"three voters, one silent":      {members: live(3, 2), learner: add, voting: atRisk},
		"three voters, one silent, no margin accepted":      {members: live(3, 2), config: margin, learner: add, voting: addVoter},
		"four voters, one silent":                           {members: live(4, 3), learner: add, voting: addVoter},
		"five voters, two silent":                           {members: live(5, 3), learner: add, voting: atRisk},
		"a leftover voter of ours beside one":               {members: of(voters(1), *ours(unseen30s)), learner: remove, voting: start, member: ourID},
		"a leftover voter of ours beside two":               {members: of(voters(2), *ours(unseen30s)), learner: remove, voting: start, member: ourID},
		"a leftover voter of ours beside three, one silent": {members: of(live(3, 2), *ours(unseen30s)), learner: remove, voting: start, member: ourID},
		"a leftover voter of ours beside three, two silent": {members: of(live(3, 1), *ours(neverRan)), learner: atRisk, voting: start},
		"a leftover voter of ours that answers":             {members: of(voters(3), *ours(nameless)), learner: refuses(reason.ErrVoter), voting: start},
	} {
		t.Run(name, func(t *testing.T) {
			c := decide.Case{Snapshot: snapshot(tc.members...), Name: ourName, PeerURLs: []string{ourURL}, Policy: filled(tc.config)}
			if tc.change != nil {
				tc.change(&c)
			}
			byLearner, byVoting := strategies(t)
			assert.NoError(t, tc.learner.differs(decide.Next(c, byLearner)), "learner")
			assert.NoError(t, tc.voting.differs(decide.Next(c, byVoting)), "voting")
			for _, act := range []decide.Act{decide.Next(c, byLearner), decide.Next(c, byVoting)} {
				if tc.member != 0 && act.Do != decide.DoRefuse && act.Do != decide.DoStart {
					assert.Equal(t, tc.member, act.Member.ID)
				}
			}
		})
	}
}

func noQuorum(c *decide.Case) { c.Snapshot.NoQuorum = true }

func data(dir string) func(*decide.Case) {
	return func(c *decide.Case) {
		c.Data = dataDirs[dir]
		c.Absent = map[cluster.ID]decide.Absence{77: shown(time.Second)}
	}
}

func urls(urls ...string) func(*decide.Case) {
	return func(c *decide.Case) { c.PeerURLs = urls }
}

// The gate's refusals end a join where no wait heals them.
func TestTheGateInTheDecision(t *testing.T) {
	slow := proof()
	slow.Took = time.Second
	stranger := proof()
	stranger.ClusterID = 0xbad
	another := proof()
	another.After.Identity = cluster.AnotherMember
	for name, tc := range map[string]struct {
		voters []cluster.Seen
		proof  *decide.Proof
		config decide.Policy
		want   want
	}{
		"one voter becomes two":                              {voters(1), proof(), decide.Policy{}, does(decide.DoPromote)},
		"two become three":                                   {voters(2), proof(), decide.Policy{}, does(decide.DoPromote)},
		"three, one silent":                                  {live(3, 2), proof(), decide.Policy{}, waitsFor(reason.ErrQuorumAtRisk)},
		"three, one silent, no margin accepted":              {live(3, 2), proof(), decide.Policy{AcceptNoMargin: true}, does(decide.DoPromote)},
		"no read":                                            {voters(3), nil, decide.Policy{}, waitsFor(reason.ErrStalled)},
		"a slow read":                                        {voters(3), slow, decide.Policy{}, waitsFor(reason.ErrNotLive)},
		"a read that is slow, and allowed to be":             {voters(3), slow, decide.Policy{ReadWithin: time.Second}, does(decide.DoPromote)},
		"another member answers":                             {voters(3), another, decide.Policy{}, waitsFor(reason.ErrWrongServer)},
		"another cluster answers":                            {voters(3), stranger, decide.Policy{}, refuses(reason.ErrWrongCluster)},
		"the CORRUPT alarm":                                  {[]cluster.Seen{seen(1), seen(2, alarmed("memberID:2 alarm:CORRUPT "))}, proof(), decide.Policy{}, refuses(reason.ErrCorrupt)},
		"a read that is quick does not make up for a quorum": {live(5, 3), proof(), decide.Policy{}, waitsFor(reason.ErrQuorumAtRisk)},
	} {
		t.Run(name, func(t *testing.T) {
			c := decide.Case{Snapshot: snapshot(append(tc.voters, *ours(aLearner))...), Name: ourName, PeerURLs: []string{ourURL},
				Started: ourID, Proof: tc.proof, Policy: filled(tc.config)}
			byLearner, _ := strategies(t)
			assert.NoError(t, tc.want.differs(decide.Next(c, byLearner)))
		})
	}
}
