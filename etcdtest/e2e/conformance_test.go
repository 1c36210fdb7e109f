package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/etcdjoin/etcdjoin/version"
)

// The conformance suite holds clustertest's cluster to what real servers do, at
// the level of member.Client: every case is written once, against a world, and
// played on the fake and on etcd of each version. Where the two differ the fake
// is wrong.

// allVersions is the variable that lets a run play all versions, as .ci/run does.
const allVersions = "ETCDJOIN_ALL_VERSIONS"

// releases are what the suite is played on.
var releases = []release{
	{name: "3.4.13"},
	{name: "3.5.0"},
	{name: "3.5.16"},
	{name: "3.5.35", everyRun: true},
	{name: "3.6.0"},
	{name: "3.6.16"},
	{name: "3.7.3", everyRun: true},
	{name: "3.8.0-alpha.0", says: "3.7.0-beta.0"},
}

type release struct {
	name     string
	says     string // what the servers call themselves; empty: by their name
	everyRun bool   // not only with allVersions
}

func (r release) version() version.Version {
	if r.says != "" {
		return version.MustParse(r.says)
	}
	return version.MustParse(r.name)
}

// shape is the cluster that a case begins with.
type shape struct {
	voters   int
	learners int  // --max-learners; 0: as etcd has it
	links    bool // the peer links can be cut
}

func (s shape) String() string {
	text := map[int]string{1: "one voter", 3: "three voters", 5: "five voters"}[s.voters]
	if s.learners > 0 {
		text += fmt.Sprintf(" and %d learners at most", s.learners)
	}
	if s.links {
		text += " with links"
	}
	return text
}

// chapter is the cases that share a cluster, where the servers are real.
type chapter struct {
	shape
	cases []conformance
}

var chapters = []chapter{
	{shape{voters: 1}, aloneCases},
	{shape{voters: 1, links: true}, linkCases},
	{shape{voters: 1, learners: 2}, twoLearnersCases},
	{shape{voters: 3}, threeCases},
	{shape{voters: 5}, fiveCases},
}

// conformance is one case. It leaves the cluster as it was, or says that it does
// not.
type conformance struct {
	name   string
	play   func(*stage)
	spoils bool
	needs  []version.Ability // of the servers
}

// each runs the chapters with the cases that the release can play.
func (r release) each(t *testing.T, run func(*testing.T, chapter)) {
	for _, c := range chapters {
		playable := slices.DeleteFunc(slices.Clone(c.cases), func(one conformance) bool { return !r.can(one.needs) })
		if len(playable) > 0 {
			t.Run(c.String(), func(t *testing.T) { run(t, chapter{c.shape, playable}) })
		}
	}
}

func (r release) can(needs []version.Ability) bool {
	return !slices.ContainsFunc(needs, func(a version.Ability) bool { return !r.version().Can(a) })
}

func TestConformanceOfTheFake(t *testing.T) {
	for _, r := range releases {
		t.Run(r.name, func(t *testing.T) {
			r.each(t, func(t *testing.T, c chapter) {
				for _, one := range c.cases {
					t.Run(one.name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { one.play(&stage{t, newFakeWorld(r, c.shape)}) })
					})
				}
			})
		})
	}
}

func TestConformanceOfEtcd(t *testing.T) {
	for _, r := range releases {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if !r.everyRun {
				notInEveryRun(t)
			}
			r.each(t, func(t *testing.T, c chapter) {
				t.Parallel()
				playOnEtcd(t, r, c)
			})
		})
	}
}

// playOnEtcd plays a chapter on one cluster, and on another after a case that
// failed; who spoils a cluster gets one of its own.
func playOnEtcd(t *testing.T, r release, c chapter) {
	var shared *realWorld
	for _, one := range c.cases {
		t.Run(one.name, func(sub *testing.T) {
			if one.spoils {
				sub.Parallel()
				one.play(&stage{sub, newRealWorld(sub, r, c.shape)})
				return
			}
			if shared == nil {
				shared = newRealWorld(t, r, c.shape)
			}
			one.play(&stage{sub, shared})
		})
		if t.Failed() && shared != nil {
			shared.end()
			shared = nil
		}
	}
	if shared != nil {
		shared.end()
	}
}
