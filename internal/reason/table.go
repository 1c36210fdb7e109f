package reason

import (
	"context"
	"errors"

	"github.com/etcdjoin/etcdjoin/version"
)

// Retry says who can end a reason.
type Retry string

const (
	Again  Retry = "again"  // it can heal by itself: worth an automatic retry
	Person Retry = "person" // a person must mend something, or set a policy
	Caller Retry = "caller" // the calling program's own mistake
)

// Row is one reason that an operation can end or wait for, with all that is told
// of it. The runbook has an entry for each, and is checked against these.
type Row struct {
	Err   error // what errors.Is finds
	Word  Word  // for machines; never changes
	Retry Retry
	Hint  string // what a person should do
}

// table is every reason there is.
var table []Row

// declare makes a reason: its text, and what is told of it.
func declare(word Word, retry Retry, text, hint string) error {
	return adopt(errors.New(text), word, retry, hint)
}

// adopt makes a reason of an error that stands elsewhere.
func adopt(err error, word Word, retry Retry, hint string) error {
	table = append(table, Row{err, word, retry, hint})
	return err
}

// All is the whole table.
func All() []Row { return append([]Row(nil), table...) }

// The reasons an operation ends or waits for; find them with errors.Is.
var (
	ErrUnsupported = adopt(version.ErrLearnerUnsupported, "Unsupported", Person,
		"upgrade every member to etcd 3.4 or later, or use VotingJoiner")
	ErrSkew = adopt(version.ErrSkew, "Skew", Caller,
		"start the same minor version as the cluster, or one above it")
	ErrHazard = adopt(version.ErrHazard, "Hazard", Person,
		"upgrade as the hazard says, or name it in Config.AcceptHazards")
	ErrNoVersion = adopt(version.ErrNoVersion, "NoVersion", Again,
		"check that this host reaches the members' client URLs")

	ErrUndecided = declare("Undecided", Again,
		"it is undecided whether the member is in the list",
		"look at the leader's member list for our peer URLs; Join again takes up what is there, Abort removes it")
	ErrNoQuorum = declare("NoQuorum", Again,
		"no quorum",
		"bring the voters that are named back; nothing can be changed before")
	ErrUnreachable = declare("Unreachable", Again,
		"no endpoint answers",
		"check the endpoints and the network to them")
	ErrWrongCluster = declare("WrongCluster", Caller,
		"another cluster answered",
		"check the endpoints")
	ErrWrongServer = declare("WrongServer", Person,
		"another server answers in the place of the member",
		"let its URLs lead to its own server: look at addresses, DNS and proxies")
	ErrTLS = declare("TLS", Person,
		"TLS refused",
		"check the CA, the certificates, their dates and host names")
	ErrDenied = declare("Denied", Person,
		"permission denied",
		"membership needs the root role")
	ErrDiverged = declare("Diverged", Person,
		"the voters' member lists differ",
		"compare each voter's own list; see etcd #19557 and #20793 before anything is changed")
	ErrNameTaken = declare("NameTaken", Person,
		"another member has this name",
		"choose another name, remove the old member, or set Config.SameName to ReplaceIfDead")
	ErrOtherName = declare("OtherName", Person,
		"our member runs under another name",
		"use that name, or remove the member first")
	ErrBadURL = declare("BadURL", Caller,
		"the server refuses the peer URL",
		"check the address that was given, and the server's version")
	ErrURLTaken = declare("URLTaken", Caller,
		"another member has this peer URL",
		"check the address that was given")
	ErrURLInUse = declare("URLInUse", Person,
		"something answers at the peer URL already",
		"stop what answers there, or give the address of the server to come; behind a proxy, let it answer 503 until there is one")
	ErrVoter = declare("Voter", Person,
		"the member votes",
		"remove it by Remove if that is meant")
	ErrOtherWay = declare("OtherWay", Caller,
		"this member was added by the other strategy",
		"join with the strategy named, or remove the entry first")
	ErrDataLost = declare("DataLost", Person,
		"the data of a started member is lost",
		"never start it under its old entry; remove the member, or set Config.Rejoin")
	ErrDataDamaged = declare("DataDamaged", Person,
		"the data directory is damaged",
		"look at the directory; move it aside to join as a new member")
	ErrForeignData = declare("ForeignData", Person,
		"the data directory belongs to another cluster",
		"check the directory and the endpoints; move the data aside to join as a new member")
	ErrRemoved = declare("Removed", Person,
		"the data directory belongs to a removed member",
		"move the data aside, or set Config.Rejoin")
	ErrAddress = declare("Address", Person,
		"our data belongs to a member with other peer URLs",
		"start it under its old URLs, or set Config.UpdateAddress")
	ErrDowngrading = declare("Downgrading", Again,
		"a downgrade of the cluster is under way",
		"finish or cancel the downgrade first: a member of this version could not start")
	ErrQuorumAtRisk = declare("QuorumAtRisk", Again,
		"quorum at risk",
		"bring the members that are named back, or remove those that are dead for good, first")
	ErrSlotTaken = declare("SlotTaken", Again,
		"another learner holds the slot",
		"finish it (learner.Promote), remove it, or set Config.Slot to EvictStalled; its age counts from when this joiner first saw it")
	ErrStalled = declare("Stalled", Again,
		"no movement",
		"look at the joiner's disk and network")
	ErrNotLive = declare("NotLive", Again,
		"not live",
		"look at the server's log on the joining host, and at the network between")
	ErrOneWay = declare("OneWay", Person,
		"the others cannot reach the member",
		"open its peer port to every other member, and check that they trust its peer certificate")
	ErrCorrupt = declare("Corrupt", Person,
		"CORRUPT alarm",
		"repair the corrupt member before any membership change")
	ErrGone = declare("Gone", Again,
		"our member was removed by somebody else",
		"ask who removed it; its old data must be moved aside first, which Config.Rejoin does: then Join again adds it anew")
	ErrRoleDisagrees = declare("RoleDisagrees", Person,
		"the list and the server disagree about the role",
		"etcd #21694: remove the member and join again")
)

// What is found where there is no reason of our own.
var (
	ErrClosed = declare("Closed", Caller,
		"the client is closed",
		"make a new client; close it only after the last operation has returned")
	ErrUnhealthy = declare("Unhealthy", Again,
		"etcd calls the cluster unhealthy",
		"etcd wants the members to be connected for five seconds: bring the silent ones back, or remove those that are dead")
	ErrNotListed = declare("NotListed", Again,
		"not every voter lists the new member yet",
		"it passes when that voter has caught up; one that stays behind is cut off from its peers")
	ErrEndpoint = declare("Endpoint", Caller,
		"an endpoint is no etcd client port",
		"give client URLs (port 2379, not 2380), with the scheme that the servers speak")
	ErrNotShown = declare("NotShown", Again,
		"a write was answered with success and the list does not show it",
		"compare each voter's own list; Join again once they agree")
	ErrHook = declare("Hook", Caller,
		"a hook of the caller failed",
		"look at what the hook says; Join again once it can succeed")
	errDeadline = adopt(context.DeadlineExceeded, "DeadlineExceeded", Again,
		"Join again: it goes on from where this call ended; give it more time")
	errCanceled = adopt(context.Canceled, "Canceled", Again,
		"Join again: it goes on from where this call ended")
	unknown = Row{nil, "Unknown", Again, "look at the last error; to call again is always right"}
)
