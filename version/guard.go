package version

import (
	"errors"
	"fmt"
	"strings"
)

// ErrLearnerUnsupported is what every [*UnsupportedError] is. The words are
// KEP-3614's.
var ErrLearnerUnsupported = errors.New("etcd learner mode is not supported by this etcd version")

// ErrNoVersion says that no server's version is known, so that nothing can be
// decided.
var ErrNoVersion = errors.New("no etcd server told its version")

// Server is one member of a cluster as a look has read it.
type Server struct {
	Member   uint64 // its ID
	Name     string // empty while the member has not been started
	Endpoint string // where it was asked
	Version  string // what it says it runs; empty if it did not answer
}

func (s Server) String() string {
	text := fmt.Sprintf("member %x", s.Member)
	if s.Name != "" {
		text += fmt.Sprintf(" (%s)", s.Name)
	}
	if s.Endpoint != "" {
		text += " at " + s.Endpoint
	}
	return text
}

// Seen is what one look has read of the members' versions.
type Seen struct {
	Answered []Server
	Silent   []Server // asked, but did not answer
}

// Passed is what [Guard] knows once it lets a cluster pass.
type Passed struct {
	Versions []Version // of the servers that answered, in their order
	Lowest   Version   // of these
	// Unknown are the servers that did not answer. The caller should warn of
	// each: a server that is too old would take a learner for a voter.
	Unknown []Server
}

// UnsupportedError names the servers that do not know learners.
type UnsupportedError struct{ Servers []Server }

func (e *UnsupportedError) Error() string {
	runs := make([]string, len(e.Servers))
	for i, s := range e.Servers {
		runs[i] = fmt.Sprintf("%s runs %s", s, s.Version)
	}
	return fmt.Sprintf("%v: %s; learners came with 3.4.0", ErrLearnerUnsupported, strings.Join(runs, ", "))
}

// Is makes errors.Is(err, ErrLearnerUnsupported) true.
func (e *UnsupportedError) Is(target error) bool { return target == ErrLearnerUnsupported }

// Guard lets a cluster pass if every server that answered knows learners, and
// at least one answered. Its errors are an [*UnsupportedError] for servers
// before 3.4.0, a [*ParseError] for a version nobody can read, [ErrNoVersion] if
// nobody answered.
//
// It must come before the first write. An etcd 3.3 server ignores the request's
// learner field and adds a voter (measured on 3.3.27: a one-member cluster loses
// its quorum on the spot), and a 3.3 member anywhere in the cluster panics when
// the change reaches it, so one such member refuses them all. So does a
// pre-release of 3.4.0: it was never a supported server, and here a wrong guess
// costs the quorum.
func Guard(seen Seen) (Passed, error) {
	passed := Passed{Unknown: seen.Silent}
	var old []Server
	var unreadable error
	for _, s := range seen.Answered {
		v, err := Parse(s.Version)
		switch {
		case err != nil && unreadable == nil:
			unreadable = fmt.Errorf("%s: %w", s, err)
		case err == nil && !v.Can(Learners):
			old = append(old, s)
		}
		passed.Versions = append(passed.Versions, v)
	}
	switch {
	case len(old) > 0:
		return Passed{}, &UnsupportedError{old}
	case unreadable != nil:
		return Passed{}, unreadable
	case len(passed.Versions) == 0:
		return Passed{}, nobody(seen.Silent)
	}
	passed.Lowest = Lowest(passed.Versions...)
	return passed, nil
}

func nobody(silent []Server) error {
	if len(silent) == 0 {
		return fmt.Errorf("%w: there was none to ask", ErrNoVersion)
	}
	asked := make([]string, len(silent))
	for i, s := range silent {
		asked[i] = s.String()
	}
	return fmt.Errorf("%w: no answer from %s", ErrNoVersion, strings.Join(asked, ", "))
}
