package initialcluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/types"
)

// Build is the value for a server that starts as own, beside all other members
// of the live list. The result has exactly one entry for each, with all its
// URLs, as they are listed. The order of others does not matter: the same members
// give the same text.
//
// Own keeps its name, whoever else has it. A name that another member has
// already, that is missing, as before its first start, or that etcd could not
// read back, is replaced by a placeholder.
//
// Refused with a [*Error] is what etcd would not start with: a name that
// [CheckName] refuses for own, a member without peer URLs, a URL it does not
// accept, one URL for two members.
func Build(own Entry, others []Entry) (Cluster, error) {
	if err := CheckName(own.Name); err != nil {
		return nil, err
	}
	c := make(Cluster, 0, len(others)+1)
	owned := map[string]bool{}
	for _, e := range append([]Entry{own}, others...) {
		urls, err := urlsOf(e, owned)
		if err != nil {
			return nil, err
		}
		c = append(c, Entry{Name: e.Name, PeerURLs: urls})
	}
	slices.SortFunc(c[1:], byURLs)
	nameAll(c)
	slices.SortFunc(c, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return c, nil
}

// urlsOf are a member's URLs in order, each once. One that a member before had is
// refused. Like etcd's own test for it, this compares what net/url prints.
func urlsOf(e Entry, owned map[string]bool) ([]string, error) {
	if len(e.PeerURLs) == 0 {
		return nil, &Error{Field: "peer URLs", Value: e.Name, Rule: "must not be missing: a member without any cannot be listed"}
	}
	var urls []string
	mine := map[string]bool{}
	for _, raw := range slices.Sorted(slices.Values(e.PeerURLs)) {
		printed, err := readBack(raw)
		switch {
		case err != nil:
			return nil, err
		case owned[printed]:
			return nil, &Error{Field: "peer URLs", Value: raw, Rule: "must not be two members'"}
		case !mine[printed]:
			mine[printed] = true
			urls = append(urls, raw)
		}
	}
	maps.Copy(owned, mine)
	return urls, nil
}

// readBack is a URL as etcd prints it. It refuses one that etcd would not accept,
// or not read back from the value as it is.
func readBack(raw string) (string, error) {
	if raw != strings.TrimSpace(raw) || strings.Contains(raw, ",") {
		return "", &Error{Field: "peer URLs", Value: raw, Rule: "must not have a comma or space around it"}
	}
	u, err := types.NewURLs([]string{raw})
	if err != nil {
		return "", &Error{Field: "peer URLs", Value: raw, Rule: "must be what etcd accepts: " + err.Error()}
	}
	return u.String(), nil
}

// nameAll gives every entry a name of its own. The first is ours and keeps its.
func nameAll(c Cluster) {
	taken := map[string]bool{}
	for _, e := range c {
		taken[e.Name] = true // a placeholder is nobody's name, kept or not
	}
	used := map[string]bool{c[0].Name: true}
	for i := 1; i < len(c); i++ {
		if used[c[i].Name] || CheckName(c[i].Name) != nil {
			c[i].Name = placeholder(c[i], taken)
			taken[c[i].Name] = true
		}
		used[c[i].Name] = true
	}
}

func byURLs(a, b Entry) int { return slices.Compare(a.PeerURLs, b.PeerURLs) }
