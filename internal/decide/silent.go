package decide

import (
	"strings"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// Silent names the voters that the quorum cannot count on, each with its address and
// what came of asking it; empty where there are none.
func Silent(c Case) string {
	var who []string
	for _, m := range c.Snapshot.Voters() {
		switch {
		case c.Snapshot.InContact(m), c.Snapshot.NoQuorum && m.Liveness == cluster.Alive:
		case m.Liveness == cluster.Alive:
			who = append(who, m.Member.String()+" answers, and is cut off from its peers")
		case m.Err != nil:
			who = append(who, m.Member.String()+" does not answer: "+m.Err.Error())
		case len(m.ClientURLs) == 0:
			who = append(who, m.Member.String()+" has no client URL")
		default:
			who = append(who, m.Member.String()+" does not answer at "+strings.Join(m.ClientURLs, ","))
		}
	}
	if len(who) == 0 {
		return ""
	}
	return "; " + strings.Join(who, "; ")
}
