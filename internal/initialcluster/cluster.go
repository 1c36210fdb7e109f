// Package initialcluster reads and writes the value of etcd's --initial-cluster:
// pairs of a member's name and one of its peer URLs, as in
//
//	cp-1=https://10.0.0.1:2380,cp-2=https://10.0.0.2:2380
//
// A joiner needs it to list every member with all its peer URLs, itself under
// the name it is started with, for etcd compares count and URLs with the live
// member list and exits if they differ (server/etcdserver/bootstrap.go, "member
// count is unequal", "no match found for existing member"). Names of the others
// are not compared, but they are the keys of a map, so that two members of one
// name, or without any, melt into one (etcd issue 5244). [Build] gives each of
// those a name of its own.
package initialcluster

import (
	"fmt"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/types"
)

// Entry is one member of the value: a name and the URLs under it.
type Entry struct {
	Name     string
	PeerURLs []string
}

// Cluster is a value of --initial-cluster, each name once.
type Cluster []Entry

// String is the value as etcd takes it.
func (c Cluster) String() string {
	var pairs []string
	for _, e := range c {
		for _, u := range e.PeerURLs {
			pairs = append(pairs, e.Name+"="+u)
		}
	}
	return strings.Join(pairs, ",")
}

// Error says which rule a value breaks, and where.
type Error struct {
	Field string // "name", "peer URLs" or "initial cluster"
	Value string
	Rule  string
}

func (e *Error) Error() string { return fmt.Sprintf("%s %q %s", e.Field, e.Value, e.Rule) }

// Parse reads a value by etcd's own rules (client/pkg/v3/types.NewURLsMap, the
// same in 3.4 to 3.7), though it keeps the order: empty pairs are passed over, a
// name that comes again adds a URL, "=" ends the name, and each URL is one that
// types.NewURLs accepts. An empty name is one too. Every error is a [*Error].
func Parse(value string) (Cluster, error) {
	var c Cluster
	at := map[string]int{} // where a name is in c
	for _, pair := range strings.Split(value, ",") {
		if pair == "" {
			continue
		}
		name, raw, _ := strings.Cut(pair, "=")
		raw = strings.TrimSpace(raw)
		if _, err := types.NewURLs([]string{raw}); err != nil {
			return nil, &Error{Field: "initial cluster", Value: pair, Rule: "must be a name, \"=\" and a peer URL: " + err.Error()}
		}
		i, known := at[name]
		if !known {
			i, at[name] = len(c), len(c)
			c = append(c, Entry{Name: name})
		}
		c[i].PeerURLs = append(c[i].PeerURLs, raw)
	}
	return c, nil
}
