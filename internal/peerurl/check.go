package peerurl

// Note is something about a joiner's URL that is allowed, but worth saying.
type Note struct {
	Own   string // the joiner's URL
	Other string // a member's
	Text  string // what is worth saying of the two
}

func (n Note) String() string { return "peer URL " + n.Own + ": " + n.Text + " " + n.Other }

// Check holds a joiner's own URLs to the rules that need the other members'
// URLs beside them:
//
//   - an unspecified address is refused: the others dial what is listed;
//   - a loopback address or unix socket is refused where a member is not on one,
//     for that member could never reach the joiner;
//   - another member's host and port is refused, in any spelling and scheme: two
//     servers cannot listen there, and one would answer for the other.
//
// Noted are another member's host with another port, and a member that only its
// own machine can reach. Names are not resolved; localhost counts as 127.0.0.1
// and ::1. Members' URLs that cannot be read, which another tool may have
// listed, are passed over. An error is an [*Error].
func Check(own []URL, others []string) ([]Note, error) {
	members := readable(others)
	var notes []Note
	for _, u := range own {
		if err := checkReach(u, members); err != nil {
			return nil, err
		}
		if err := checkTaken(u, members); err != nil {
			return nil, err
		}
		notes = append(notes, notesOn(u, members)...)
	}
	return notes, nil
}

func readable(raw []string) []URL {
	urls := make([]URL, 0, len(raw))
	for _, text := range raw {
		if u, err := Parse(text); err == nil {
			urls = append(urls, u)
		}
	}
	return urls
}

func checkReach(u URL, members []URL) error {
	if u.Unspecified() {
		return refuse(u.raw, RuleUnspecified, "")
	}
	if !u.Loopback() {
		return nil
	}
	for _, m := range members {
		if !m.Loopback() {
			return refuse(u.raw, RuleLoopback, "a member listens on "+m.raw)
		}
	}
	return nil
}

func checkTaken(u URL, members []URL) error {
	for _, m := range members {
		if sameHost(u, m) && u.port == m.port {
			return refuse(u.raw, RuleTaken, "it is listed as "+m.raw)
		}
	}
	return nil
}

func notesOn(u URL, members []URL) []Note {
	var notes []Note
	for _, m := range members {
		switch {
		case sameHost(u, m):
			notes = append(notes, Note{u.raw, m.raw, "the same host as another member's"})
		case !u.Loopback() && m.Loopback():
			notes = append(notes, Note{u.raw, m.raw, "the joiner cannot reach a member listed as"})
		}
	}
	return notes
}

func sameHost(a, b URL) bool {
	return a.Unix() == b.Unix() && (a.host == b.host || a.isLocalhost(b) || b.isLocalhost(a))
}

// isLocalhost reports whether a is the name and b an address it stands for.
func (u URL) isLocalhost(b URL) bool {
	return u.host == "localhost" && (b.host == "127.0.0.1" || b.host == "::1")
}
