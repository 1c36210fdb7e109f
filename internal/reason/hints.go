package reason

import (
	"errors"

	"github.com/etcdjoin/etcdjoin/version"
)

// hints answer "what now?" for each reason; the first that matches is given.
var hints = []struct {
	reason error
	hint   string
}{
	{version.ErrNoVersion, "check that this host reaches the members' client URLs"},
	{ErrUnsupported, "upgrade every member to etcd 3.4 or later, or use VotingJoiner"},
	{ErrSkew, "start the same minor version as the cluster, or one above it"},
	{ErrHazard, "upgrade as the hazard says, or name it in Config.AcceptHazards"},
	{ErrNameTaken, "choose another name, remove the old member, or set Config.SameName to ReplaceIfDead"},
	{ErrOtherName, "use that name, or remove the member first"},
	{ErrBadURL, "check the address that was given, and the server's version"},
	{ErrURLTaken, "check the address that was given"},
	{ErrVoter, "remove it by Remove if that is meant"},
	{ErrOtherWay, "join with the strategy named, or remove the entry first"},
	{ErrDataLost, "never start it under its old entry; remove the member, or set Config.Rejoin"},
	{ErrDataDamaged, "look at the directory; move it aside to join as a new member"},
	{ErrForeignData, "check the directory and the endpoints; move the data aside to join as a new member"},
	{ErrRemoved, "move the data aside, or set Config.Rejoin"},
	{ErrAddress, "start it under its old URLs, or set Config.UpdateAddress"},
	{ErrDiverged, "compare each voter's own list; see etcd #19557 and #20793 before anything is changed"},
	{ErrDowngrading, "finish or cancel the downgrade first: a member of this version could not start"},
	{ErrQuorumAtRisk, "bring dead members back or remove them first"},
	{ErrNoQuorum, "bring back enough voters; nothing can be changed before"},
	{ErrDenied, "membership needs the root role"},
	{ErrTLS, "check the CA, the certificates and their host names"},
	{ErrSlotTaken, "finish or remove that learner; etcd allows one at a time by default"},
	{ErrNotLive, "look at the server's log on the joining host, and at the network between"},
	{ErrStalled, "look at the joiner's disk and network"},
	{ErrCorrupt, "repair the corrupt member before any membership change"},
	{ErrWrongCluster, "check the endpoints"},
	{ErrGone, "ask who removed it; Join again adds it anew"},
	{ErrRoleDisagrees, "etcd #21694: remove the member and join again"},
	{ErrUnreachable, "check the endpoints and the network to them"},
}

func Hint(err error) string {
	for _, h := range hints {
		if errors.Is(err, h.reason) {
			return h.hint
		}
	}
	return ""
}
