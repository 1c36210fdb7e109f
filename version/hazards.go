package version

import "fmt"

// issues are pages of etcd's tracker; it leads from an issue's number to a pull
// request's by itself.
func issues(numbers ...int) []string {
	urls := make([]string, len(numbers))
	for i, n := range numbers {
		urls[i] = fmt.Sprintf("https://github.com/etcd-io/etcd/issues/%d", n)
	}
	return urls
}

func changeLog(branch string) []string {
	return []string{"https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-" + branch + ".md"}
}

// hazards is what is known to go wrong around a join, from etcd's change logs,
// its tracker, its source and runs of real servers up to 3.5.35, 3.6.16, 3.7.3
// and 3.8.0-alpha.0.
//
// A range that begins with a branch, as "3.5 to 3.5.25" does, has its
// pre-releases too.
//
// Not here is what hangs on the client library instead of the servers: clients
// that put learners among their endpoints (before 3.4.20 and 3.5.3) or do not go
// on to another when a learner refuses (before 3.4.32 and 3.5.14). Servers older
// than learners are [Guard]'s, versions too far apart [Skew]'s too.
var hazards = []Hazard{
	// The join itself can lose data or quorum.
	{
		Name: "unsaved-members-into-3.6", Severity: Refuse, Together: true,
		Servers: MustRange("3.5 to 3.5.25"), Joiner: MustRange("3.6+"),
		What: "3.5 kept promotions, names, URLs and removals of members out of its v3 store, which is all that 3.6 reads: " +
			"the joiner takes voters for learners and removed members for live ones",
		Do:     "bring every member to 3.5.26 or later and see all of them healthy, then join 3.6",
		Issues: issues(19557, 20793, 20967, 13196),
	},
	{
		Name: "inconsistent-index", Severity: Refuse,
		Servers: MustRange("3.5 to 3.5.2"), Joiner: MustRange("3.5 to 3.5.2"),
		What:   "a crash can lose applied transactions on one member, unseen, and its snapshot hands the wrong data on",
		Do:     "upgrade every member to 3.5.3 or later before the cluster grows",
		Issues: issues(13766),
	},
	{
		Name: "auth-lost-by-snapshot", Severity: Refuse,
		Joiner: MustRange("3.4.20 to 3.4.21, 3.5.5"),
		What:   "a server that joins by snapshot does not load who may do what; with auth on it refuses writes that the others apply, and its data differs from theirs",
		Do:     "start the joiner with 3.4.22, 3.5.6 or later, or accept this if auth is off",
		Issues: issues(14571, 14574),
	},
	{
		Name: "publish-panic-into-3.5", Severity: Refuse, Together: true,
		Servers: MustRange("3.5"), Joiner: MustRange("3.7+"),
		What:   "the joiner panics on the entries by which 3.5 members publish themselves, at each start; as a voter it would count and never live",
		Do:     "join with 3.5 or 3.6",
		Issues: changeLog("3.7"),
	},
	{
		Name: "no-members-from-3.4", Severity: Refuse, Together: true,
		Servers: MustRange("3.4"), Joiner: MustRange("3.6+"),
		What:   "a snapshot of 3.4 has no members in its v3 store, which is all that the joiner reads",
		Do:     "join with 3.4 or 3.5",
		Issues: changeLog("3.6"),
	},

	// Something else can set these off.
	{
		Name: "promotion-not-saved", Severity: Warn,
		Servers: MustRange("3.5.1 to 3.5.19"), Joiner: MustRange("3.5.1 to 3.5.19"),
		What: "a promotion is not written to the v3 store: after an upgrade to 3.6 the member is a learner again, and with two of them no server starts",
		Do: "before 3.6, bring every member to 3.5.26 or later; a member update of each voter with its own URLs then writes its record anew " +
			"(on 3.5.20 and later only, and never on a learner)",
		Issues: issues(19557, 20793, 20340),
	},
	{
		Name: "unsaved-members-by-snapshot", Severity: Warn, Together: true,
		Servers: MustRange("3.5.1 to 3.5.19"), Joiner: MustRange("3.5.20 to 3.5.23"),
		What:   "a snapshot from an older leader carries its wrong member records into the joiner, where nothing mends them",
		Do:     "start the joiner with 3.5.26 or later",
		Issues: issues(20793, 20797),
	},
	{
		Name: "zombie-members", Severity: Warn,
		Servers: MustRange("3.5 to 3.5.25"), Joiner: MustRange("3.5 to 3.5.25"),
		What:   "records of removed members stay in the v3 store; 3.5.0 lists them, and so does 3.6 after an upgrade",
		Do:     "upgrade by way of 3.5.26 or later; on 3.6 remove them by ID, one at a time",
		Issues: issues(13196, 20967, 20995),
	},
	{
		Name: "repair-fails-at-start", Severity: Warn,
		Servers: MustRange("3.6 to 3.6.3"), Joiner: MustRange("3.6 to 3.6.3"),
		What:   "the repair of member records left by 3.5 can itself keep a server from starting: \"too many learner members in cluster\"",
		Do:     "use 3.6.4 or later",
		Issues: issues(20340, 20387),
	},
	{
		Name: "promote-panic", Severity: Warn,
		Servers: MustRange("3.6 to 3.6.0"), Joiner: MustRange("3.6 to 3.6.0"),
		What:   "a server whose own list lacks the member panics when its promotion or update is applied",
		Do:     "use 3.6.1 or later; see that all voters list the same members before a promotion",
		Issues: issues(20051),
	},
	{
		Name: "no-repair-in-3.7", Severity: Warn, Together: true,
		Servers: MustRange("3.6"), Joiner: MustRange("3.7+"),
		What:   "3.7 no longer mends member records that 3.5 left wrong; in a cluster that once ran 3.5 they stay for good",
		Do:     "compare the members' own lists before the first 3.7 joins; promote again a voter that is listed as a learner",
		Issues: issues(19557, 20967),
	},
	{
		// Run with 3.5.35 upgraded to 3.6.16 and a 3.7.3 joiner: panic at raft index 7
		// and 67, none at 147 and later, where the leader sends a snapshot.
		Name: "publish-panic-from-log", Severity: Warn, Together: true,
		Servers: MustRange("3.6"), Joiner: MustRange("3.7+"),
		What: "a leader upgraded from 3.5 that has written next to nothing since its start still sends the entries by which 3.5 members published themselves, " +
			"and the joiner panics on them at each start: \"unmarshal should never fail\"",
		Do:     "if it happens, write a few hundred entries, remove the joiner, wipe it and join again",
		Issues: changeLog("3.7"),
	},
	{
		Name: "lone-voter-cannot-promote", Severity: Warn,
		Servers: MustRange("3.4 to 3.4.3"),
		What:    "one voter alone refuses every promotion, for it counts the started members wrongly",
		Do:      "upgrade to 3.4.4 or later",
		Issues:  issues(11640),
	},
	{
		Name: "lone-member-loses-writes", Severity: Warn,
		Servers: MustRange("3.4 to 3.4.20, 3.5 to 3.5.4"),
		What:    "a cluster of one acknowledges writes before they are on disk; a crash can lose them. A second voter ends it",
		Do:      "upgrade to 3.4.21, 3.5.5 or later",
		Issues:  issues(14370, 14400),
	},
	{
		Name: "defragment-crash", Severity: Warn,
		Servers: MustRange("3.5 to 3.5.5"), Joiner: MustRange("3.5 to 3.5.5"),
		What:   "a crash while a member defragments can leave it with another revision than the others",
		Do:     "upgrade to 3.5.6 or later; do not defragment before",
		Issues: issues(14733),
	},
	{
		Name: "partial-transaction", Severity: Warn,
		Servers: MustRange("3.5 to 3.5.16"), Joiner: MustRange("3.5 to 3.5.16"),
		What:   "a write transaction that fails halfway panics the server, which after its restart counts it as applied: the members' data differs",
		Do:     "upgrade to 3.5.17 or later",
		Issues: issues(18679, 18667),
	},
	{
		Name: "defragment-during-snapshot", Severity: Warn,
		Joiner: MustRange("3.4 to 3.4.37, 3.5 to 3.5.22, 3.6 to 3.6.4"),
		What:   "to defragment a member while it takes in a snapshot can corrupt its database",
		Do:     "do not defragment the joiner before it serves, or start it with 3.4.38, 3.5.23, 3.6.5 or later",
		Issues: issues(20271),
	},
	{
		Name: "stale-reads", Severity: Warn,
		Servers: MustRange("3.4 to 3.4.41, 3.5 to 3.5.27, 3.6 to 3.6.8"), Joiner: MustRange("3.4 to 3.4.41, 3.5 to 3.5.27, 3.6 to 3.6.8"),
		What:   "a linearizable read, the member list too, can be stale when leadership changes just then, or after a process stood still",
		Do:     "upgrade to 3.4.42, 3.5.28, 3.6.9 or later",
		Issues: issues(20418, 21375),
	},
	{
		Name: "snapshot-not-durable", Severity: Warn,
		Joiner: MustRange("3.4, 3.5 to 3.5.34, 3.6 to 3.6.15, 3.7 to 3.7.2"),
		What:   "a power loss while the joiner takes in a snapshot can leave it without the file its log speaks of; it does not start again and has to be removed, wiped and added anew",
		Do:     "start the joiner with 3.5.35, 3.6.16, 3.7.3 or later",
		Issues: issues(22340),
	},
	{
		Name: "foreign-messages", Severity: Warn,
		Joiner: MustRange("3.4 to 3.4.31, 3.5 to 3.5.13"),
		What:   "a server takes raft messages meant for another member ID; under a URL that a removed member had, it can panic: \"tocommit is out of range\"",
		Do:     "stop every process of the former member first, or start the joiner with 3.4.32, 3.5.14 or later",
		Issues: issues(17081, 17078),
	},
	{
		Name: "ipv6-spelling", Severity: Warn,
		Joiner: MustRange("3.4 to 3.4.23, 3.5 to 3.5.7"),
		What:   "the joiner compares IPv6 peer URLs letter by letter and does not start if one is spelled in two ways",
		Do:     "spell IPv6 peer URLs as the member list does, or start the joiner with 3.4.24, 3.5.8 or later",
		Issues: issues(15127, 15153),
	},

	// The joiner keeps clear of these by itself, or notices.
	{
		Name: "unstarted-learner-promotable", Severity: Note,
		Servers: MustRange("3.4 to 3.4.23, 3.5 to 3.5.6"),
		What:    "a learner that was just added and never ran counts as caught up; promoted, it is a dead voter",
		Do:      "give a vote only to a member that answered",
		Issues:  issues(15096, 15097),
	},
	{
		Name: "update-unlearns", Severity: Note,
		Servers: MustRange("3.4, 3.5 to 3.5.30, 3.6 to 3.6.11"),
		What:    "a member update takes a learner's mark off: listed as a voter, without a vote, and it can never be promoted",
		Do:      "never update a learner; if it happened, remove it and add it again",
		Issues:  issues(21694),
	},
	{
		Name: "promote-through-follower", Severity: Note,
		Servers: MustRange("3.4, 3.5 to 3.5.27, 3.6 to 3.6.5"),
		What:    "with auth on, a promotion sent to a follower fails after seven seconds, whatever the reason",
		Do:      "send it to the leader",
		Issues:  issues(20757, 14070),
	},
	{
		Name: "change-dropped", Severity: Note,
		Servers: MustRange("3.4, 3.5"),
		What:    "a membership change sent right after another can be dropped, and its call hangs to its deadline",
		Do:      "look again after a timeout, and only then repeat",
		Issues:  issues(15528),
	},
	{
		Name: "add-needs-all-voters", Severity: Note,
		Servers: MustRange("3.4, 3.5 to 3.5.29, 3.6 to 3.6.10"),
		What:    "no member, learner or voter, can be added while any voter is down",
		Do:      "bring the voter back, or remove it first",
		Issues:  issues(16798, 10114),
	},
	{
		Name: "reads-need-root", Severity: Note,
		Servers: MustRange("3.4.42 to 3.4.45, 3.5.28 to 3.5.31, 3.6 to 3.6.11"),
		What:    "with auth on, the status and in some of these releases the member list are for root only, as membership changes are in all",
		Do:      "join as a user with the root role",
		Issues:  []string{"https://nvd.nist.gov/vuln/detail/CVE-2026-33413"},
	},
	{
		Name: "applied-index-gap", Severity: Note,
		Joiner: MustRange("3.6+"),
		What: "after a snapshot beyond index 5000 the joiner takes itself for far behind, refuses its own requests and keeps its client port silent: " +
			"seven seconds, on an idle cluster until anything is written",
		Do:     "do not insist on the client port before the promotion, which ends it; a write does too",
		Issues: issues(16436, 18534, 15929), // the nearest; it has no issue of its own
	},
	{
		Name: "learner-removes-itself", Severity: Note,
		Servers: MustRange("3.6"), Joiner: MustRange("3.6"), Together: true,
		What:   "seen once, not explained: a learner ended itself as \"removed\" after a snapshot that did not have it. It had no vote, so no quorum is lost",
		Do:     "if it happens, compare the members' own lists, then wipe the joiner and join again",
		Issues: issues(21610),
	},
	{
		Name: "readyz-fails-on-learner", Severity: Note,
		Joiner: MustRange("3.5.19+, 3.6.0+"),
		What:   "/readyz fails until the member votes; a startup or liveness probe on it restarts a healthy learner",
		Do:     "probe /livez, and keep /readyz for readiness",
		Issues: changeLog("3.5"),
	},
	{
		Name: "wiped-disk-panic", Severity: Note,
		Joiner: MustRange("3.4+"),
		What:   "a member that comes back under its ID without its data panics at each start: \"tocommit is out of range\"",
		Do:     "remove it and add it again, under a new ID",
		Issues: issues(21178, 20269),
	},
	{
		Name: "status-panic-when-removed", Severity: Note,
		Joiner: MustRange("3.4+"),
		What:   "a status call can panic a server just as it leaves its own member list",
		Do:     "nothing: it has been removed",
		Issues: issues(22205),
	},
	{
		Name: "same-name-panic", Severity: Note,
		Servers: MustRange("3.4+"),
		What:    "two members of one name can panic a server",
		Do:      "give every member a name of its own",
		Issues:  issues(13757),
	},
	{
		Name: "learner-limits-differ", Severity: Note,
		Servers: MustRange("3.6.0-rc.3+"),
		What:    "each server counts learners against its own --max-learners when it applies an add; where the values differ the members' lists do too, unseen",
		Do:      "give every server the same value, 3.5 knows only one",
		Issues:  issues(13148, 13377),
	},
	{
		Name: "force-new-cluster-keeps-learners", Severity: Note,
		Servers: MustRange("3.4, 3.5 to 3.5.24, 3.6 to 3.6.5"),
		What:    "a cluster rescued with --force-new-cluster keeps its learners, of which one holds the slot; before 3.4.14 the rescue panics",
		Do:      "remove a learner that nobody runs",
		Issues:  issues(20893, 12285),
	},
}
