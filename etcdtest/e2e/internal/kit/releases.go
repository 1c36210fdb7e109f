package kit

import (
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/version"
)

// Releases are what the suites are played on; a plain run has those of [EveryRun].
var Releases = []Release{
	{Name: "3.4.13"},
	{Name: "3.5.0"},
	{Name: "3.5.16"},
	{Name: "3.5.35"},
	{Name: "3.6.0"},
	{Name: "3.6.16"},
	{Name: "3.7.3"},
	{Name: "3.8.0-alpha.0", says: "3.7.0-beta.0"},
}

type Release struct {
	Name string
	says string // what the servers call themselves; empty: by their name
}

func (r Release) Version() version.Version {
	if r.says != "" {
		return version.MustParse(r.says)
	}
	return version.MustParse(r.Name)
}

// Outside makes a server a process: one that is asked for its Status while it is
// removed panics (etcd PR #22205), and would take the tests with it.
var Outside = etcdtest.WithVersion("3.7.3")
