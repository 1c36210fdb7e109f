package clustertest

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// nearEnough is how far behind, in time, a member may be when it gets its vote
// before the witness counts it as lagging.
const nearEnough = 250 * time.Millisecond

// witness remembers what should never have happened.
type witness struct {
	lost bool
	bad  []string
}

// watch looks at the quorum after every change.
func (c *Cluster) watch() {
	if len(c.nodes) > 0 && !c.hasQuorum() {
		c.lost = true
	}
}

// judge looks at a member that is being given a vote.
func (c *Cluster) judge(n *node) {
	p := c.proc(n.ID)
	why := ""
	switch {
	case p == nil:
		why = "no server runs as it"
	case !p.up():
		why = "its server is stopped or about to crash"
	case c.knob(n.ID).cut:
		why = "its peer link is cut"
	default:
		if s := c.untilApplied(p, c.commit-1); s > nearEnough.Seconds() {
			why = fmt.Sprintf("it has applied %d of %d", int(p.host.data.applied), int(c.commit))
			if !math.IsInf(s, 1) {
				why += fmt.Sprintf(", %.1f s behind", s)
			}
		}
	}
	if why != "" {
		c.bad = append(c.bad, fmt.Sprintf("member %s was given a vote: %s", n.ID, why))
	}
}

// QuorumLost reports whether fewer voters than a quorum have been live at any
// moment so far.
func (c *Cluster) QuorumLost() bool {
	var lost bool
	c.with(func() { lost = c.lost })
	return lost
}

// VotesGivenToDead are the promotions so far of members whose server did not run,
// was paused or cut off, or lagged by more than a quarter of a second.
func (c *Cluster) VotesGivenToDead() []string {
	var bad []string
	c.with(func() { bad = slices.Clone(c.bad) })
	return bad
}
