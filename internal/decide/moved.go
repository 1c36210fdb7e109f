package decide

import (
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// moved decides where our data is that of a member listed under other URLs: its
// address changed. The entry is updated where the caller allows it. A learner
// below 3.5.31 or 3.6.12 is never: that would take its learner flag, and leave a
// member that the list calls a voter and raft does not (etcd #21694).
//
// Our data may be a copy, of a disk that was cloned, and the member alive where it is
// listed: two servers of one ID cost it its log. So its address is given away only where
// it could be removed: nobody answers at its listed URLs, nor has the leader heard of it.
func moved(c Case, why error) Act {
	held, _ := c.Snapshot.ByID(c.Data.MemberID)
	_, taken := c.Snapshot.ByURLs(c.PeerURLs)
	switch dropped := without(held.PeerURLs, c.PeerURLs); {
	case taken:
		return Refused(reason.Of(why, "and another member has ours"))
	case len(dropped) > len(without(c.PeerURLs, held.PeerURLs)):
		return Refused(reason.Of(why, "it has %s as well: name all of its URLs", strings.Join(dropped, " and ")))
	case !c.Policy.UpdateAddress || c.Snapshot.NoQuorum:
		return Refused(why)
	case held.Learner && !everyCan(c.Snapshot, held.ID, version.SafeMemberUpdateOfLearner):
		return Refused(reason.Of(why, "it is a learner, and a server below 3.5.31 or 3.6.12, or of unknown version, would lose its role (etcd #21694)"))
	}
	if err := conflicts(c, held); err != nil {
		return Refused(err)
	}
	if err := occupied(c); err != nil && !ourOwn(c) {
		return Refused(err)
	}
	switch q := held.Silence; {
	case held.Liveness == cluster.Alive:
		return Refused(reason.Of(why, "it answers where it is listed"))
	case q.Sign != "":
		return Refused(reason.Of(why, "%s: stop that server first", q.Sign))
	case q.Unheard(c.Snapshot.At):
		return Refused(reason.Of(why, "it is not known to be dead: %s", q.Deaf))
	case !c.Snapshot.Dead(held):
		return untilProven(c, held, why, cluster.DeadAfter)
	}
	return Act{Do: DoUpdate, Member: held.Member, Text: why.Error()}
}

// without are the URLs that are in none of the others' spellings.
func without(urls, others []string) []string {
	return slices.DeleteFunc(slices.Clone(urls), func(u string) bool {
		return slices.ContainsFunc(others, func(other string) bool { return peerurl.Same(u, other) })
	})
}

// partly says of which member our URLs are a part, and what is missing to be it.
func partly(c Case, ours cluster.ID, err error) error {
	for _, m := range c.Snapshot.Members {
		missing := without(m.PeerURLs, c.PeerURLs)
		if m.ID != ours && len(missing) > 0 && len(missing) < len(m.PeerURLs) {
			return reason.Of(err, "to be %s, name %s as well", m.Member, strings.Join(missing, " and "))
		}
	}
	return err
}
