package member

import (
	"slices"

	"github.com/etcdjoin/etcdjoin/version"
)

// preflight is what must hold before this cluster gets a new member at all.
func preflight(c Case) error {
	if text := c.Snapshot.corrupt(); text != "" {
		return reason(ErrCorrupt, "%s", text)
	}
	if err := refusesUs(c.Snapshot); err != nil {
		return err
	}
	if c.Survey != nil && c.Survey.Downgrading {
		return reason(ErrDowngrading, "a server of the same version would not be let in")
	}
	servers := c.Snapshot.serverVersions()
	if err := version.Skew(c.Policy.ServerVersion, servers); err != nil {
		return err
	}
	return version.Refusal(version.Hazards(servers, c.Policy.ServerVersion), c.Policy.AcceptHazards)
}

// refusesUs finds a server's answer that no wait heals, where none has told
// anything else: who may not even ask for a Status may change no membership.
func refusesUs(s Snapshot) error {
	for _, m := range s.Members {
		if m.Answered() {
			return nil
		}
	}
	for _, m := range s.Members {
		if m.Err != nil && classify(m.Err) == fatal {
			return because(sentinelFor(m.Err), m.Err)
		}
	}
	return nil
}

func everyCan(s Snapshot, a version.Ability) bool {
	return len(s.serverVersions()) > 0 && !slices.ContainsFunc(s.serverVersions(), func(v version.Version) bool { return !v.Can(a) })
}
