package decide

import (
	"errors"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// Case is all that a decision depends on: what a pass has found, what the caller
// wants, and the little that only this call can know.
type Case struct {
	Snapshot cluster.Snapshot
	Name     string           // empty: any, for a member that is known by its ID
	PeerURLs []string         // ours, as the caller spells them
	Only     cluster.ID       // the one member that this is about; 0: whoever has our URLs
	Data     cluster.DataInfo // what our data directory holds
	Policy   Policy

	Blind     error      // why nobody could be asked; nil: Snapshot is what was found
	Started   cluster.ID // the entry that Start was called for by this call
	Unshown   bool       // no list has shown that entry yet, since the add was answered
	Removing  cluster.ID // whom this call has asked to be removed, and nobody has said that it is
	Absent    map[cluster.ID]Absence
	SlotLimit int                // learners in the cluster when etcd last said "too many"; 0: it never did
	Proof     *Proof             // of a read through our learner in this pass
	Stranger  error              // who answers at our peer URLs in our member's place, nil if nobody does
	Served    bool               // our voter answered a linearizable list in this pass
	Survey    *cluster.Survey    // of this pass, nil if nothing was asked
	Initial   string             // the initial cluster a start would get now
	Given     string             // the one that the last start got; empty: there was none
	Starts    int                // how often Start was called for the entry
	Replaced  bool               // this call has removed an entry of ours because its log was lost
	Knocks    []cluster.Knock    // at our URLs in this pass, nil if nobody knocked
	CanStop   bool               // there is a hook that stops the server of our host
	Leaving   bool               // this call has removed or stopped a member there a moment ago
	Exit      *cluster.ExitError // how the server process that was started ended; nil: it runs, or nobody knows
	Progress  cluster.Progress
	Way       cluster.Way   // whether the leader reaches our member by its own dials
	Unreached bool          // the leader had no connection to it when last asked
	Voteless  time.Duration // for how long our voter's own metrics have called it a learner; 0: they do not
}

// Do is what an act does.
type Do string

const (
	DoRefuse     Do = "refuse"
	DoProve      Do = "prove absence"
	DoWait       Do = "wait"
	DoAddLearner Do = "add learner"
	DoAddVoter   Do = "add voter"
	DoRemove     Do = "remove"
	DoUpdate     Do = "update peer URLs"
	DoArchive    Do = "archive"
	DoStart      Do = "start"
	DoPromote    Do = "promote"
	DoMoveLeader Do = "move leader"
	DoDone       Do = "done"
)

// Act is the one thing to do next.
type Act struct {
	Do     Do
	Member cluster.Member // the entry concerned, zero for an add
	Why    error          // of DoRefuse the error; of DoWait what is missing
	Text   string         // for a person
	Absent cluster.ID     // of DoProve: whose absence
	// Suspect is whose death, or never having run, is waited for to be proven: the
	// looks from now on listen for it. 0: nobody's.
	Suspect cluster.ID
}

// Writes reports whether the act changes the membership or the leader.
func (a Act) Writes() bool {
	switch a.Do {
	case DoAddLearner, DoAddVoter, DoRemove, DoUpdate, DoPromote, DoMoveLeader:
		return true
	}
	return false
}

// Refused ends the join for a reason.
func Refused(err error) Act { return Act{Do: DoRefuse, Why: err, Text: err.Error()} }

// WaitFor looks again later; err says what is missing, and is the reason the
// join ends for if it never comes.
func WaitFor(m cluster.Member, err error) Act {
	return Act{Do: DoWait, Member: m, Why: err, Text: err.Error()}
}

// StartIt has the entry's server started.
func StartIt(m cluster.Member, why string) Act { return Act{Do: DoStart, Member: m, Text: why} }

// RemoveIt removes the entry, if the quorum survives that.
func RemoveIt(c Case, m cluster.Member, why string) Act {
	f := cluster.Foresee(c.Snapshot, cluster.ToRemove, m)
	if f.Worst < 0 || f.Refused != "" {
		return Refused(beside(c, reason.Of(reason.ErrQuorumAtRisk, "%s: %s%s", why, f, Silent(c))))
	}
	return Act{Do: DoRemove, Member: m, Text: why}
}

// A Strategy is what differs between the ways into a cluster; all else is one
// engine. Its methods are pure.
type Strategy interface {
	// Absent decides for an entry that does not exist.
	Absent(Case) Act
	// Found decides for our entry, a learner or one that never ran, that this
	// call has not started yet.
	Found(Case, cluster.Seen) Act
	// Learner decides for our learner once this call has started its server.
	Learner(Case, cluster.Seen) Act
}

// Next is the decision table: what to do next, given what was found. It is
// level-triggered: it knows nothing of what we believe we did, so that a crash at
// any point needs no case of its own.
func Next(c Case, s Strategy) Act {
	if c.Blind != nil {
		return blind(c)
	}
	if act, open := vanished(c); open {
		return act
	}
	ours, found, refused := identify(c)
	switch {
	case errors.Is(refused, reason.ErrAddress):
		return moved(c, refused)
	case refused != nil:
		return Refused(refused)
	case c.Snapshot.NoQuorum:
		return withoutQuorum(c, ours, found)
	case !found:
		return absent(c, s)
	case c.Exit != nil:
		return ended(c, s, ours)
	case !ours.Started():
		return unstarted(c, s, ours)
	case c.Data.Kind == cluster.DataMember && c.Data.MemberID != ours.ID:
		return notItsData(c, ours)
	case ours.Learner:
		return learner(c, s, ours)
	}
	return voter(c, s, ours)
}

// identify finds our entry: the one whose ID our data directory holds, else the
// one whose set of peer URLs is ours. Never by name, never by one URL of several.
func identify(c Case) (ours cluster.Seen, found bool, refused error) {
	switch {
	case c.Data.Kind == cluster.DataDamaged:
		return ours, false, reason.Of(reason.ErrDataDamaged, "%s", c.Data.Reason)
	case c.Data.Kind == cluster.DataMember && c.Data.ClusterID != c.Snapshot.ClusterID:
		return ours, false, reason.Of(reason.ErrForeignData, "it holds member %s of cluster %s, the endpoints are of cluster %s",
			c.Data.MemberID, c.Data.ClusterID, c.Snapshot.ClusterID)
	}
	byURL, listed := c.Ours()
	if c.Only != 0 && !listed {
		return byURL, false, nil // who has its URLs now is no matter
	}
	if c.Data.Kind == cluster.DataMember {
		byData, alive := c.Snapshot.ByID(c.Data.MemberID)
		if alive && (!listed || byData.ID != byURL.ID) {
			return ours, false, reason.Of(reason.ErrAddress, "it holds %s", byData.Member)
		}
	}
	return byURL, listed, conflicts(c, byURL)
}

// Ours is our entry in the list of this pass.
func (c Case) Ours() (cluster.Seen, bool) {
	if c.Only != 0 {
		return c.Snapshot.ByID(c.Only)
	}
	return c.Snapshot.ByURLs(c.PeerURLs)
}

// conflicts refuses a name or an address that somebody else has.
func conflicts(c Case, ours cluster.Seen) error {
	if c.Name != "" && ours.Started() && ours.Name != c.Name && (c.Data.Kind != cluster.DataMember || c.Data.MemberID != ours.ID) {
		return reason.Of(reason.ErrOtherName, "%s is not %q, and %s", ours.Member, c.Name, runs(ours))
	}
	own, err := reason.PeerURLs(c.PeerURLs)
	if err != nil {
		return err
	}
	if _, err := peerurl.Check(own, c.Snapshot.OtherPeerURLs(ours.ID)); err != nil {
		var broken *peerurl.Error
		if errors.As(err, &broken) && broken.Rule == peerurl.RuleTaken {
			return partly(c, ours.ID, reason.Because(reason.ErrURLTaken, err))
		}
		return reason.InputOf(err)
	}
	return nil
}

// runs says whether a member's server is known to run.
func runs(m cluster.Seen) string {
	switch m.Liveness {
	case cluster.Alive:
		return "it runs"
	case cluster.Dead:
		return "it does not run"
	}
	return "nobody answers there"
}

// ended decides where the server process is known to have ended. One that panics
// on "tocommit" has lost the log that the others remember.
func ended(c Case, s Strategy, ours cluster.Seen) Act {
	switch {
	case crashes(c, ours) && !c.Replaced:
		return lostDisk(c, s, ours)
	case outdated(c, ours):
		return StartIt(ours.Member, "the member list has changed since it was started")
	}
	return Refused(c.Exit)
}

// mostStarts is how often a server is started whose initial cluster was outdated
// before it looked.
const mostStarts = 5

// outdated reports whether the list has changed between a start and the server's own
// look at it: then it exits with "member count is unequal" and has written nothing
// (E§2.4). Once it has published itself, or answers, it has passed that.
func outdated(c Case, ours cluster.Seen) bool {
	return c.Started == ours.ID && !ours.Started() && c.Progress.Phase == cluster.NotStarted &&
		c.Given != "" && c.Given != c.Initial && c.Starts < mostStarts
}

// blind decides where nobody can be asked. One thing can only help: to start our own
// intact data. After a power cut every host comes up like this, and someone must be
// first; etcd reads no initial cluster then, and a member that was removed meanwhile
// learns that from the others.
func blind(c Case) Act {
	if c.Data.Kind == cluster.DataMember && c.Started != c.Data.MemberID {
		m := cluster.Member{ID: c.Data.MemberID, Name: c.Name, PeerURLs: c.PeerURLs}
		return StartIt(m, "its data is intact, and nobody answers")
	}
	return WaitFor(cluster.Member{}, c.Blind)
}

// restarts reports whether our own intact data is to be started: it is of the entry,
// and nobody answers for that.
func restarts(c Case, ours cluster.Seen) bool {
	return c.Data.Kind == cluster.DataMember && c.Data.MemberID == ours.ID &&
		ours.Liveness != cluster.Alive && c.Started != ours.ID
}

// withoutQuorum permits two things, both starts that can only help: our own intact
// data, and our own entry that never ran. That
// heals the cluster if it was waiting for exactly this voter, as a joiner of the
// old way leaves it that died between add and start in a one-member cluster. Any
// Member may start at any time, so it can do no harm; every other act needs facts
// that nobody has without a quorum.
func withoutQuorum(c Case, ours cluster.Seen, found bool) Act {
	none := beside(c, reason.Of(reason.ErrNoQuorum, "%d of %d voters answer and know no leader%s", len(c.Snapshot.LiveVoters()), len(c.Snapshot.Voters()), Silent(c)))
	other, taken := c.Snapshot.ByName(c.Name)
	switch {
	case found && restarts(c, ours):
		return StartIt(ours.Member, "its data is intact, and the cluster has no quorum without it")
	case c.Exit != nil: // nobody will wait for the quorum any more
		return Refused(c.Exit)
	case !found || ours.Started() || c.Started == ours.ID || c.Data.Kind == cluster.DataMember && c.Data.MemberID != ours.ID:
		return WaitFor(ours.Member, none)
	case taken: // by another, for ours has none
		return WaitFor(ours.Member, reason.Of(reason.ErrNameTaken, "%s", other.Member))
	}
	return StartIt(ours.Member, "it never ran, and the cluster has no quorum without it")
}

// absent decides for an entry that does not exist.
func absent(c Case, s Strategy) Act {
	if c.Started != 0 {
		// To add again what somebody removed on purpose would undo an operator.
		if !c.Absent[c.Started].Proven() {
			return prove(c, c.Started)
		}
		if c.Unshown {
			return Refused(reason.Of(reason.ErrNotShown, "the add of member %s", c.Started))
		}
		return Refused(reason.Of(reason.ErrGone, "member %s is not in the list any more", c.Started))
	}
	gone := reason.Of(reason.ErrRemoved, "it holds member %s, which is not in the list", c.Data.MemberID)
	if c.Data.Kind == cluster.DataMember && !c.Policy.Rejoin {
		return archive(c, cluster.Member{}, gone)
	}
	next, hopeless := prospect(c, s)
	if hopeless {
		return next
	}
	if act, taken := nameTaken(c, 0); taken {
		return act
	}
	holders := c.Snapshot.Learners()
	switch {
	case next.Do == DoRefuse:
		return next
	case c.Data.Kind == cluster.DataMember:
		return archive(c, cluster.Member{}, gone)
	case c.SlotLimit > 0 && len(holders) >= c.SlotLimit:
		return slot(c, holders)
	}
	return next
}

// prospect is how our entry would be added, and whether there is no hope of it:
// nothing is removed or moved aside for a join that cannot be. A quorum at risk
// is not hopeless, for to remove a dead member may mend it.
func prospect(c Case, s Strategy) (next Act, hopeless bool) {
	switch err := preflight(c); {
	case errors.Is(err, version.ErrNoVersion):
		return WaitFor(cluster.Member{}, err), true
	case err != nil:
		return Refused(err), true
	case c.Survey != nil && c.Survey.Diverged != nil && c.Survey.For < cluster.SettleLists:
		return WaitFor(cluster.Member{}, c.Survey.Diverged), true
	case c.Survey != nil && c.Survey.Diverged != nil:
		return Refused(c.Survey.Diverged), true
	case occupied(c) != nil && !(c.CanStop && ourOwn(c)):
		return busy(c), true
	}
	next = s.Absent(c)
	return next, next.Do == DoWait || next.Do == DoRefuse && !errors.Is(next.Why, reason.ErrQuorumAtRisk)
}

// busy decides where our URLs are somebody's. A server that ends because its member
// was removed may answer for a moment more.
func busy(c Case) Act {
	err := occupied(c)
	if c.Leaving {
		return WaitFor(cluster.Member{}, err)
	}
	return Refused(err)
}

// archive moves data aside that must never be started again, if the caller allows it.
// Either end needs proof that its member is gone.
func archive(c Case, m cluster.Member, why error) Act {
	if !c.Absent[c.Data.MemberID].Proven() {
		return prove(c, c.Data.MemberID)
	}
	if !c.Policy.Rejoin {
		return Refused(why)
	}
	return Act{Do: DoArchive, Member: m, Text: why.Error()}
}

// nameTaken decides where another entry has our name: etcd merges two entries of
// one name in the initial cluster, and panics where both publish it.
func nameTaken(c Case, ours cluster.ID) (Act, bool) {
	other, ok := c.Snapshot.ByName(c.Name)
	if !ok || other.ID == ours {
		return Act{}, false
	}
	taken := reason.Of(reason.ErrNameTaken, "%s", other.Member)
	if c.Policy.SameName != ReplaceIfDead {
		return Refused(taken), true
	}
	return mayRemove(c, other, taken), true
}

// slot decides while other learners fill what the servers allow.
func slot(c Case, holders []cluster.Seen) Act {
	err := &cluster.SlotError{}
	for _, h := range holders {
		lag, known := c.Snapshot.Lag(h)
		err.Holders = append(err.Holders, cluster.Holder{Member: h.Member, Lag: lag, Lags: known, Seen: c.Snapshot.At.Sub(h.Since)})
	}
	switch c.Policy.Slot {
	case SlotFail:
		return Refused(err)
	case EvictStalled:
		for _, h := range holders {
			if act := evict(c, h, err); act.Do == DoRemove || act.Do == DoWait {
				return act
			}
		}
	}
	return WaitFor(holders[0].Member, err)
}

// evict decides whether a learner that never ran may lose its slot. One that runs, or
// may be about to, keeps it.
func evict(c Case, h cluster.Seen, taken error) Act {
	age := c.Snapshot.At.Sub(h.Since)
	if h.Started() || age < c.Policy.EvictAfter-cluster.DeadAfter {
		return Refused(taken)
	}
	act := mayRemove(c, h, taken)
	if act.Do == DoRemove && age < c.Policy.EvictAfter {
		return WaitFor(h.Member, taken)
	}
	return act
}

// unstarted decides for our entry while it has never published itself.
func unstarted(c Case, s Strategy, ours cluster.Seen) Act {
	if act, taken := nameTaken(c, ours.ID); taken {
		return act
	}
	switch {
	case c.Data.Kind == cluster.DataMember && c.Data.MemberID != ours.ID:
		return archive(c, ours.Member, reason.Of(reason.ErrRemoved, "it holds member %s, the entry is %s", c.Data.MemberID, ours.ID))
	case c.Started != ours.ID && !ours.Learner && holds(c, ours.ID):
		return StartIt(ours.Member, "its data shows that it has run")
	case c.Started != ours.ID:
		return s.Found(c, ours)
	case outdated(c, ours):
		return StartIt(ours.Member, "the member list has changed since it was started")
	case ours.Learner:
		return s.Learner(c, ours)
	}
	return silent(c, ours)
}

// learner decides for our learner that has run before.
func learner(c Case, s Strategy, ours cluster.Seen) Act {
	switch {
	case c.Data.Kind == cluster.DataEmpty && c.Started != ours.ID:
		// A member whose log is gone must never start under its old ID: it
		// panics "tocommit is out of range" for ever (P-E13, etcd #21178).
		return lostDisk(c, s, ours)
	case c.Started != ours.ID:
		return s.Found(c, ours)
	}
	return s.Learner(c, ours)
}

func lostDisk(c Case, s Strategy, ours cluster.Seen) Act {
	lost := reason.Of(reason.ErrDataLost, "%s has run before, and its data is gone", ours.Member)
	switch next, hopeless := prospect(c, s); {
	case !c.Policy.Rejoin:
		return Refused(lost)
	case hopeless:
		return next
	case !ours.Learner && ours.Liveness == cluster.Alive:
		return Refused(reason.Advise(reason.Of(reason.ErrVoter, "%s answers: the data directory looked at is not its own", ours.Member),
			"check what Config.DataDir looks at, and whether the peer URL is another host's"))
	}
	return mayRemove(c, ours, lost)
}

// notItsData decides where our data directory holds a removed member, and not
// the one that has run under our URLs. To start it would start the wrong one.
func notItsData(c Case, ours cluster.Seen) Act {
	other := reason.Of(reason.ErrRemoved, "it holds member %s, the entry is %s", c.Data.MemberID, ours.Member)
	if ours.Liveness == cluster.Alive && c.Absent[c.Data.MemberID].Proven() {
		return Refused(reason.Of(other, "which answers: the data directory looked at is not its own"))
	}
	return archive(c, ours.Member, other)
}

// silent waits for a server of ours that does not answer, or names who answers at its
// URLs in its place.
func silent(c Case, ours cluster.Seen) Act {
	if c.Stranger != nil {
		return Closed(ours.Member, c.Stranger)
	}
	return WaitFor(ours.Member, &cluster.StallError{Progress: c.Progress})
}

// voter decides for our entry that votes.
func voter(c Case, s Strategy, ours cluster.Seen) Act {
	switch {
	case c.Data.Kind == cluster.DataEmpty && c.Started != ours.ID:
		return lostDisk(c, s, ours)
	case c.Voteless > 0:
		return voteless(c, ours)
	case c.Policy.ReturnAt == Promoted && c.Started == ours.ID:
		return Act{Do: DoDone, Member: ours.Member}
	case ours.Liveness == cluster.Alive && ours.Status.Learner:
		// The list says voter, the server says learner: it has not applied its
		// promotion yet, or MemberUpdate took its flag (etcd #21694).
		return WaitFor(ours.Member, reason.Of(reason.ErrRoleDisagrees, "%s has not applied its promotion yet, it says", ours.Member))
	case ours.Liveness == cluster.Alive && c.Served:
		return Act{Do: DoDone, Member: ours.Member}
	case ours.Liveness == cluster.Alive:
		return WaitFor(ours.Member, reason.Of(reason.ErrNotLive, "%s answers, but no linearizable list through it yet", ours.Member))
	case c.Started != ours.ID:
		return StartIt(ours.Member, "it votes, and does not answer")
	}
	return silent(c, ours)
}
