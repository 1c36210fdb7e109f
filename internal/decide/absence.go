package decide

import (
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Absence is what shows that a member is not in the list. One list is none, not even
// a linearizable one: it can be as it was before, when leadership changes (etcd
// #20418). An ID that was once listed never comes back, so that what was shown stays
// true; a list with it ends all of this.
type Absence struct {
	First   time.Time       `json:"first,omitzero"` // when a list behind a barrier first lacked it
	Last    time.Time       `json:"last,omitzero"`  // when one last did
	On      cluster.Carrier `json:"on,omitempty"`   // the connection of the last barrier
	OnSince time.Time       `json:"onSince,omitzero"`
	Told    bool            `json:"told,omitempty"` // the server said so itself, to the remove of that ID
}

// apart is how far the two barriers of a proof are from each other.
const apart = time.Second

// Again is the absence after one more list behind a barrier that lacked the member.
func (a Absence) Again(at time.Time, on cluster.Carrier) Absence {
	if a.First.IsZero() {
		a.First = at
	}
	if a.OnSince.IsZero() || a.On != on {
		a.On, a.OnSince = on, at
	}
	a.Last = at
	return a
}

// Proven reports whether the member is gone, or was never there.
func (a Absence) Proven() bool {
	return a.Told || !a.First.IsZero() && a.Last.Sub(a.First) >= apart
}

// ProvenOn reports whether what was sent on that connection, before the barriers, has
// not happened either, and never will.
func (a Absence) ProvenOn(on cluster.Carrier) bool {
	return on != "" && a.On == on && !a.OnSince.IsZero() && a.Last.Sub(a.OnSince) >= apart
}

// AtOurURLs stands, among the absences, for whatever member has our peer URLs.
const AtOurURLs cluster.ID = 0

// prove has it proven that a member is not in the list, by one barrier now and one a
// second later.
func prove(c Case, id cluster.ID) Act {
	what := "member " + id.String()
	if id == AtOurURLs {
		what = "a member with our peer URLs"
	}
	why := reason.Of(reason.ErrUndecided, "%s is not in the list; to be proven before anything is done", what)
	if last := c.Absent[id].Last; !last.IsZero() && c.Snapshot.At.Sub(last) < apart {
		return WaitFor(cluster.Member{}, why)
	}
	return Act{Do: DoProve, Absent: id, Why: why, Text: why.Error()}
}

// vanished is where a member that this call removes is not in the list any more, and
// nobody has answered that it is gone.
func vanished(c Case) (Act, bool) {
	_, listed := c.Snapshot.ByID(c.Removing)
	if c.Removing == 0 || listed || c.Snapshot.NoQuorum || c.Absent[c.Removing].Proven() {
		return Act{}, false
	}
	return prove(c, c.Removing), true
}

// Known decides whether there is a member with this ID at all.
func Known(c Case, id cluster.ID) Act {
	switch m, found := c.Snapshot.ByID(id); {
	case found, c.Absent[id].Proven():
		return Act{Do: DoDone, Member: m.Member}
	case c.Snapshot.NoQuorum:
		return WaitFor(cluster.Member{}, reason.Of(reason.ErrNoQuorum, "the list may be stale"))
	}
	return prove(c, id)
}
