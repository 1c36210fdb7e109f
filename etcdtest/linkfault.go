package etcdtest

type mode int

const (
	pass mode = iota
	cut
	refuse
	drop
	freeze
	swallow
)

// A Which holds a fault of a [Link] to a part of its connections; all others
// pass. Several together hold it to those that every one of them names.
type Which func(*fault)

// OnlyRaft are the connections that carry raft, those whose first request is
// for a path under /raft. A server cut off so is cut off from those that send
// it entries, while its peer port still answers /version, /members and
// /downgrade/enabled. Both sides of a pair dial, and either may carry the
// entries one way, so cutting a server off altogether takes its own link and
// those of the others. It fails the test with TLS, where no path can be seen.
func OnlyRaft() Which { return func(f *fault) { f.raft = true } }

// OnlyFrom are the connections that one of these servers dialled: with it a
// single direction between two servers is cut, and the others still reach the
// one behind the link. It fails the test for embedded servers, whose
// connections nobody can tell apart, and on other systems than Linux, where
// the kernel does not say whose a connection is.
func OnlyFrom(servers ...*Server) Which {
	return func(f *fault) { f.held, f.from = true, append(f.from, servers...) }
}

// A fault is what a link does to its connections, and to which.
type fault struct {
	mode mode
	raft bool      // to those that carry raft alone
	held bool      // to those from these servers alone
	from []*Server // … that dialled them
}

// impossible is why the fault cannot be told apart from others on this link.
func (f fault) impossible(l *Link) string {
	if f.raft && l.scheme == "https" {
		return "OnlyRaft reads the path of requests, which TLS hides"
	}
	for _, s := range f.from {
		if !canTellDiallers {
			return "OnlyFrom needs Linux, whose kernel says whose a connection is"
		}
		if s.embedded() {
			return "OnlyFrom tells processes apart, and " + s.Name + " is embedded: use WithVersion"
		}
	}
	return ""
}

// means says whether c comes from where the fault is held to. What it carries
// shows later.
func (f fault) means(c *linkConn) bool {
	if !f.held {
		return true
	}
	for _, s := range f.from {
		if pid := s.pid(); pid != 0 && dialled(pid, c.sides[requests]) {
			return true
		}
	}
	return false
}

// strikes is what the link does to c now. The caller holds the link's lock.
func (l *Link) strikes(c *linkConn) mode {
	if !c.meant || l.fault.raft && !c.raft {
		return pass
	}
	return l.fault.mode
}

// condemns says whether c must not go on. One that missed bytes goes on only
// for as long as it misses more. The caller holds the lock.
func (l *Link) condemns(c *linkConn) bool {
	switch l.strikes(c) {
	case cut, refuse:
		return true
	case swallow:
		return false
	default:
		return c.damaged
	}
}

// holds says whether bytes of c stand still now. The caller holds the lock.
func (l *Link) holds(c *linkConn) bool {
	m := l.strikes(c)
	return m == freeze || m == drop
}
