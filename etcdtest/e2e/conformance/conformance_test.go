package conformance_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/version"
)

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
func eachChapter(t *testing.T, r kit.Release, run func(*testing.T, chapter)) {
	for _, c := range chapters {
		playable := slices.DeleteFunc(slices.Clone(c.cases), func(one conformance) bool { return !canAll(r, one.needs) })
		if len(playable) > 0 {
			t.Run(c.String(), func(t *testing.T) { run(t, chapter{c.shape, playable}) })
		}
	}
}

func canAll(r kit.Release, needs []version.Ability) bool {
	return !slices.ContainsFunc(needs, func(a version.Ability) bool { return !r.Version().Can(a) })
}

func TestConformanceOfTheFake(t *testing.T) {
	for _, r := range kit.Releases {
		t.Run(r.Name, func(t *testing.T) {
			eachChapter(t, r, func(t *testing.T, c chapter) {
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
	for _, r := range kit.Releases {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			kit.Needs(t, r.Name)
			eachChapter(t, r, func(t *testing.T, c chapter) {
				t.Parallel()
				playOnEtcd(t, r, c)
			})
		})
	}
}

// playOnEtcd plays a chapter on one cluster, and on another after a case that
// failed; who spoils a cluster gets one of its own.
func playOnEtcd(t *testing.T, r kit.Release, c chapter) {
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
