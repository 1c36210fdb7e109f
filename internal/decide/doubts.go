package decide

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// Doubts are what does not forbid a join, and what a person should know before the
// first write: the same lines in a plan, in the events, and beside an error that they
// may explain.
func Doubts(c Case) (lines []string) {
	servers := c.Snapshot.ServerVersions()
	for _, h := range version.Hazards(servers, c.Policy.ServerVersion) {
		if h.Severity >= version.Warn {
			lines = append(lines, h.String())
		}
	}
	for _, k := range c.Knocks {
		if text := Noted(k); text != "" {
			lines = append(lines, text)
		}
	}
	lines = append(lines, alarms(c)...)
	lines = append(lines, addresses(c)...)
	if voters := len(c.Snapshot.Voters()) + 1; voters%2 == 0 && voters > 2 {
		lines = append(lines, fmt.Sprintf("%d voters will bear no more failures than %d: join one more soon", voters, voters-1))
	}
	for _, s := range c.Snapshot.Versions().Silent {
		lines = append(lines, fmt.Sprintf("%s did not tell its version", s))
	}
	return lines
}

// alarms are those that stop no join.
func alarms(c Case) []string {
	for _, m := range c.Snapshot.Members {
		for _, e := range m.Status.Errors { // every member tells of all
			if strings.Contains(e, "NOSPACE") {
				return []string{fmt.Sprintf("an alarm is on (%s): nobody can write until space is made and it is disarmed", strings.TrimSpace(e))}
			}
		}
	}
	return nil
}

// addresses are doubts about the peer URLs, ours beside the members'.
func addresses(c Case) (lines []string) {
	own, err := reason.PeerURLs(c.PeerURLs)
	if err != nil {
		return nil
	}
	others := c.Snapshot.OtherPeerURLs(0)
	notes, _ := peerurl.Check(own, others) // what it refuses was refused before
	if len(notes) > 0 {
		text := notes[0].String()
		if more := len(notes) - 1; more > 0 {
			text += fmt.Sprintf(", and so with %d more", more)
		}
		lines = append(lines, text)
	}
	schemes := map[string]bool{}
	for _, raw := range others {
		if u, err := url.Parse(raw); err == nil {
			schemes[u.Scheme] = true
		}
	}
	for _, u := range own {
		if len(schemes) > 0 && !schemes[u.Scheme()] || len(schemes) > 1 {
			return append(lines, fmt.Sprintf("peer URL %s is %s, and the members' are not all: who is refused by TLS on one side only can be voted in and then stop every change", u.Raw(), u.Scheme()))
		}
	}
	return lines
}
