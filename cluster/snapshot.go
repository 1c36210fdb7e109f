package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// WriteTo is the leader, if it can be dialled; else another voter that can; else
// whoever the caller's client reaches.
func WriteTo(s Snapshot) (Target, string) {
	if m, ok := s.ByID(s.Leader); ok && m.Liveness == Alive && m.Status.ID != 0 {
		return m.Target, "the leader " + m.ID.String()
	}
	for _, m := range s.askable() {
		if m.Status.ID != 0 {
			return m.Target, fmt.Sprintf("voter %s, for the leader %s cannot be dialled", m.ID, s.Leader)
		}
	}
	return s.own(), "the caller's endpoints, for no voter can be dialled"
}

// Seen is a member with everything a look knows of it, and how old that is.
type Seen struct {
	Member
	Target   Target    `json:"-"` // where it is dialled
	Liveness Liveness  `json:"liveness"`
	Status   Status    `json:"status,omitzero"`  // the last answer under its own ID; zero if it never answered
	At       time.Time `json:"at,omitzero"`      // when that answer came; zero if it never answered
	Err      error     `json:"-"`                // of the last request, if that failed; in JSON its word, text and hint
	Since    time.Time `json:"since,omitzero"`   // when this look's series first saw the entry
	Silence  Silence   `json:"silence,omitzero"` // what is held against it, where that was asked for
	Led      bool      `json:"led,omitempty"`    // this look's series has seen it leading: it votes
}

// MarshalJSON is the member for another program.
func (s Seen) MarshalJSON() ([]byte, error) {
	type plain Seen
	return json.Marshal(struct {
		plain
		Err *reason.Told `json:"error,omitempty"`
	}{plain(s), reason.Tell(s.Err)})
}

// Voting reports whether the entry exists and votes.
func (s Seen) Voting() bool { return s.ID != 0 && !s.Learner }

// Answered reports whether the member has ever answered this series of looks.
func (s Seen) Answered() bool { return !s.At.IsZero() }

// Snapshot is the cluster as one look has found it. All functions that decide
// are pure functions of it.
type Snapshot struct {
	At        time.Time `json:"at"`
	ClusterID ID        `json:"clusterID"`
	Members   []Seen    `json:"members"`          // in the list's order
	Leader    ID        `json:"leader,omitempty"` // by the newest word of the voters; 0: none known
	Index     uint64    `json:"index"`            // the leader's committed index, else the highest among voters
	// Unused are the caller's endpoints whose word does not count, and why, in words.
	Unused []string `json:"unused,omitempty"`
	usable []string // the others of them; nil: all
	// NoQuorum says that only a serializable list could be read, and that no
	// voter that answers knows a leader. Nothing but the start of an entry that
	// never ran can be right then.
	NoQuorum bool `json:"noQuorum,omitempty"`
	// Fresh says that every voter was asked for this look and had EndpointTimeout
	// to answer; without it all but the leader's facts may be a pass old.
	Fresh bool `json:"-"`
}

// Voters are the members that vote, dead ones and never started ones included.
func (s Snapshot) Voters() []Seen { return s.where(func(m Seen) bool { return !m.Learner }) }

// Learners are the members without a vote.
func (s Snapshot) Learners() []Seen { return s.where(func(m Seen) bool { return m.Learner }) }

// LiveVoters are the voters that answered under their own ID.
func (s Snapshot) LiveVoters() []Seen {
	return s.where(func(m Seen) bool { return !m.Learner && m.Liveness == Alive })
}

// Strangers are the members in whose place somebody else answered, with a
// [*WrongServerError] as Err.
func (s Snapshot) Strangers() []Seen {
	return s.where(func(m Seen) bool {
		var wrong *WrongServerError
		return errors.As(m.Err, &wrong)
	})
}

// InContact reports whether m answers and is of use to the quorum: one that is cut
// off from its peers answers us, too, and knows no leader, or one of before. The word
// of the Alive hook counts for both.
func (s Snapshot) InContact(m Seen) bool {
	return m.Liveness == Alive && (m.Status.ID == 0 || m.Status.Leader == s.Leader && s.Leader != 0)
}

// VotersInContact are the voters that the quorum can count on. Who is cut off is not
// among them: it is asked for no list, for its own is of before; it is not made leader;
// and what it does not know yet makes no success a failure.
func (s Snapshot) VotersInContact() []Seen {
	return s.where(func(m Seen) bool { return !m.Learner && s.InContact(m) })
}

// own are the caller's endpoints that may be used.
func (s Snapshot) own() Target { return Target{Member: Member{ClientURLs: s.usable}} }

// askable are the voters whose word counts: those in contact with the leader, or while
// none is known whoever answers.
func (s Snapshot) askable() []Seen {
	if s.Leader == 0 {
		return s.LiveVoters()
	}
	return s.VotersInContact()
}

func (s Snapshot) where(keep func(Seen) bool) []Seen {
	var out []Seen
	for _, m := range s.Members {
		if keep(m) {
			out = append(out, m)
		}
	}
	return out
}

func (s Snapshot) find(is func(Seen) bool) (Seen, bool) {
	for _, m := range s.Members {
		if is(m) {
			return m, true
		}
	}
	return Seen{}, false
}

// ByID finds a member by its ID.
func (s Snapshot) ByID(id ID) (Seen, bool) {
	return s.find(func(m Seen) bool { return m.ID == id })
}

// ByURLs finds the member whose set of peer URLs is this one, in any spelling.
func (s Snapshot) ByURLs(urls []string) (Seen, bool) {
	return s.find(func(m Seen) bool { return peerurl.SameSet(m.PeerURLs, urls) })
}

// ByName finds a member by the name it has published.
func (s Snapshot) ByName(name string) (Seen, bool) {
	return s.find(func(m Seen) bool { return m.Name == name && name != "" })
}

// Quorum is how many voters must agree.
func (s Snapshot) Quorum() int { return quorum(len(s.Voters())) }

// Margin is how many more of the live voters may fail before the quorum is
// lost; negative if it is lost already. One that does not know the leader has failed.
func (s Snapshot) Margin() int { return len(s.VotersInContact()) - s.Quorum() }

// Versions are the versions of all members that answered, and who did not.
func (s Snapshot) Versions() version.Seen {
	var seen version.Seen
	for _, m := range s.Members {
		server := version.Server{Member: uint64(m.ID), Name: m.Name, Version: m.Status.Version}
		if len(m.ClientURLs) > 0 {
			server.Endpoint = m.ClientURLs[0]
		}
		switch {
		case m.Answered():
			seen.Answered = append(seen.Answered, server)
		case m.Started():
			seen.Silent = append(seen.Silent, server)
		}
	}
	return seen
}

// ServerVersions are the readable versions of the members that answered.
func (s Snapshot) ServerVersions() []version.Version {
	var out []version.Version
	for _, m := range s.Members {
		if v, err := version.Parse(m.Status.Version); err == nil {
			out = append(out, v)
		}
	}
	return out
}

// leaderVersion is the version of the server that a write will be sent to.
func (s Snapshot) leaderVersion() version.Version {
	if m, ok := s.ByID(s.Leader); ok {
		if v, err := version.Parse(m.Status.Version); err == nil {
			return v
		}
	}
	return version.Lowest(s.ServerVersions()...)
}

// Lag is how many entries a member is behind the leader, where that is known.
func (s Snapshot) Lag(m Seen) (uint64, bool) {
	if !m.Answered() || m.Status.Applied == 0 {
		return 0, false
	}
	return s.Index - min(s.Index, m.Status.Applied), true
}

// OtherPeerURLs are those of all members but one.
func (s Snapshot) OtherPeerURLs(but ID) []string {
	var urls []string
	for _, m := range s.Members {
		if m.ID != but {
			urls = append(urls, m.PeerURLs...)
		}
	}
	return urls
}
