package version

import "fmt"

// Ability is something some etcd releases can do, or do, and others not.
type Ability int

// What a joiner must know of a server. The range of each is in the table below,
// with its source.
const (
	// Learners: members without a vote, and promoting them.
	Learners Ability = iota
	// LinearizableMemberList: the member list can be read through a quorum.
	// Before, the server ignores the request's field and answers what it has; a
	// linearizable read and the list, both from one server, stand in for it.
	LinearizableMemberList
	// ReadThroughPeer: GET <peer URL>/downgrade/enabled waits for a linearizable
	// read, on a learner too, and while its client port is still silent. Before,
	// the path is not there.
	ReadThroughPeer
	// QuorumAddCheck: an add asks that a quorum of the cluster to be, n+1 voters,
	// has been connected for five seconds. Before, it asks that of all voters.
	QuorumAddCheck
	// SafeMemberUpdateOfLearner: a member update leaves a learner a learner.
	// Before, it takes the mark off: a voter in the list, a learner in raft, and
	// it can never be promoted.
	SafeMemberUpdateOfLearner
	// PromoteChecksStarted: a member that raft has never heard from is not
	// promoted. Before, a learner just added counts as caught up.
	PromoteChecksStarted
	// PromoteWaitsForApplied: a promote first waits, a second at most, until the
	// server has applied what it knows to be committed, and may answer "waiting
	// for the applied index took too long".
	PromoteWaitsForApplied
	// PromotesLoneVoter: one voter alone can promote a learner. Before, the count
	// of started members was wrong and the promote is refused.
	PromotesLoneVoter
	// ForwardsPromoteWithAuth: a follower hands the caller's token on with a
	// promote. Before, it is asked for seven seconds and times out. An identity
	// from a client certificate is never handed on.
	ForwardsPromoteWithAuth
	// ChangesBackToBack: a membership change is answered only when raft takes the
	// next one. Before, a change sent at once after another may be dropped, and
	// its call hangs to its deadline.
	ChangesBackToBack
	// IgnoresForeignMessages: raft messages for another member ID are dropped, so
	// that a former incarnation on the same URL does no harm.
	IgnoresForeignMessages
	// LivezReadyz: /livez and /readyz are there.
	LivezReadyz
	// ReadyzExcludesLearner: /readyz fails on a learner until it votes.
	ReadyzExcludesLearner
	// HealthExclude: /health takes exclude=NOSPACE.
	HealthExclude
	// HealthSerializable: /health takes serializable=true, which needs no quorum.
	HealthSerializable
	// DowngradeInfo: Status tells of a downgrade in progress, during which no
	// server should join.
	DowngradeInfo
	// SnapshotFromLearner: a learner streams its database. Before, it refuses.
	SnapshotFromLearner
	// MaxLearnersFlag: --max-learners is there. Before, the limit is one.
	MaxLearnersFlag
	// CountsLearnersAtStart: a server does not start while the cluster has more
	// learners than its own limit.
	CountsLearnersAtStart
	// SilentAfterSnapshot, a behaviour: a server that joined by snapshot does not
	// answer on its client port for seven seconds, for its own publish request
	// was in the snapshot and has to time out; on an idle cluster perhaps for ever.
	SilentAfterSnapshot
	// MembersInV3Store, a behaviour: the member list is what the v3 store holds;
	// records an older release left wrong there become visible.
	MembersInV3Store
)

// abilities has the releases with each ability, in the order of the constants.
// 3.7.0-beta.0 is named where its source has the fix: a server built from the
// module of 3.8.0-alpha.0 calls itself so.
var abilities = [...]struct {
	name string
	in   Range
}{
	Learners:                  {"learners", MustRange("3.4.0+")},                                           // CHANGELOG-3.4
	LinearizableMemberList:    {"linearizable member list", MustRange("3.5.0+")},                           // CHANGELOG-3.5, #11639
	ReadThroughPeer:           {"read through the peer port", MustRange("3.5.0+")},                         // server.go:downgradeEnabledHandler; run on 3.5.35 to 3.7.3
	QuorumAddCheck:            {"add checks a quorum", MustRange("3.5.30+, 3.6.11+, 3.7.0-beta.0+")},       // server/etcdserver/util.go
	SafeMemberUpdateOfLearner: {"safe update of a learner", MustRange("3.5.31+, 3.6.12+, 3.7.0-beta.0+")},  // #21694
	PromoteChecksStarted:      {"promote checks for a start", MustRange("3.4.24+, 3.5.7+, 3.6+")},          // #15096, #15097
	PromoteWaitsForApplied:    {"promote waits for applied", MustRange("3.4.24+, 3.5.7+, 3.6+")},           // #15096, #15097
	PromotesLoneVoter:         {"promotes beside one voter", MustRange("3.4.4+")},                          // #11640
	ForwardsPromoteWithAuth:   {"forwards promote with auth", MustRange("3.5.28+, 3.6.6+, 3.7.0-beta.0+")}, // #20757
	ChangesBackToBack:         {"changes back to back", MustRange("3.6.0+")},                               // #15528
	IgnoresForeignMessages:    {"ignores foreign raft messages", MustRange("3.4.32+, 3.5.14+, 3.6.0+")},    // CHANGELOG-3.4, CHANGELOG-3.5
	LivezReadyz:               {"livez and readyz", MustRange("3.4.29+, 3.5.11+, 3.6+")},                   // CHANGELOG-3.4, CHANGELOG-3.5
	ReadyzExcludesLearner:     {"readyz fails on a learner", MustRange("3.5.19+, 3.6.0+")},                 // CHANGELOG-3.5
	HealthExclude:             {"health excludes alarms", MustRange("3.4.16+, 3.5.0+")},                    // #12880
	HealthSerializable:        {"serializable health", MustRange("3.4.29+, 3.5.3+, 3.6+")},                 // #13706
	DowngradeInfo:             {"downgrade in status", MustRange("3.6.0-rc.1+")},                           // CHANGELOG-3.6
	SnapshotFromLearner:       {"snapshot from a learner", MustRange("3.4.28+, 3.5.0+")},                   // CHANGELOG-3.4
	MaxLearnersFlag:           {"max-learners flag", MustRange("3.6.0-rc.3+")},                             // before, in 3.6, experimental-max-learners
	CountsLearnersAtStart:     {"counts learners at start", MustRange("3.6+")},                             // server/etcdserver/bootstrap.go
	SilentAfterSnapshot:       {"silent after a snapshot", MustRange("3.6+")},                              // run on 3.6.14 to 3.7.3; never on 3.5
	MembersInV3Store:          {"members in the v3 store", MustRange("3.6+")},                              // #20967
}

// Can reports whether a release has an ability. An unknown version can nothing.
func (v Version) Can(a Ability) bool { return a.Range().Has(v) }

// Range is the releases that have the ability.
func (a Ability) Range() Range {
	if a < 0 || int(a) >= len(abilities) {
		return Range{}
	}
	return abilities[a].in
}

// String is what the ability is, in a few words.
func (a Ability) String() string {
	if a < 0 || int(a) >= len(abilities) {
		return fmt.Sprintf("ability %d", int(a))
	}
	return abilities[a].name
}
