package decide

import (
	"errors"
	"net/http"
	"slices"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/classify"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Knocks reports whether an act leads to our URLs being given to the members, so that
// what is there must be known before.
//
// The members dial an entry the moment it is in the list, and they believe what
// answers: one web server or proxy that says 403 to their messages ends a cluster of
// three voters within two seconds, for 403 is how a cluster tells a member that it
// was removed; 410 or a version that does not parse ends all of them at once. Nobody
// could take the entry out in time.
func Knocks(c Case, a Act) bool {
	if _, listed := c.Snapshot.ByURLs(c.PeerURLs); listed || c.Knocks != nil {
		return false
	}
	switch a.Do {
	case DoAddLearner, DoAddVoter, DoRemove, DoArchive, DoUpdate:
		return true
	}
	return false
}

// harmless reports whether a reply can be taken for that of nobody: a balancer that
// has nobody behind it says so, and no etcd.
func harmless(r cluster.Reply) bool {
	switch r.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return !r.Etcd()
	}
	return false
}

// Occupied is why nobody may be added at a URL, nil if somebody may.
func Occupied(k cluster.Knock) error {
	if i := slices.IndexFunc(k.Replies, func(r cluster.Reply) bool { return !harmless(r) }); i >= 0 {
		return reason.Of(reason.ErrURLInUse, "at %s %s, and the members would dial it and believe what it says", k.URL, k.Replies[i])
	}
	if classify.CertificateAsked(k.Err) {
		return reason.Advise(reason.Because(reason.ErrURLInUse, reason.Because(reason.ErrTLS, k.Err)),
			"give a certificate that is taken there in ClientConfig.PeerTLS, or stop what answers there")
	}
	return nil
}

// Related reports whether a server of the cluster answered.
func Related(knocks []cluster.Knock, id cluster.ID) bool {
	return slices.ContainsFunc(knocks, func(k cluster.Knock) bool {
		return slices.ContainsFunc(k.Replies, func(r cluster.Reply) bool { return r.Etcd() && r.ClusterID == id.String() })
	})
}

// Noted is what is worth telling of a knock that forbids nothing; empty is nothing.
func Noted(k cluster.Knock) string {
	switch {
	case errors.Is(k.Err, cluster.ErrNotOffered):
		return "what is at " + k.URL + " cannot be asked: something that answers there could end the members"
	case len(k.Replies) > 0:
		return "at " + k.URL + " " + k.Replies[0].String() + ": taken for a balancer that has nobody behind it yet"
	case classify.TLSRefused(k.Err):
		return "what is at " + k.URL + " could not be asked: " + k.Err.Error()
	}
	return ""
}

// occupied refuses our URLs where any of them is somebody's.
func occupied(c Case) error {
	for _, k := range c.Knocks {
		if err := Occupied(k); err != nil {
			return err
		}
	}
	return nil
}

// ourOwn reports whether all that answers at our URLs may be the server of the
// member whose data we hold.
func ourOwn(c Case) bool {
	return c.Data.Kind == cluster.DataMember && !slices.ContainsFunc(c.Knocks, func(k cluster.Knock) bool {
		return slices.ContainsFunc(k.Replies, func(r cluster.Reply) bool { return r.ClusterID != c.Snapshot.ClusterID.String() })
	})
}
