package decide

import (
	"errors"
	"testing"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/probe"
	"github.com/stretchr/testify/assert"
)

var began = time.Date(2020, 11, 30, 12, 0, 0, 0, time.UTC)

const stallAfter = 5 * time.Minute

// sight is what one pass sees of a server.
type sight struct {
	index, applied uint64 // the leader's, and its own
	size           int64
	received       uint64
	failed         uint64
	receiving      bool
	status         bool // it answers on its client port
	metrics        bool // and on its metrics URL
	named          bool // it has published itself
	reads          bool // a read through it was answered
	pending        bool // one is waiting
	votes          bool // it has its vote
	err            error
}

func (s sight) evidence(now time.Time) Evidence {
	leader := cluster.Seen{Member: cluster.Member{ID: 1}, Liveness: cluster.Alive, Status: cluster.Status{DBSize: 1 << 20}}
	m := cluster.Seen{Member: cluster.Member{ID: 2, Learner: !s.votes}}
	if s.named {
		m.Name = "m2"
	}
	if s.status {
		m.Liveness, m.Status = cluster.Alive, cluster.Status{Applied: s.applied, DBSize: s.size}
	}
	e := Evidence{Now: now, Patience: 2 * time.Second, Snapshot: cluster.Snapshot{Leader: 1, Index: s.index, Members: []cluster.Seen{leader, m}}, Member: m}
	e.Read.Err = s.err
	if s.reads {
		e.Read.At = now
	}
	if s.pending {
		e.Read.Asked = now.Add(-10 * time.Second)
	}
	if s.metrics {
		e.Metrics = probe.Answer[cluster.Metrics]{At: now, Value: cluster.Metrics{Applied: s.applied, Received: s.received, Receiving: s.receiving, Failed: s.failed}}
	}
	return e
}

// watched is a server that is looked at once a minute for ten minutes.
func watchedFor10(at func(minute int) sight) cluster.Progress {
	t := NewTracker(began)
	var p cluster.Progress
	for minute := 1; minute <= 10; minute++ {
		p = t.Observe(at(minute).evidence(began.Add(time.Duration(minute) * time.Minute)))
	}
	return p
}

func TestTheStallClock(t *testing.T) {
	unready := &cluster.Unready{Status: 500, Text: "no leader"}
	died := errors.New("connection refused")
	for name, tc := range map[string]struct {
		at      func(minute int) sight
		still   time.Duration
		stalled bool
	}{
		// What moves.
		"it applies":                             {func(m int) sight { return sight{index: 1e6, applied: 1000 * uint64(m), status: true} }, 0, false},
		"it applies, as its metrics say":         {func(m int) sight { return sight{index: 1e6, applied: 1000 * uint64(m), metrics: true} }, 0, false},
		"its db grows":                           {func(m int) sight { return sight{index: 1e6, applied: 1, size: int64(m) << 20, status: true} }, 0, false},
		"a snapshot is on its way":               {func(m int) sight { return sight{index: 1e6, metrics: true, receiving: true, received: uint64(m)} }, 0, false},
		"a snapshot, its traffic cannot be read": {func(m int) sight { return sight{index: 1e6, metrics: true, receiving: true} }, 0, false},
		"it answers for the first time":          {func(m int) sight { return sight{status: m == 10} }, 0, false},
		"it was named for the first time":        {func(m int) sight { return sight{named: m == 10} }, 0, false},
		"it reads for the first time":            {func(m int) sight { return sight{status: true, size: 1, reads: m == 10} }, 0, false},
		"it applied once more, four minutes ago": {func(m int) sight {
			return sight{status: true, index: 9, applied: map[bool]uint64{true: 2, false: 1}[m >= 6]}
		}, 4 * time.Minute, false},
		"it applied once more, five minutes ago": {func(m int) sight {
			return sight{status: true, index: 9, applied: map[bool]uint64{true: 2, false: 1}[m >= 5]}
		}, 5 * time.Minute, true},

		// What does not.
		"nothing has ever answered":             {func(int) sight { return sight{err: died} }, 10 * time.Minute, true},
		"it answered, and then no more":         {func(m int) sight { return sight{status: m == 1} }, 9 * time.Minute, true},
		"it has applied, and stands":            {func(int) sight { return sight{status: true, index: 100, applied: 50} }, 9 * time.Minute, true},
		"it has all, and reads, and no vote":    {func(int) sight { return sight{status: true, index: 100, applied: 100, reads: true} }, 9 * time.Minute, true},
		"a snapshot is on its way, and stands":  {func(int) sight { return sight{metrics: true, receiving: true, received: 7} }, 9 * time.Minute, true},
		"a request is pending on a silent port": {func(int) sight { return sight{pending: true} }, 9 * time.Minute, true},
		"it receives heartbeats and no more":    {func(m int) sight { return sight{index: 1e6, metrics: true, received: uint64(m)} }, 9 * time.Minute, true},
		"snapshots come, and fail each time": {func(m int) sight {
			return sight{index: 1e6, metrics: true, receiving: true, received: uint64(m), failed: uint64(m) - 1}
		}, 7 * time.Minute, true},
		"its db shrinks":               {func(m int) sight { return sight{status: true, index: 9, applied: 1, size: 100 - int64(m)} }, 9 * time.Minute, true},
		"a crash loop":                 {func(m int) sight { return sight{status: m%2 == 1, named: true, index: 100, applied: 50, size: 1000} }, 9 * time.Minute, true},
		"a crash loop, by its metrics": {func(m int) sight { return sight{metrics: m%2 == 1, index: 100, applied: 50, received: 1000} }, 9 * time.Minute, true},
		"a crash loop that gets less far": {func(m int) sight {
			return sight{status: m%2 == 1, index: 100, applied: 50 - uint64(m), size: 1000 - int64(m)}
		}, 9 * time.Minute, true},
		"a crash loop that answers for a moment": {func(m int) sight { return sight{err: map[bool]error{true: unready, false: died}[m%2 == 1]} }, 9 * time.Minute, true},
		"a crash loop that reads for a moment":   {func(m int) sight { return sight{reads: m%2 == 1, status: m%2 == 1} }, 9 * time.Minute, true},

		// What nobody can tell.
		"it answers that it cannot read, no more": {func(int) sight { return sight{err: unready, named: true} }, 9 * time.Minute, false},
		"it reads, and nothing else can be asked": {func(int) sight { return sight{reads: true} }, 9 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := watchedFor10(tc.at)
			assert.Equal(t, tc.still, p.Still)
			assert.Equal(t, 10*time.Minute, p.Elapsed)
			assert.Equal(t, tc.stalled, (p.Still >= stallAfter && p.Stalls()), "%s", p)
		})
	}
}

func TestPhases(t *testing.T) {
	unready := &cluster.Unready{Status: 503, Text: `{"health":"false"}`}
	died := errors.New("connection refused")
	handshake := errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")
	for name, tc := range map[string]struct {
		first, then sight
		want        cluster.Phase
	}{
		"nothing answers":                        {sight{err: died}, sight{err: died}, cluster.NotStarted},
		"nothing was asked yet":                  {sight{}, sight{}, cluster.NotStarted},
		"a port accepts and stays silent":        {sight{pending: true}, sight{pending: true}, cluster.Unreachable},
		"it has run before, and does not now":    {sight{named: true}, sight{named: true, err: died}, cluster.Unreachable},
		"it answered, and does not now":          {sight{status: true}, sight{err: died}, cluster.Unreachable},
		"it read, and does not now":              {sight{reads: true}, sight{err: died}, cluster.Unreachable},
		"something answers by TLS":               {sight{err: handshake}, sight{err: handshake}, cluster.Unreachable},
		"it answers that it cannot read":         {sight{err: unready}, sight{err: unready}, cluster.NoContact},
		"it answers, has all, and reads nothing": {sight{status: true, index: 9, applied: 9}, sight{status: true, index: 9, applied: 9, err: unready}, cluster.NoContact},
		"its applied index cannot be read":       {sight{status: true, index: 9}, sight{status: true, index: 9}, cluster.NoContact},
		"it is behind":                           {sight{status: true, index: 9, applied: 1}, sight{status: true, index: 9, applied: 1}, cluster.CatchingUp},
		"it applies as fast as the leader":       {sight{status: true, index: 9, applied: 9}, sight{status: true, index: 12, applied: 12}, cluster.CatchingUp},
		"a snapshot is on its way":               {sight{metrics: true}, sight{metrics: true, receiving: true, index: 9}, cluster.CatchingUp},
		"it reads":                               {sight{status: true}, sight{status: true, reads: true}, cluster.InSync},
		"it votes, reads, and does not serve":    {sight{reads: true}, sight{reads: true, votes: true}, cluster.Silent},
		"it votes, reads and serves":             {sight{reads: true}, sight{reads: true, votes: true, status: true}, cluster.InSync},
		"it votes, and nothing answers":          {sight{reads: true}, sight{votes: true, err: died}, cluster.Unreachable},
		"it reads before it was named":           {sight{}, sight{reads: true}, cluster.InSync},
		"it has read, and the next one hangs":    {sight{reads: true}, sight{reads: true, pending: true}, cluster.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			tr := NewTracker(began)
			tr.Observe(tc.first.evidence(began.Add(time.Second)))
			assert.Equal(t, tc.want, tr.Observe(tc.then.evidence(began.Add(2*time.Second))).Phase)
		})
	}
}

func TestRateAndEstimate(t *testing.T) {
	for name, tc := range map[string]struct {
		applied  func(minute int) uint64
		rate     float64
		lag      uint64
		estimate time.Duration
	}{
		// The first number it shows is where the rate begins: a snapshot's index came at once.
		"a steady pace":           {func(m int) uint64 { return 600 * uint64(m) }, 9, 4000, 444 * time.Second},
		"it stands":               {func(int) uint64 { return 5000 }, 0, 5000, 0},
		"it cannot be read":       {func(int) uint64 { return 0 }, 0, 0, 0},
		"it has all":              {func(m int) uint64 { return 1000 * uint64(m) }, 15, 0, 0},
		"it is ahead of our look": {func(m int) uint64 { return 2000 * uint64(m) }, 30, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := watchedFor10(func(m int) sight { return sight{status: true, index: 10_000, applied: tc.applied(m)} })
			assert.InDelta(t, tc.rate, p.Rate, 0.001)
			assert.Equal(t, tc.lag, p.Lag())
			assert.Equal(t, tc.estimate, p.Estimate().Round(time.Second))
		})
	}
}

func TestProgressInWords(t *testing.T) {
	for name, tc := range map[string]struct {
		progress cluster.Progress
		want     string
	}{
		"nothing answers":      {cluster.Progress{Phase: cluster.NotStarted, Still: time.Minute, ReadError: "connection refused"}, "not started for 1m0s, the newest read failed: connection refused"},
		"it catches up":        {cluster.Progress{Phase: cluster.CatchingUp, Still: time.Millisecond, Index: 50, LeaderIndex: 100, DBSize: 10, LeaderDB: 20, Receiving: true}, "catching up for 1ms, applied 50 of 100, 10 of 20 bytes, a snapshot is on its way"},
		"a read is pending":    {cluster.Progress{Phase: cluster.Unreachable, Still: time.Second, Pending: 3 * time.Second}, "not reachable for 1s, a read through it has been pending for 3s"},
		"a read was just sent": {cluster.Progress{Phase: cluster.InSync, Pending: time.Millisecond}, "in sync for 0s"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, tc.progress.String()) })
	}
	p := cluster.Progress{Phase: cluster.Unreachable, ReadAt: time.Now().Add(-time.Minute)}
	assert.Contains(t, p.String(), "last read through it answered 1m0")
}
