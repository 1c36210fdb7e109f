package decide

import (
	"slices"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// preflight is what must hold before this cluster gets a new member at all.
func preflight(c Case) error {
	if text := c.Snapshot.Corrupt(); text != "" {
		return reason.Of(reason.ErrCorrupt, "%s", text)
	}
	if err := refusesUs(c.Snapshot); err != nil {
		return err
	}
	if c.Survey != nil && c.Survey.Downgrading {
		return reason.Of(reason.ErrDowngrading, "a server of the same version would not be let in")
	}
	servers := c.Snapshot.ServerVersions()
	if err := version.Skew(c.Policy.ServerVersion, servers); err != nil {
		return err
	}
	return version.Refusal(version.Hazards(servers, c.Policy.ServerVersion), c.Policy.AcceptHazards)
}

// refusesUs finds a server's answer that no wait heals, where none has told
// anything else: who may not even ask for a Status may change no membership.
func refusesUs(s cluster.Snapshot) error {
	for _, m := range s.Members {
		if m.Answered() {
			return nil
		}
	}
	for _, m := range s.Members {
		if m.Err != nil && classify.Of(m.Err) == classify.Fatal {
			return classify.Because(m.Err)
		}
	}
	return nil
}

// everyCan reports whether all servers but one have an ability. One that did not tell
// its version does not: it applies what is committed all the same.
func everyCan(s cluster.Snapshot, but cluster.ID, a version.Ability) bool {
	lacks := func(m cluster.Seen) bool {
		v, err := version.Parse(m.Status.Version)
		return m.ID != but && m.Started() && (err != nil || !v.Can(a))
	}
	return len(s.ServerVersions()) > 0 && !slices.ContainsFunc(s.Members, lacks)
}
