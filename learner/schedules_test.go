package learner_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

var seedFlag = flag.Uint64("seed", 0, "play the one random schedule of this seed; 0: many new ones")

// schedulesToPlay is how many random schedules a run plays, and whether it plays all
// pairs of faults: a plain one has a part.
func schedulesToPlay(t *testing.T) (n int, all bool) {
	t.Helper()
	const name, plain = "ETCDJOIN_SCHEDULES", 120
	if os.Getenv(name) == "" {
		t.Logf("a part only: more with %s in the environment, a number", name)
		return plain, false
	}
	n, err := strconv.Atoi(os.Getenv(name))
	require.NoError(t, err, name)
	return n, true
}

// mishap is one thing that goes wrong: with the nth call of an operation, or with a
// machine, some time after the join began.
type mishap struct {
	op    clustertest.Op
	nth   int
	after time.Duration // of an accident, that has no op
	what  string
}

func (m mishap) String() string {
	if m.op == "" {
		return fmt.Sprintf("%s after %s", m.what, m.after)
	}
	return fmt.Sprintf("%s %d %s", m.op, m.nth, m.what)
}

// accidents happen to machines. What has an end is over after twenty seconds.
var accidents = map[string]struct {
	begin, end func(c *clustertest.Cluster, leader, ours cluster.ID)
	ours       bool // it happens to our server
	lasts      bool // a machine is down until somebody does something about it
}{
	"the leader is killed": {begin: func(c *clustertest.Cluster, l, _ cluster.ID) { c.Kill(l) }, end: func(c *clustertest.Cluster, l, _ cluster.ID) { c.Restart(l) }},
	"the leader is paused": {begin: func(c *clustertest.Cluster, l, _ cluster.ID) { c.Pause(l) }, end: func(c *clustertest.Cluster, l, _ cluster.ID) { c.Resume(l) }},
	"the leader is cut":    {begin: func(c *clustertest.Cluster, l, _ cluster.ID) { c.CutPeer(l) }, end: func(c *clustertest.Cluster, l, _ cluster.ID) { c.HealPeer(l) }},
	"another voter is cut": {begin: func(c *clustertest.Cluster, l, _ cluster.ID) { c.CutPeer(l%3 + 1) }, end: func(c *clustertest.Cluster, l, _ cluster.ID) { c.HealPeer(l%3 + 1) }},
	"leadership moves":     {begin: func(c *clustertest.Cluster, l, _ cluster.ID) { c.SetLeader(l%3 + 1) }},
	"ours is killed":       {ours: true, begin: func(c *clustertest.Cluster, _, o cluster.ID) { c.Kill(o) }, end: func(c *clustertest.Cluster, _, o cluster.ID) { c.Restart(o) }},
	"ours is paused":       {ours: true, begin: func(c *clustertest.Cluster, _, o cluster.ID) { c.Pause(o) }, end: func(c *clustertest.Cluster, _, o cluster.ID) { c.Resume(o) }},
	"ours is cut":          {ours: true, begin: func(c *clustertest.Cluster, _, o cluster.ID) { c.CutPeer(o) }, end: func(c *clustertest.Cluster, _, o cluster.ID) { c.HealPeer(o) }},
	"ours lags":            {ours: true, begin: func(c *clustertest.Cluster, _, o cluster.ID) { c.Lag(o, 5) }, end: func(c *clustertest.Cluster, _, o cluster.ID) { c.Lag(o, 0) }},
	"our disk is lost":     {ours: true, lasts: true, begin: func(c *clustertest.Cluster, _, o cluster.ID) { c.Wipe(o) }},
	"clients write":        {begin: func(c *clustertest.Cluster, _, _ cluster.ID) { c.Put(10_000) }},
	"an operator removes":  {begin: func(c *clustertest.Cluster, _, o cluster.ID) { c.Removed(o) }},
}

// squatter is an accident of its own: until it is over, to add our entry would end the members.
const squatter = "a web server is at our URL first"

// schedule is a join and all that goes wrong in it.
type schedule struct {
	voters  []string
	mishaps []mishap
	others  int           // servers that join at the same time
	within  time.Duration // what the callers allow; 0: ten minutes
	config  func(*member.Config)
	keeps   bool // nothing is undone
}

func (s schedule) String() string {
	return fmt.Sprintf("%d voters, %d joiners beside ours, within %s, %v", len(s.voters), s.others, s.within, s.mishaps)
}

// stage is a schedule while it is played.
type stage struct {
	schedule
	cluster  *clustertest.Cluster
	mu       sync.Mutex
	down     bool      // some machine is
	accident time.Time // the last one
	votes    int       // given to the dead, when last seen
	killed   bool      // our process
	voted    map[cluster.ID]bool
	wrong    []string
}

// play plays a schedule, and then lets everybody join again with nothing going
// wrong. It returns what did not hold. A violation must not end the bubble, or
// nobody would learn which schedule it was.
func (s schedule) play(t *testing.T) (wrong []string) {
	seed(1)
	synctest.Test(t, func(t *testing.T) {
		st := &stage{schedule: s, cluster: clustertest.New(s.voters...), voted: map[cluster.ID]bool{}}
		urls := []string{d, "http://10.0.0.8:2380", "http://10.0.0.9:2380"}[:1+s.others]
		errs := st.joinAll(t, urls, true)
		st.cluster.ClearFaults()
		time.Sleep(40 * time.Second) // what was late arrives, what was down is back
		st.check()
		st.checkOrphans(urls, errs)
		st.again(t, urls)
		st.converged(len(urls))
		wrong = st.wrong
	})
	return wrong
}

// again lets everybody join again. Who joins while others do may be told to do so
// once more: a server that was just being started can find that the list has changed.
func (st *stage) again(t *testing.T, urls []string) {
	var errs []error
	for range urls {
		if errs = st.joinAll(t, urls, false); errors.Join(errs...) == nil {
			return
		}
	}
	st.violated("to join again does not converge: %v", errs)
}

// joinAll joins all servers at once, each in a process of its own.
func (st *stage) joinAll(t *testing.T, urls []string, mishaps bool) []error {
	errs := make([]error, len(urls))
	done := make(chan struct{})
	for i, url := range urls {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		if mishaps && st.within > 0 {
			ctx, cancel = context.WithTimeout(t.Context(), st.within)
		}
		w := wire{next: st.cluster, far: time.Duration(i) * 541 * time.Nanosecond, dead: new(atomic.Bool),
			other: func(answers, _ cluster.ID) cluster.ID { return answers }, wrote: func(clustertest.Op, error) { st.check() }}
		if mishaps && i == 0 {
			st.begin(func() {
				w.dead.Store(true)
				st.killed = true
				cancel()
			})
		}
		go func() {
			defer func() { done <- struct{}{} }()
			defer cancel()
			errs[i] = st.join(ctx, w, fmt.Sprintf("new%d", i), url)
		}()
	}
	for range urls {
		<-done
	}
	return errs
}

func (st *stage) join(ctx context.Context, w wire, name, url string) error {
	host := st.cluster.Host(url)
	config := member.Config{Start: host.Start, Stop: st.stops(host), Exited: host.Exited, DataDir: archives{host, st}, Rejoin: true,
		Observe: func(member.Event) { st.check() }}
	if st.config != nil {
		st.config(&config)
	}
	j, err := learner.NewJoiner(w, name, config)
	if err != nil {
		return err
	}
	r, err := j.Join(ctx, url)
	var join *member.JoinError
	switch {
	case err != nil && !errors.As(err, &join):
		st.violated("an error that is no JoinError: %v", err)
	case err == nil && r.Member.Learner:
		st.violated("a success without a vote: %v", r.Member)
	}
	return err
}

// stops is a host's hook. Nobody is stopped who is in the list.
func (st *stage) stops(host *clustertest.Host) func(context.Context) error {
	return func(ctx context.Context) error {
		st.checkGone(ctx, host, "stopped")
		return host.Stop(ctx)
	}
}

type archives struct {
	*clustertest.Host
	st *stage
}

func (a archives) Archive(ctx context.Context) error {
	a.st.checkGone(ctx, a.Host, "moved aside")
	return a.Host.Archive(ctx)
}

func (st *stage) checkGone(ctx context.Context, host *clustertest.Host, what string) {
	data, _ := host.Inspect(ctx)
	if _, listed := st.cluster.Member(data.MemberID); listed && data.Kind == cluster.DataMember {
		st.violated("member %s was %s while it was in the list", data.MemberID, what)
	}
}

// checkOrphans holds what is left of joins that failed against their errors: an entry
// that never ran is undone, or told of.
func (st *stage) checkOrphans(urls []string, errs []error) {
	for i, url := range urls {
		var join *member.JoinError
		if errs[i] == nil || errors.Is(errs[i], errKilled) || !errors.As(errs[i], &join) || st.keeps || i == 0 && st.killed {
			continue
		}
		for _, m := range st.cluster.Members() {
			if m.PeerURLs[0] == url && !m.Started() && join.Undone == "" && !errors.Is(join, member.ErrUndecided) {
				st.violated("%s is left, and no word of it: %v", m, join)
			}
		}
	}
}

// begin sets everything up that will go wrong.
func (st *stage) begin(die func()) {
	st.cluster.FaultAll(clustertest.OpPromote, clustertest.Fault{OnDone: st.check})
	for _, m := range st.mishaps {
		if m.op != "" {
			f := faults[m.what](die)
			done := f.OnDone
			f.OnDone = func() {
				st.check()
				if done != nil {
					done()
				}
			}
			st.cluster.Fault(m.op, m.nth, f)
			continue
		}
		if m.what == squatter { // there from the beginning: what comes between the question and the add, nobody could see
			st.cluster.Serve(d, clustertest.Web{Status: http.StatusForbidden})
			time.AfterFunc(m.after, func() { st.cluster.Serve(d, clustertest.Web{}) })
			continue
		}
		time.AfterFunc(m.after, func() { st.happen(m.what) })
	}
}

// happen lets an accident happen, unless a machine is down already: what more than
// a quorum of machines does is nobody's fault but theirs.
func (st *stage) happen(what string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	accident, leader, ours := accidents[what], st.cluster.Leader(), st.ours()
	if st.down || leader == 0 || accident.ours && ours == 0 {
		return
	}
	st.down, st.accident = accident.lasts || accident.end != nil, time.Now()
	accident.begin(st.cluster, leader, ours)
	if accident.end != nil {
		time.AfterFunc(20*time.Second, func() {
			accident.end(st.cluster, leader, ours)
			st.mu.Lock()
			defer st.mu.Unlock()
			st.down = false
		})
	}
}

// ours is our entry, 0 if there is none.
func (st *stage) ours() cluster.ID {
	for _, m := range st.cluster.Members() {
		if m.PeerURLs[0] == d {
			return m.ID
		}
	}
	return 0
}

func (st *stage) violated(format string, args ...any) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.note(format, args...)
}

func (st *stage) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(st.wrong, text) {
		st.wrong = append(st.wrong, text)
	}
}

// check holds the cluster to what must be so at any moment.
func (st *stage) check() {
	st.mu.Lock()
	defer st.mu.Unlock()
	members := st.cluster.Members()
	if st.cluster.QuorumLost() {
		st.note("the quorum was lost")
	}
	bad := st.cluster.VotesGivenToDead()
	// Who dies between the gate's read and the vote that is asked for at once, or
	// after that, cannot be saved by anybody.
	if len(bad) > st.votes && st.sinceAccident() > 50*time.Millisecond {
		st.note("%s", bad[len(bad)-1])
	}
	st.votes = len(bad)
	st.checkMargin(members)
	entries := map[string]int{}
	for i, m := range members {
		entries[m.PeerURLs[0]]++
		if i < len(st.voters) && (int(m.ID) != i+1 || m.Learner || m.Name != fmt.Sprintf("m%d", i+1) || m.PeerURLs[0] != st.voters[i]) {
			st.note("somebody else's entry was touched: %v", members)
		}
	}
	for url, n := range entries {
		if n > 1 {
			st.note("%d entries of %s", n, url)
		}
	}
}

// sinceAccident is how long before the last vote was asked for the last accident
// happened; negative: after that.
func (st *stage) sinceAccident() time.Duration {
	var asked time.Time
	for _, w := range st.cluster.Writes() {
		if w.Op == clustertest.OpPromote {
			asked = w.When
		}
	}
	return asked.Sub(st.accident)
}

// checkMargin looks at each vote when it is first seen: the quorum must survive if
// the new voter fails at once, but for the second voter of all. A look may be as old
// as one EndpointTimeout.
func (st *stage) checkMargin(members []cluster.Member) {
	voters := 0
	for _, m := range members {
		if !m.Learner {
			voters++
		}
	}
	for _, m := range members {
		if m.Learner || st.voted[m.ID] {
			continue
		}
		st.voted[m.ID] = true
		live := slices.DeleteFunc(st.cluster.LiveVoters(), func(v cluster.Member) bool { return v.ID == m.ID })
		if int(m.ID) > len(st.voters) && voters > 2 && len(live) <= voters/2 && st.sinceAccident() > 2100*time.Millisecond {
			st.note("%s got its vote beside %d live of %d voters", m, len(live), voters)
		}
	}
}

// checkRemoves holds every remove to a learner, unless a disk was lost.
func (st *stage) checkRemoves() {
	wiped := slices.ContainsFunc(st.mishaps, func(m mishap) bool { return m.what == "our disk is lost" })
	for _, w := range st.cluster.Writes() {
		if w.Op == clustertest.OpRemove && w.Applied && st.voted[w.ID] && !wiped {
			st.violated("the voter %s was removed", w.ID)
		}
	}
}

// converged holds the cluster to what must be so in the end.
func (st *stage) converged(joined int) {
	st.check()
	st.checkRemoves()
	members := st.cluster.Members()
	if len(members) != len(st.voters)+joined {
		st.violated("%d members, not %d", len(members), len(st.voters)+joined)
	}
	for _, m := range members {
		if m.Learner || !m.Started() {
			st.violated("it ends with %s", m)
		}
	}
}

// Everything that can go wrong with the calls of a join, one by one and each with
// each other.
func TestAnyTwoFaultsAreSurvived(t *testing.T) {
	var single []mishap
	for op, n := range map[clustertest.Op]int{clustertest.OpList: 2, clustertest.OpAdd: 1, clustertest.OpListAt: 1,
		clustertest.OpStart: 1, clustertest.OpRead: 1, clustertest.OpWho: 1, clustertest.OpPromote: 1} {
		for nth := 1; nth <= n; nth++ {
			for what := range faults {
				single = append(single, mishap{op: op, nth: nth, what: what})
			}
		}
	}
	slices.SortFunc(single, func(x, y mishap) int { return strings.Compare(x.String(), y.String()) })
	began, runs := time.Now(), 0
	_, all := schedulesToPlay(t)
	part := rand.New(rand.NewPCG(4, 4)) // one of four, the same at each run
	for i, x := range single {
		for _, y := range single[i:] {
			if x.op == y.op && x.nth == y.nth && x != y || !all && part.IntN(4) > 0 {
				continue
			}
			runs++
			s := schedule{voters: []string{a}, mishaps: []mishap{x, y}}
			assert.Empty(t, s.play(t), s)
		}
	}
	t.Logf("%d schedules in %s", runs, time.Since(began))
}

// Random ones go deeper: up to six things go wrong, with machines and operators too,
// and others join at the same time.
func TestRandomSchedulesAreSurvived(t *testing.T) {
	began := time.Now()
	seeds := []uint64{*seedFlag}
	if *seedFlag == 0 {
		seeds = nil
		n, _ := schedulesToPlay(t)
		for range n {
			seeds = append(seeds, rand.Uint64())
		}
	}
	for _, seed := range seeds {
		s := randomSchedule(rand.New(rand.NewPCG(seed, 0)))
		require.Empty(t, s.play(t), "go test ./learner -run RandomSchedules -seed %d: %s", seed, s)
	}
	t.Logf("%d schedules in %s", len(seeds), time.Since(began))
}

func randomSchedule(r *rand.Rand) schedule {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	s := schedule{voters: [][]string{{a}, {a, b, c}}[r.IntN(2)], others: r.IntN(3)}
	if r.IntN(3) == 0 {
		s.within = time.Duration(r.Int64N(int64(300 * time.Millisecond)))
	}
	policy := []member.OnFailure{member.UndoUnstarted, member.Keep, member.Undo}[r.IntN(3)]
	s.config, s.keeps = func(c *member.Config) { c.OnFailure = policy }, policy == member.Keep
	ops := []string{"endpoints", "ask", "list", "list-at", "status", "read", "who", "may-change", "add", "promote", "remove", "start", "stop", "archive"}
	for range 1 + r.IntN(6) {
		if len(s.voters) > 1 && r.IntN(2) == 0 {
			s.mishaps = append(s.mishaps, mishap{after: time.Duration(r.Int64N(int64(3 * time.Second))), what: pick(append(sorted(accidents), squatter))})
			continue
		}
		s.mishaps = append(s.mishaps, mishap{op: clustertest.Op(pick(ops)), nth: 1 + r.IntN(8), what: pick(sorted(faults))})
	}
	return s.possible()
}

// possible leaves out what no joiner could survive: a vote that is on its way for
// twelve seconds may find that servers died meanwhile.
func (s schedule) possible() schedule {
	late := slices.ContainsFunc(s.mishaps, func(m mishap) bool { return m.op == clustertest.OpPromote && m.what == "late" })
	s.mishaps = slices.DeleteFunc(s.mishaps, func(m mishap) bool { return late && m.op == "" })
	// Nor one who is at our URL, where we cannot ask.
	squatter := slices.ContainsFunc(s.mishaps, func(m mishap) bool { return strings.Contains(m.what, "at our URL") })
	s.mishaps = slices.DeleteFunc(s.mishaps, func(m mishap) bool { return squatter && m.op == clustertest.OpAsk })
	return s
}

func sorted[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
