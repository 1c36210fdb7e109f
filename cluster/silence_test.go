package cluster_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// hears is one look of a story: when, and what it heard.
func hears(after time.Duration, changes ...func(*cluster.Listening)) cluster.Listening {
	l := cluster.Listening{At: noon.Add(after), Leader: 1, Term: 2, Bytes: 700}
	for _, change := range changes {
		change(&l)
	}
	return l
}

func moved(l *cluster.Listening)    { l.Bytes++ }
func unseries(l *cluster.Listening) { l.Bytes = 0 } // a leader that never heard of it
func answers(l *cluster.Listening)  { l.Sign = "its peer port answers" }
func unheard(l *cluster.Listening)  { l.Deaf, l.Bytes = "connection refused", 0 }
func led(by cluster.ID, term uint64) func(*cluster.Listening) {
	return func(l *cluster.Listening) { l.Leader, l.Term = by, term }
}

// every is looks at an interval, for so long.
func every(interval, from, to time.Duration, changes ...func(*cluster.Listening)) (ls []cluster.Listening) {
	for at := from; at <= to; at += interval {
		ls = append(ls, hears(at, changes...))
	}
	return ls
}

func TestSilenceIsAProofOnlyUnbroken(t *testing.T) {
	const s = time.Second
	for name, tc := range map[string]struct {
		looks      [][]cluster.Listening
		dead, idle bool // as a member that has run, and as one that never did, an hour old
	}{
		"half a minute":                     {[][]cluster.Listening{every(s, 0, 30*s)}, true, true},
		"a second less":                     {[][]cluster.Listening{every(s, 0, 29*s)}, false, false},
		"looks five seconds apart":          {[][]cluster.Listening{every(5*s, 0, 30*s)}, true, true},
		"looks six seconds apart":           {[][]cluster.Listening{every(6*s, 0, 36*s)}, false, true},
		"two looks, a minute apart":         {[][]cluster.Listening{every(60*s, 0, 60*s)}, false, false},
		"never a byte from it":              {[][]cluster.Listening{every(s, 0, 30*s, unseries)}, true, true},
		"a byte in the middle":              {[][]cluster.Listening{every(s, 0, 15*s), every(s, 16*s, 40*s, moved)}, false, false},
		"a byte at the end":                 {[][]cluster.Listening{every(s, 0, 30*s), {hears(31*s, moved)}}, false, false},
		"an answer in the middle":           {[][]cluster.Listening{every(s, 0, 15*s), {hears(16*s, answers)}, every(s, 17*s, 40*s)}, false, false},
		"an answer at the end":              {[][]cluster.Listening{every(s, 0, 30*s), {hears(31*s, answers)}}, false, false},
		"half a minute after an answer":     {[][]cluster.Listening{{hears(0, answers)}, every(s, s, 31*s)}, true, true},
		"another leader in between":         {[][]cluster.Listening{every(s, 0, 15*s, led(3, 3)), every(s, 16*s, 40*s)}, false, false},
		"the same leader in another term":   {[][]cluster.Listening{every(s, 0, 15*s, led(1, 1)), every(s, 16*s, 40*s)}, false, false},
		"half a minute of the next leader":  {[][]cluster.Listening{every(s, 0, 15*s, led(3, 1)), every(s, 16*s, 46*s)}, true, true},
		"unheard for a moment":              {[][]cluster.Listening{every(s, 0, 15*s), every(s, 16*s, 18*s, unheard), every(s, 19*s, 30*s)}, true, true},
		"unheard for too long":              {[][]cluster.Listening{every(s, 0, 15*s), every(s, 16*s, 22*s, unheard), every(s, 23*s, 30*s)}, false, true},
		"unheard at the end":                {[][]cluster.Listening{every(s, 0, 30*s), every(s, 31*s, 40*s, unheard)}, false, false},
		"nothing but unheard":               {[][]cluster.Listening{every(s, 0, 60*s, unheard)}, false, false},
		"an answer while it is unheard":     {[][]cluster.Listening{every(s, 0, 29*s), {hears(30*s, unheard, answers)}}, false, false},
		"its own word as the leader":        {[][]cluster.Listening{every(s, 0, 40*s, led(9, 2))}, false, true},
		"a clock that went back":            {[][]cluster.Listening{every(s, 60*s, 85*s), every(s, 0, 10*s)}, false, false},
		"a clock that jumped ahead":         {[][]cluster.Listening{every(s, 0, 2*s), {hears(time.Hour)}}, false, true},
		"a clock that jumped, two looks":    {[][]cluster.Listening{{hears(0)}, {hears(time.Hour)}}, false, false},
		"moved by another's count restarts": {[][]cluster.Listening{every(s, 0, 20*s), every(s, 21*s, 40*s, led(3, 3), moved)}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var q cluster.Silence
			var last cluster.Listening
			for _, looks := range tc.looks {
				for _, last = range looks {
					q = q.Hear(last)
				}
			}
			s := cluster.Snapshot{At: last.At, Leader: last.Leader}
			m := cluster.Seen{Member: cluster.Member{ID: 9, Name: "m9"}, Silence: q, Since: last.At.Add(-time.Hour)}
			assert.Equal(t, tc.dead, s.Dead(m), "dead: %+v", q)
			assert.False(t, s.NotRunning(m, true), "it has run")
			m.Name = ""
			assert.Equal(t, tc.idle, s.NotRunning(m, false), "does not run: %+v", q)
		})
	}
}

// Whatever is heard: a member of which anything was heard within the last half minute is
// never called dead, nor one that nobody could hear.
func TestNobodyIsDeadWhoWasHeard(t *testing.T) {
	dead := 0
	for seed := range uint64(3_000) {
		g := rand.New(rand.NewPCG(seed, 0))
		var q cluster.Silence
		var bytes uint64
		at, sign := noon, noon.Add(-time.Hour)
		for range 80 {
			at = at.Add(time.Duration(100+g.IntN(5_000)) * time.Millisecond)
			l := cluster.Listening{At: at, Leader: 1, Term: 2}
			switch g.IntN(80) {
			case 0:
				bytes, sign = bytes+1, at
			case 1:
				l.Sign, sign = "it answers", at
			case 2, 3:
				l.Deaf = "no"
			case 4:
				l.Leader = 2
			}
			l.Bytes = bytes
			q = q.Hear(l)
			s := cluster.Snapshot{At: at, Leader: l.Leader}
			if s.Dead(cluster.Seen{Member: cluster.Member{ID: 9, Name: "m9"}, Silence: q}) {
				dead++
				require.GreaterOrEqual(t, at.Sub(sign), 30*time.Second, "seed %d: %+v", seed, q)
			}
		}
	}
	assert.Greater(t, dead, 1_000, "the generator hardly ever leads to a death")
}

func TestTheHostsWordCountsMost(t *testing.T) {
	s := cluster.Snapshot{At: noon, Leader: 1}
	m := cluster.Seen{Member: cluster.Member{ID: 9, Name: "m9"}, Liveness: cluster.Dead}
	assert.True(t, s.Dead(m))
	var q cluster.Silence
	for _, l := range every(time.Second, 0, 40*time.Second) {
		q = q.Hear(l)
	}
	s.At = q.Newest
	m.Liveness, m.Silence = cluster.Alive, q
	assert.False(t, s.Dead(m))
	m.Liveness = cluster.Unknown
	assert.True(t, s.Dead(m))
	s.NoQuorum = true
	assert.False(t, s.Dead(m), "nobody commits")
}

func TestTheWayBack(t *testing.T) {
	at := func(s time.Duration) time.Time { return noon.Add(s) }
	type told struct {
		when   time.Duration
		leader cluster.ID
		peer   cluster.Peer
	}
	up := func(bytes uint64, rtt float64) cluster.Peer {
		return cluster.Peer{Met: true, Active: true, Received: bytes, RoundTrips: rtt}
	}
	lost := func(bytes uint64) cluster.Peer { return cluster.Peer{Met: true, Disconnected: 1, Received: bytes} }
	for name, tc := range map[string]struct {
		told []told
		want cluster.Way
	}{
		"nothing is known of it yet":           {[]told{{0, 1, cluster.Peer{}}, {1, 1, cluster.Peer{Received: 9}}}, cluster.WayUnproven},
		"connected, by whoever dialled":        {[]told{{0, 1, up(1, 0)}, {9 * time.Second, 1, up(2, 0)}}, cluster.WayUnproven},
		"a round trip":                         {[]told{{6 * time.Second, 1, up(1, 0.003)}}, cluster.WayProven},
		"a round trip of before the add":       {[]told{{4 * time.Second, 1, up(1, 0.003)}}, cluster.WayUnproven},
		"not connected, and heard":             {[]told{{0, 1, lost(1)}, {time.Second, 1, lost(2)}}, cluster.WayBroken},
		"not connected, and heard, once":       {[]told{{0, 1, lost(1)}}, cluster.WayUnproven},
		"not connected, and silent: dead":      {[]told{{0, 1, lost(1)}, {time.Second, 1, lost(1)}, {2 * time.Second, 1, lost(1)}}, cluster.WayUnproven},
		"just died":                            {[]told{{0, 1, up(1, 0)}, {time.Second, 1, lost(2)}, {2 * time.Second, 1, lost(2)}}, cluster.WayUnproven},
		"broken by the word of two leaders":    {[]told{{0, 1, lost(1)}, {time.Second, 2, lost(2)}}, cluster.WayUnproven},
		"healed":                               {[]told{{0, 1, lost(1)}, {time.Second, 1, lost(2)}, {6 * time.Second, 1, up(3, 0.1)}}, cluster.WayProven},
		"its own dial makes it look healed":    {[]told{{0, 1, lost(1)}, {time.Second, 1, lost(2)}, {6 * time.Second, 1, up(3, 0)}}, cluster.WayUnproven},
		"a round trip, and then lost for good": {[]told{{6 * time.Second, 1, up(1, 0.003)}, {7 * time.Second, 1, lost(2)}, {8 * time.Second, 1, lost(3)}}, cluster.WayBroken},
	} {
		t.Run(name, func(t *testing.T) {
			var d cluster.Dials
			var way cluster.Way
			for _, told := range tc.told {
				way = d.Way(at(told.when), told.leader, told.peer, noon)
			}
			assert.Equal(t, tc.want, way)
		})
	}
}
