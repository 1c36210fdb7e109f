package cluster

import "time"

// Way says whether the others reach a member by dials of their own. A vote does not
// need it: the member's own dials carry entries one way and answers the other. But
// without it no snapshot reaches the member, and every later change of the cluster is
// refused as "unhealthy".
type Way string

const (
	WayUnproven Way = ""       // neither was seen
	WayProven   Way = "proven" // the leader has dialled it
	WayBroken   Way = "broken" // the leader was seen failing to
)

// firstProof is how long after the add the leader's prober may be believed: it asks
// every few seconds.
const firstProof = 5 * time.Second

// Dials is what the leaders' metrics have told of their dials to one member.
type Dials struct {
	leader    ID
	told      bool
	unreached bool
	bytes     uint64 // received from it
}

// Unreached reports whether the leader had no connection to the member when last asked.
// The member may have died since; one that has just answered is out of its reach, or has
// come up a moment ago.
func (d *Dials) Unreached() bool { return d.unreached }

// Way takes up one answer of the leader. Seen broken is: twice in a row the leader had
// no connection to the member, and between the two it has heard from it: the member
// speaks, by dials of its own. One that only lost its connection may be dead. Being
// connected proves nothing, for the member's own dial makes the leader say so, for up
// to nine seconds where its port only hangs; a round trip of the leader's own prober does.
func (d *Dials) Way(now time.Time, leader ID, p Peer, added time.Time) Way {
	unreached := p.Met && !p.Active
	broken := d.told && d.leader == leader && d.unreached && unreached && p.Received > d.bytes
	*d = Dials{leader, true, unreached, p.Received}
	switch {
	case broken:
		return WayBroken
	case p.RoundTrips > 0 && !unreached && now.Sub(added) >= firstProof:
		return WayProven
	}
	return WayUnproven
}
