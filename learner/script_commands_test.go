package learner_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// world are the commands that make the cluster what it is, or let something
// happen to it.
var world, acts map[string]func(*script, []string)

func init() {
	world = map[string]func(*script, []string){
		"voters":       func(s *script, a []string) { s.cluster = clustertest.New(a...) },                          // <peerURL>...
		"version":      func(s *script, a []string) { s.cluster.SetVersion(s.id(a, 1), a[0]) },                     // <version> [id]
		"host-version": func(s *script, a []string) { s.cluster.Host(a[0]).SetVersion(a[1]) },                      // <url> <version>
		"kill":         func(s *script, a []string) { s.cluster.Kill(s.id(a, 0)) },                                 // <id>
		"restart":      func(s *script, a []string) { s.cluster.Restart(s.id(a, 0)) },                              // <id>
		"pause":        func(s *script, a []string) { s.cluster.Pause(s.id(a, 0)) },                                // <id>
		"resume":       func(s *script, a []string) { s.cluster.Resume(s.id(a, 0)) },                               // <id>
		"cut":          func(s *script, a []string) { s.cluster.CutPeer(s.id(a, 0)) },                              // <id>
		"heal":         func(s *script, a []string) { s.cluster.HealPeer(s.id(a, 0)) },                             // <id>
		"one-way":      func(s *script, a []string) { s.cluster.OneWay(s.id(a, 0), len(a) < 2) },                   // <id> [off]
		"hide":         func(s *script, a []string) { s.cluster.Hide(s.id(a, 0), len(a) < 2) },                     // <id> [off]
		"wipe":         func(s *script, a []string) { s.cluster.Wipe(s.id(a, 0)) },                                 // <id>
		"lead":         func(s *script, a []string) { s.cluster.SetLeader(s.id(a, 0)) },                            // <id>
		"silent":       func(s *script, a []string) { s.cluster.Silent(s.id(a, 0), len(a) < 2) },                   // <id> [off]
		"lag":          func(s *script, a []string) { s.cluster.Lag(s.id(a, 0), s.number(a, 1)) },                  // <id> <entries>
		"lag-apply":    func(s *script, a []string) { s.cluster.LagApply(s.id(a, 0), s.number(a, 1)) },             // <id> <entries>
		"receives":     func(s *script, a []string) { s.cluster.ReceiveRate(s.id(a, 0), float64(s.number(a, 1))) }, // <id> <per second>
		"applies":      func(s *script, a []string) { s.cluster.ApplyRate(s.id(a, 0), float64(s.number(a, 1))) },   // <id> <per second>
		"put":          func(s *script, a []string) { s.cluster.Put(s.number(a, 0)) },                              // <entries>
		"limit":        func(s *script, a []string) { s.cluster.SetLearnerLimit(s.number(a, 0)) },                  // <learners>
		"lenient":      func(s *script, _ []string) { s.cluster.SetStrict(false) },                                 // --strict-reconfig-check=false
		"alarm":        func(s *script, a []string) { s.cluster.SetAlarm(s.id(a, 0), a[1]) },                       // <id> NOSPACE|CORRUPT
		"name":         func(s *script, a []string) { s.cluster.SetName(s.id(a, 0), strings.Join(a[1:], " ")) },    // <id> [name]
		"client-urls":  func(s *script, a []string) { s.cluster.SetClientURLs(s.id(a, 0), a[1:]...) },              // <id> [url]...
		"own":          func(s *script, a []string) { s.cluster.OwnEndpoints(a...) },                               // <url>...: the caller's endpoints
		"route":        func(s *script, a []string) { s.cluster.Route(a[0], s.id(a, 1)) },                          // <url> <id>
		"usurp":        func(s *script, a []string) { s.usurped.Store(s.id(a, 0), true) },                          // <id>: another cluster's server answers in its place
		"web":          (*script).web,                                                                              // <url> <status>|garbage|asks-certificate [version=<text>] [cluster=<id>] [body=<text>]
		"stranger":     func(s *script, a []string) { s.cluster.Stranger(a[0]) },                                   // <url>: a server of another cluster
		"reset":        func(s *script, a []string) { s.cluster.Reset(s.id(a, 0)) },                                // <id>: it goes on alone, under the same cluster ID
		"raw":          func(s *script, a []string) { s.cluster.AddRaw(s.entry(a)) },                               // [id=] [name=] peer=<url>,… [client=<url>,…] [learner]
		"operator":     (*script).operator,                                                                         // promotes|removes <id>, or updates <id> <url>
		"diverge":      (*script).diverge,                                                                          // <id> [without <id>]
		"data":         (*script).data,                                                                             // <url> empty|damaged|foreign|member <id>
		"downgrade":    func(s *script, _ []string) { s.cluster.Downgrading(true) },                                //
		"snapshots":    func(s *script, _ []string) { s.cluster.SnapshotJoin(true) },                               // joiners get a snapshot
		"supervised":   func(s *script, _ []string) { s.cluster.Supervised(true) },                                 // a failed start is no error of the hook
		"no-peer-read": func(s *script, _ []string) { s.cluster.NoPeerRead(true) },                                 //
		"forgets":      func(s *script, _ []string) { s.cluster.DropUncommitted(true) },                            // what lost its quorum never happens
		"timing":       (*script).timing,                                                                           // boot|catch-up|commit|election|notice|restore <duration>
		"fault":        (*script).fault,                                                                            // <call> <nth>|all <kind> [error]
		"deny":         func(s *script, a []string) { s.cluster.Deny(clustertest.Op(a[0]), s.named(a[1])) },        // <call> <error>
		"mend":         func(s *script, _ []string) { s.cluster.ClearFaults() },                                    // end all faults
		"die":          func(s *script, _ []string) { s.process.die() },                                            // kill the joining process
		"sleep":        func(s *script, a []string) { time.Sleep(s.duration(a[0])) },                               // <duration>
		"at":           (*script).at,                                                                               // <event-kind> <command>
		"after": func(s *script, a []string) {
			time.AfterFunc(s.duration(a[0]), func() { s.do(strings.Join(a[1:], " ")) })
		}, // <duration> <command>
	}
	acts = map[string]func(*script, []string){
		"join":       func(s *script, a []string) { s.join(a, false) },  // <name> <peerURL> [knob=value]...
		"join-voter": func(s *script, a []string) { s.join(a, true) },   // the same, the old way
		"plan":       func(s *script, a []string) { s.plan(a, false) },  //
		"plan-voter": func(s *script, a []string) { s.plan(a, true) },   //
		"steps":      (*script).steps,                                   // Step until it is done
		"add":        (*script).add,                                     //
		"abort":      (*script).abort,                                   //
		"promote":    (*script).promote,                                 // <id> [knob=value]...
		"remove":     func(s *script, a []string) { s.leave(a, false) }, // <id> [knob=value]...
		"leave":      func(s *script, a []string) { s.leave(a, true) },  // <id> [knob=value]...
		"together":   (*script).together,                                // <name>@<peerURL>... [knob=value]...
		"members":    func(s *script, _ []string) { s.members(true) },   //
	}
}

// knobs are those of a join: of member.Config, and of the process itself.
var knobs = map[string]func(*process, string){
	"within":           func(p *process, v string) { p.within = p.s.duration(v) },
	"empties":          func(p *process, _ string) { p.empties = true },
	"no-start":         func(p *process, _ string) { p.config.Start = nil },
	"no-stop":          func(p *process, _ string) { p.config.Stop = nil },
	"data":             func(p *process, v string) { p.config.DataDir = shown{p.s.cluster.Host(p.url), cluster.DataKind(v)} },
	"no-data":          func(p *process, _ string) { p.config.DataDir = nil },
	"exited":           func(p *process, _ string) { p.config.Exited = p.s.cluster.Host(p.url).Exited },
	"on-failure":       func(p *process, v string) { p.config.OnFailure = member.OnFailure(v) },
	"same-name":        func(p *process, v string) { p.config.SameName = member.SameName(v) },
	"slot":             func(p *process, v string) { p.config.Slot = member.Slot(v) },
	"return-at":        func(p *process, v string) { p.config.ReturnAt = member.Moment(v) },
	"accept-no-margin": func(p *process, _ string) { p.config.AcceptNoMargin = true },
	"accept-hazards":   func(p *process, v string) { p.config.AcceptHazards = strings.Split(v, ",") },
	"update-address":   func(p *process, _ string) { p.config.UpdateAddress = true },
	"rejoin":           func(p *process, _ string) { p.config.Rejoin = true },
	"read-within":      func(p *process, v string) { p.config.ReadWithin = p.s.duration(v) },
	"evict-after":      func(p *process, v string) { p.config.EvictAfter = p.s.duration(v) },
	"stall":            func(p *process, v string) { p.config.StallTimeout = p.s.duration(v) },
	"cluster-id":       func(p *process, v string) { p.reach.ClusterID = p.s.id([]string{v}, 0) },
	"endpoint-timeout": func(p *process, v string) { p.reach.EndpointTimeout = p.s.duration(v) },
	"write-timeout":    func(p *process, v string) { p.config.WriteTimeout = p.s.duration(v) },
	"server-version":   func(p *process, v string) { p.config.ServerVersion = version.MustParse(v) },
	"metrics":          func(p *process, v string) { p.config.MetricsURL = v },
	"broken-disk":      func(p *process, _ string) { p.config.DataDir = &breaks{DataDir: p.config.DataDir, p: p} },
	"alive":            func(p *process, v string) { p.reach.Alive = p.s.alive(v) },
	"endpoints":        func(p *process, v string) { p.reach.Endpoints = p.s.endpoints(v) },
	"may-add":          func(p *process, v string) { p.config.MayAdd = refusing(v) },
	"may-add-meanwhile": func(p *process, v string) { // a command, with _ for spaces
		p.config.MayAdd = func(context.Context, cluster.Member) error {
			p.s.do(strings.ReplaceAll(v, "_", " "))
			time.Sleep(time.Minute)
			return nil
		}
	},
	"may-promote-meanwhile": func(p *process, v string) { // commands, with _ for spaces and + between them, once
		var once sync.Once
		p.config.MayPromote = func(context.Context, cluster.Member) error {
			once.Do(func() {
				for _, command := range strings.Split(v, "+") {
					p.s.do(strings.ReplaceAll(command, "_", " "))
				}
			})
			return nil
		}
	},
	"may-promote": func(p *process, v string) { p.config.MayPromote = refusing(v) },
	"may-remove":  func(p *process, v string) { p.config.MayRemove = refusing(v) },
}

// shown is a data directory that is not what it seems.
type shown struct {
	member.DataDir
	kind cluster.DataKind
}

func (d shown) Inspect(context.Context) (cluster.DataInfo, error) {
	return cluster.DataInfo{Kind: d.kind}, nil
}

// breaks is a data directory whose disk fails once something was started on it.
type breaks struct {
	member.DataDir
	p *process
}

func (b *breaks) Inspect(ctx context.Context) (cluster.DataInfo, error) {
	if len(b.p.initial) > 0 {
		return cluster.DataInfo{}, errors.New("input/output error")
	}
	return b.DataDir.Inspect(ctx)
}

func refusing(why string) func(context.Context, cluster.Member) error {
	return func(context.Context, cluster.Member) error { return errors.New(strings.ReplaceAll(why, "-", " ")) }
}

// errs are the errors by the names that scripts give them.
var errs = map[string]error{
	"reset":          errors.New("connection reset by peer"),
	"closed":         reason.ErrClosed,
	"peer-port":      errors.New(`rpc error: code = Unavailable desc = connection error: desc = "error reading server preface: http2: frame too large"`),
	"denied":         rpctypes.ErrPermissionDenied,
	"no-user":        rpctypes.ErrUserEmpty,
	"bad-password":   rpctypes.ErrAuthFailed,
	"expired":        rpctypes.ErrInvalidAuthToken,
	"bad-urls":       rpctypes.ErrMemberBadURLs,
	"corrupt":        rpctypes.ErrCorrupt,
	"unhealthy":      rpctypes.ErrUnhealthy,
	"not-capable":    rpctypes.ErrNotCapable,
	"leader-changed": rpctypes.ErrLeaderChanged,
	"timeout":        rpctypes.ErrTimeout,
	"too-many":       rpctypes.ErrTooManyLearners,
	"url-exists":     rpctypes.ErrPeerURLExist,
	"id-exists":      rpctypes.ErrMemberExist,
	"not-learner":    rpctypes.ErrMemberNotLearner,
	"not-ready":      rpctypes.ErrMemberLearnerNotReady,
	"not-found":      rpctypes.ErrMemberNotFound,
	"not-started":    rpctypes.ErrMemberNotEnoughStarted,
	"stopped":        rpctypes.ErrStopped,
	"x509":           errors.New("transport: authentication handshake failed: x509: certificate signed by unknown authority"),
}

// reasons are the errors that an operation ends for, by the names they are exported as.
var reasons = exportedReasons()

func exportedReasons() map[string]error {
	names := map[string]error{}
	for _, row := range reason.All() {
		names["Err"+string(row.Word)] = row.Err
	}
	names["context.DeadlineExceeded"], names["context.Canceled"] = names["ErrDeadlineExceeded"], names["ErrCanceled"]
	delete(names, "ErrDeadlineExceeded")
	delete(names, "ErrCanceled")
	return names
}

// clusterAt is the cluster whose server answers at a member's URLs, where it is not
// the one that answers.
func (s *script) clusterAt(answers, id cluster.ID) cluster.ID {
	if _, usurped := s.usurped.Load(id); usurped {
		return 0xbad
	}
	return answers
}

func (s *script) id(a []string, i int) cluster.ID {
	if i >= len(a) {
		return 0
	}
	n, err := strconv.ParseUint(a[i], 16, 64)
	require.NoError(s.t, err)
	return cluster.ID(n)
}

func (s *script) number(a []string, i int) int {
	n, err := strconv.Atoi(a[i])
	require.NoError(s.t, err)
	return n
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(s.t, err)
	return d
}

func (s *script) named(name string) error {
	require.Contains(s.t, errs, name)
	return errs[name]
}

func (s *script) entry(a []string) cluster.Member {
	var m cluster.Member
	for _, arg := range a {
		switch key, value, _ := strings.Cut(arg, "="); key {
		case "id":
			m.ID = s.id([]string{value}, 0)
		case "name":
			m.Name = value
		case "peer":
			m.PeerURLs = strings.Split(value, ",")
		case "client":
			m.ClientURLs = strings.Split(value, ",")
		case "learner":
			m.Learner = true
		default:
			s.t.Fatalf("no such part of an entry: %s", arg)
		}
	}
	return m
}

// web lets something that is no etcd server answer at a URL; "nobody" ends that.
func (s *script) web(a []string) {
	var w clustertest.Web
	switch a[1] {
	case "garbage":
		w.Err = clustertest.Garbage
	case "asks-certificate":
		w.Err = clustertest.AsksCertificate
	case "distrusted":
		w.Err = errs["x509"]
	case "nobody":
	default:
		w.Status = s.number(a, 1)
	}
	for _, arg := range a[2:] {
		key, value, _ := strings.Cut(arg, "=")
		fields := map[string]*string{"version": &w.Version, "cluster": &w.ClusterID, "body": &w.Body}
		require.Contains(s.t, fields, key)
		*fields[key] = value
	}
	s.cluster.Serve(a[0], w)
}

func (s *script) operator(a []string) {
	switch id := s.id(a, 1); a[0] {
	case "promotes":
		s.cluster.Promoted(id)
	case "removes":
		s.cluster.Removed(id)
	case "updates":
		leader, _ := s.cluster.Member(s.cluster.Leader())
		require.NoError(s.t, s.cluster.Update(s.t.Context(), cluster.Target{Member: leader}, id, a[2:]))
	default:
		s.t.Fatalf("an operator does not %s", a[0])
	}
}

// diverge gives a voter a list without another member, or its true one again.
func (s *script) diverge(a []string) {
	if len(a) == 1 {
		s.cluster.DivergeList(s.id(a, 0), nil)
		return
	}
	s.cluster.DivergeList(s.id(a, 0), slices.DeleteFunc(s.cluster.Members(), func(m cluster.Member) bool { return m.ID == s.id(a, 2) }))
}

func (s *script) data(a []string) {
	switch h := s.cluster.Host(a[0]); a[1] {
	case "empty":
		h.Wipe()
	case "damaged":
		h.Damage("the WAL ends in the middle of a record")
	case "foreign":
		h.SetData(0xbad, 7)
	case "member":
		h.SetData(clustertest.ClusterID, s.id(a, 2))
	default:
		s.t.Fatalf("no such data: %s", a[1])
	}
}

func (s *script) timing(a []string) {
	t := &s.cluster.Timing
	fields := map[string]*time.Duration{"boot": &t.Boot, "catch-up": &t.CatchUp, "commit": &t.Commit, "election": &t.Election,
		"notice": &t.Notice, "publish": &t.Publish, "restore": &t.Restore}
	require.Contains(s.t, fields, a[0])
	*fields[a[0]] = s.duration(a[1])
}

// fault lets the nth call of an operation, or all, go wrong.
func (s *script) fault(a []string) {
	why := errs["reset"]
	if len(a) > 3 && a[2] != "late" && a[2] != "elsewhere" && a[2] != "slow" {
		why = s.named(a[3])
	}
	fault := map[string]clustertest.Fault{
		"before":        {Before: why},
		"after":         {After: why},
		"hang":          {Hang: true},
		"lost":          {HangAfter: true}, // the answer
		"idle":          {Idle: true},      // answered with success, and not done
		"stale":         {Stale: true},
		"twice":         {Duplicate: true},
		"killed-before": {OnCall: func() { s.process.die() }, Hang: true},
		"killed-after":  {OnDone: func() { s.process.die() }, HangAfter: true},
	}
	f, known := fault[a[2]]
	switch {
	case a[2] == "late":
		f = clustertest.Fault{Late: s.duration(a[3])}
	case a[2] == "elsewhere": // late, on a connection that is lost
		f = clustertest.Fault{Late: s.duration(a[3]), Reconnect: true}
	case a[2] == "slow":
		f = clustertest.Fault{Slow: s.duration(a[3])}
	default:
		require.True(s.t, known, a[2])
	}
	if a[1] == "all" {
		s.cluster.FaultAll(clustertest.Op(a[0]), f)
		return
	}
	s.cluster.Fault(clustertest.Op(a[0]), s.number(a, 1), f)
}

// at has a command done when an event comes; its kind is written with dashes.
func (s *script) at(a []string) {
	kind := strings.ReplaceAll(a[0], "-", " ")
	s.then[kind] = append(s.then[kind], strings.Join(a[1:], " "))
}

// alive is a hook that knows of one member: "3:dead".
func (s *script) alive(v string) func(context.Context, cluster.Member) (cluster.Liveness, error) {
	who, word, _ := strings.Cut(v, ":")
	id := s.id([]string{who}, 0)
	return func(_ context.Context, m cluster.Member) (cluster.Liveness, error) {
		if m.ID == id {
			return cluster.Liveness(word), nil
		}
		return cluster.Unknown, nil
	}
}

// endpoints is a hook that knows where one member is really dialled: "3:http://…".
func (s *script) endpoints(v string) func(cluster.Member) []string {
	who, url, _ := strings.Cut(v, ":")
	id := s.id([]string{who}, 0)
	return func(m cluster.Member) []string {
		if m.ID == id {
			return []string{url}
		}
		return m.ClientURLs
	}
}

func (s *script) join(a []string, voting bool) {
	p := s.begin(a)
	r, err := p.joiner(voting).Join(p.ctx, p.url)
	p.end(p.outcome(r), err)
	if m, ok := s.cluster.Member(r.Member.ID); err == nil && (!ok || m.Learner || p.last.Kind != member.Served || p.last.Member.ID != m.ID) {
		s.wrong = append(s.wrong, fmt.Sprintf("a success without a voter, or the last event does not tell of it: %v", p.last))
	}
}

func (s *script) plan(a []string, voting bool) {
	p := s.begin(a)
	plan, err := p.joiner(voting).Plan(p.ctx, p.url)
	p.end(strings.ReplaceAll(plan.String(), "\n", "\n             "), err)
}

// steps steps until it is done, each time as a new process. With memory=lost each
// begins with an empty memory.
func (s *script) steps(a []string) {
	lost := slices.Contains(a, "memory=lost")
	a = slices.DeleteFunc(slices.Clone(a), func(arg string) bool { return arg == "memory=lost" })
	var memory member.Memory
	var last string
	for range 5000 {
		p := s.begin(a)
		p.config.Observe = nil
		r, err := p.joiner(false).Step(p.ctx, p.url, memory)
		p.cancel()
		s.writes()
		if did := topicOf(member.Event{Kind: member.Kind(r.Did), Text: r.Text}); did != last && err == nil {
			about := r.Member.String()
			if r.Member.ID == 0 {
				about = "our entry"
			}
			s.tell("did %s: %s", r.Did, cmp.Or(r.Text, about))
			last = did
		}
		if err != nil || r.Did == member.DoDone {
			p.did = nil
			p.end(p.outcome(r.Result), err)
			return
		}
		if memory = r.Memory; lost {
			memory = member.Memory{}
		}
		time.Sleep(r.After)
	}
	s.tell("= it steps for ever")
}

func (s *script) add(a []string) {
	p := s.begin(a)
	spec, err := p.joiner(false).Add(p.ctx, p.url)
	p.end(fmt.Sprintf("start member %s with %s", spec.MemberID, spec.InitialCluster), err)
}

func (s *script) abort(a []string) {
	p := s.begin(a)
	p.end("nothing is left of it", p.joiner(false).Abort(p.ctx, p.url))
}

// byID begins a process about a member that is known by its ID.
func (s *script) byID(a []string) (*process, cluster.ID) {
	id := s.id(a, 0)
	return s.begin(append([]string{"", ""}, a[1:]...)), id
}

func (s *script) promote(a []string) {
	p, id := s.byID(a)
	r, err := learner.Promote(p.ctx, p.client(), id, p.config)
	p.end(p.outcome(r), err)
}

func (s *script) leave(a []string, too bool) {
	p, id := s.byID(a)
	var err error
	if too {
		p.config.Stop = s.cluster.HostOf(id).Stop
		err = member.Leave(p.ctx, p.client(), id, p.config)
	} else {
		err = member.Remove(p.ctx, p.client(), id, p.config)
	}
	p.end("it is gone", err)
}

// together lets several processes join at once. Who is first is nobody's business:
// only what came of it is told, without IDs and times.
func (s *script) together(a []string) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var ends []string
	isKnob := func(arg string) bool { return !strings.Contains(arg, "@") }
	for i, who := range slices.DeleteFunc(slices.Clone(a), isKnob) {
		name, url, _ := strings.Cut(who, "@")
		p := s.begin(append([]string{name, url}, slices.DeleteFunc(slices.Clone(a), func(arg string) bool { return !isKnob(arg) })...))
		p.config.Observe = nil
		p.far = time.Duration(i) * 541 * time.Nanosecond
		wg.Go(func() {
			_, err := p.joiner(false).Join(p.ctx, url)
			p.cancel()
			end := "= " + who + " votes"
			if err != nil {
				end = "= " + who + ": " + particulars(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, end)
		})
	}
	wg.Wait()
	slices.Sort(ends)
	fmt.Fprintln(&s.out, strings.Join(ends, "\n"))
	s.members(false)
}

// members tells who is in the list, and whether the cluster came through it.
func (s *script) members(ids bool) {
	var lines []string
	for _, m := range s.cluster.Members() {
		line := fmt.Sprintf("  %s %s %s", cmp.Or(m.Name, "(no name)"), strings.Join(m.PeerURLs, ","), m.Role())
		if ids {
			line = fmt.Sprintf("  %s%s", m.ID, line)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	fmt.Fprintf(&s.out, "%s\n  quorum lost: %t, votes given to the dead: %d\n", strings.Join(lines, "\n"), s.cluster.QuorumLost(), len(s.cluster.VotesGivenToDead()))
}
