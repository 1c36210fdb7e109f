package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/initialcluster"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
)

// InitialCluster is a value of --initial-cluster, each name once. Its String
// method is the value as etcd takes it.
type InitialCluster = initialcluster.Cluster

// InitialMember is one member of an [InitialCluster]: a name and the peer URLs
// under it.
type InitialMember = initialcluster.Entry

// ParseInitialCluster reads a value of --initial-cluster by etcd's own rules
// (types.NewURLsMap, the same in 3.4 to 3.7): a name that comes again adds a URL
// to the same member, so that two members of one name melt into one.
func ParseInitialCluster(value string) (InitialCluster, error) { return initialcluster.Parse(value) }

// BuildInitialCluster is the value for a server that starts as own beside the
// others of the live member list: every member once, with all its peer URLs and
// a name of its own. Members without a name, or with one that is taken, get a
// placeholder: etcd does not compare the names of others.
func BuildInitialCluster(own InitialMember, others []InitialMember) (InitialCluster, error) {
	return initialcluster.Build(own, others)
}

// ownEntry is the rule that an initial cluster breaks for the member that starts
// with it, "" if none. Without URLs only the name is looked for.
func ownEntry(cluster InitialCluster, name string, urls []string) string {
	i := slices.IndexFunc(cluster, func(m InitialMember) bool { return m.Name == name })
	switch {
	case i < 0:
		return fmt.Sprintf("must have an entry for %q: etcd exits if it does not find itself", name)
	case len(urls) > 0 && !peerurl.SameSet(cluster[i].PeerURLs, urls):
		return mergedEntry(cluster[i], urls)
	}
	return ""
}

// mergedEntry words what is wrong with our own entry.
func mergedEntry(own InitialMember, urls []string) string {
	listed, advertised := strings.Join(own.PeerURLs, " and "), strings.Join(urls, " and ")
	if len(own.PeerURLs) > len(urls) {
		return fmt.Sprintf("has %s for %q, which advertises %s: etcd merges entries of one name into one member, and the count of members is then wrong",
			listed, own.Name, advertised)
	}
	return fmt.Sprintf("has %s for %q, which advertises %s: etcd exits if they differ", listed, own.Name, advertised)
}

// sharedURL is a URL that two members of the cluster have, "" if there is none.
func sharedURL(cluster InitialCluster) string {
	seen := map[string]bool{}
	for _, m := range cluster {
		for _, u := range m.PeerURLs {
			if seen[u] {
				return u
			}
			seen[u] = true
		}
	}
	return ""
}
