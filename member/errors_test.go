package member_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/member"
)

// What the tests are about: a server named "new" that joins as member 9.
const (
	ourURL  = "http://10.0.0.9:2380"
	ourName = "new"
	ourID   = cluster.ID(9)
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestJoinErrorInWords(t *testing.T) {
	base := member.JoinError{Verb: member.VerbJoin, PeerURL: ourURL, Name: ourName, Step: member.StepCheck, Err: cluster.ErrNoQuorum}
	for name, tc := range map[string]struct {
		change func(*member.JoinError)
		want   string
	}{
		"nothing was written":   {func(*member.JoinError) {}, "etcdjoin: join http://10.0.0.9:2380 (new): check: no quorum; the cluster was not changed"},
		"a hint":                {func(e *member.JoinError) { e.Hint = "bring back enough voters" }, "etcdjoin: join http://10.0.0.9:2380 (new): check: no quorum; the cluster was not changed (bring back enough voters)"},
		"something was written": {func(e *member.JoinError) { e.Step, e.Changed = member.StepAdd, true }, "etcdjoin: join http://10.0.0.9:2380 (new): add: no quorum"},
		"the member is known, in hex": {func(e *member.JoinError) {
			e.Step, e.Changed, e.MemberID = member.StepPromote, true, 0x8e9e05c52164694d
		}, "etcdjoin: join http://10.0.0.9:2380 (new) member 8e9e05c52164694d: promote: no quorum"},
		"it was undone":                  {func(e *member.JoinError) { e.Changed, e.Undone = true, "the entry was removed" }, "etcdjoin: join http://10.0.0.9:2380 (new): check: no quorum; the entry was removed"},
		"a server said something beside": {func(e *member.JoinError) { e.Last = rpctypes.ErrUnhealthy }, "etcdjoin: join http://10.0.0.9:2380 (new): check: no quorum; last error: etcdserver: unhealthy cluster; the cluster was not changed"},
		"a server said just that": {func(e *member.JoinError) {
			e.Err, e.Last = fmt.Errorf("asked 1: %w", rpctypes.ErrUnhealthy), rpctypes.ErrUnhealthy
		}, "etcdjoin: join http://10.0.0.9:2380 (new): check: asked 1: etcdserver: unhealthy cluster; the cluster was not changed"},
	} {
		t.Run(name, func(t *testing.T) {
			e := base
			tc.change(&e)
			assert.Equal(t, tc.want, e.Error())
			assert.NotContains(t, e.Error(), "\n")
		})
	}
}

// The reason, the context's error and the server's last one are all found.
func TestWhatIsFoundBehindAJoinError(t *testing.T) {
	stall := &cluster.StallError{Progress: cluster.Progress{Phase: cluster.CatchingUp}}
	var e error = &member.JoinError{Err: fmt.Errorf("%w, while waiting: %w", context.DeadlineExceeded, stall), Last: fmt.Errorf("asked 1: %w", rpctypes.ErrMemberLearnerNotReady)}
	e = fmt.Errorf("install: %w", e)
	require.ErrorIs(t, e, context.DeadlineExceeded)
	require.ErrorIs(t, e, member.ErrStalled)
	require.ErrorIs(t, e, rpctypes.ErrMemberLearnerNotReady)
	require.NotErrorIs(t, e, rpctypes.ErrMemberNotLearner)
	require.NotErrorIs(t, e, member.ErrSlotTaken)
	var join *member.JoinError
	require.ErrorAs(t, e, &join)
	var found *cluster.StallError
	require.ErrorAs(t, e, &found)
	assert.Equal(t, cluster.CatchingUp, found.Progress.Phase)

	alone := &member.JoinError{Err: cluster.ErrDenied}
	assert.Len(t, alone.Unwrap(), 1)
	require.ErrorIs(t, alone, cluster.ErrDenied)
}

func TestTypedErrors(t *testing.T) {
	holder := cluster.Holder{Member: cluster.Member{ID: 7, Name: "m7", PeerURLs: []string{"http://10.0.0.7:2380"}, Learner: true}, Seen: 90 * time.Second, Lag: 12, Lags: true}
	unnamed := cluster.Holder{Member: cluster.Member{ID: 8, PeerURLs: []string{"http://10.0.0.8:2380"}, Learner: true}, Seen: time.Second}
	for name, tc := range map[string]struct {
		err  error
		want string
		is   []error
		not  []error
	}{
		"nothing answers":          {&cluster.StallError{Progress: cluster.Progress{Phase: cluster.NotStarted, Still: time.Minute}}, "not started for 1m0s", []error{member.ErrStalled, member.ErrNotLive}, nil},
		"it answered, and no more": {&cluster.StallError{Progress: cluster.Progress{Phase: cluster.Unreachable, Still: time.Minute}}, "not reachable for 1m0s", []error{member.ErrStalled, member.ErrNotLive}, nil},
		"it catches up":            {&cluster.StallError{Progress: cluster.Progress{Phase: cluster.CatchingUp, Still: time.Minute, Index: 5, LeaderIndex: 9}}, "catching up for 1m0s, applied 5 of 9", []error{member.ErrStalled}, []error{member.ErrNotLive}},
		"it hears no leader":       {&cluster.StallError{Progress: cluster.Progress{Phase: cluster.NoContact}}, "no contact with the leader for 0s", []error{member.ErrStalled}, []error{member.ErrNotLive}},
		"one holds the slot":       {&cluster.SlotError{Holders: []cluster.Holder{holder}}, "another learner holds the slot: learner 7 (m7, http://10.0.0.7:2380), seen for 1m30s, 12 entries behind", []error{member.ErrSlotTaken}, []error{member.ErrNotLive}},
		"one of two never ran":     {&cluster.SlotError{Holders: []cluster.Holder{holder, unnamed}}, "12 entries behind: learner 8 (never started, http://10.0.0.8:2380), seen for 1s", []error{member.ErrSlotTaken}, nil},
		"the process was removed":  {&cluster.ExitError{}, "the server process ended with code 0 (it was told that its member is removed)", []error{member.ErrNotLive}, []error{member.ErrStalled}},
		"the process refused":      {&cluster.ExitError{Code: 1, Output: "\nmember count is unequal\n"}, "code 1 (it refused to start: initial cluster, URLs, version or a stale peer): member count is unequal", []error{member.ErrNotLive}, nil},
		"the process panicked":     {&cluster.ExitError{Code: 2}, "(a wrong flag, or a panic: data lost under its old entry)", []error{member.ErrNotLive}, nil},
		"the process was killed":   {&cluster.ExitError{Code: 137}, "the server process ended with code 137", []error{member.ErrNotLive}, nil},
		"another member answered":  {&cluster.WrongServerError{Want: 0x1f, Got: 0x2e, Cluster: 0xc1, GotOne: 0xc1}, "member 2e answered in the place of 1f: their URLs lead to one server", []error{cluster.ErrWrongServer}, []error{member.ErrNotLive, cluster.ErrWrongCluster}},
		"another cluster answered": {&cluster.WrongServerError{Want: 0x1f, Got: 0x2e, Cluster: 0xc1, GotOne: 0xbad}, "a server of cluster bad answered for member 1f of cluster c1", []error{cluster.ErrWrongCluster}, []error{cluster.ErrWrongServer}},
		"it runs and cannot read":  {&cluster.Unready{Status: 503, Text: "{\"health\":\"false\"}\n"}, `the server runs but cannot read yet (503 {"health":"false"})`, nil, []error{member.ErrNotLive}},
		"a wrong argument":         {&member.InputError{Field: "Config.ReadWithin", Value: "-1s", Rule: "must not be negative"}, `etcdjoin: Config.ReadWithin "-1s" must not be negative`, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, tc.err.Error(), tc.want)
			for _, e := range tc.is {
				require.ErrorIs(t, tc.err, e)
				require.ErrorIs(t, fmt.Errorf("wrapped: %w", tc.err), e)
			}
			for _, e := range tc.not {
				require.NotErrorIs(t, tc.err, e)
			}
		})
	}
}

// An ID prints as etcd prints it: in hex, without a prefix or leading zeros.
func TestID(t *testing.T) {
	for id, want := range map[cluster.ID]string{0: "0", 1: "1", 0x8e9e05c52164694d: "8e9e05c52164694d", 0x0e: "e", math.MaxUint64: "ffffffffffffffff"} {
		assert.Equal(t, want, id.String())
		assert.Equal(t, want, fmt.Sprint(id))
		assert.Equal(t, want, fmt.Sprintf("%v", id))
		assert.Equal(t, want, fmt.Sprintf("%x", id))
		assert.Equal(t, strings.ToUpper(want), fmt.Sprintf("%X", id))
		assert.Equal(t, fmt.Sprint(uint64(id)), fmt.Sprintf("%d", id))
		text, err := json.Marshal(id)
		require.NoError(t, err)
		assert.Equal(t, `"`+want+`"`, string(text))
		var back cluster.ID
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, id, back)
		asKey, err := json.Marshal(map[cluster.ID]int{id: 1})
		require.NoError(t, err)
		assert.Equal(t, `{"`+want+`":1}`, string(asKey))
	}
	assert.Equal(t, "000000000000001f", fmt.Sprintf("%016x", cluster.ID(0x1f)))
	assert.Equal(t, "0x1f", fmt.Sprintf("%#x", cluster.ID(0x1f)))
	for _, bad := range []string{`""`, `"0x1f"`, `"g"`, `"-1"`, `"10000000000000000"`, `"1 "`} {
		var id cluster.ID
		require.Error(t, json.Unmarshal([]byte(bad), &id), bad)
		assert.Zero(t, id, bad)
	}
}

// Events are ready for JSON: IDs in hex, and back again without a loss.
func TestEventsAsJSON(t *testing.T) {
	progress := cluster.Progress{Phase: cluster.CatchingUp, Index: 5, LeaderIndex: 9, DBSize: 1, LeaderDB: 2, Rate: 1.5, Elapsed: time.Second, Still: time.Millisecond}
	m := cluster.Member{ID: 0x8e9e05c52164694d, Name: "m2", PeerURLs: []string{ourURL}, Learner: true}
	for name, tc := range map[string]struct {
		event member.Event
		want  string
	}{
		"a bare one":    {member.Event{Kind: member.Waiting, Step: member.StepCheck, PeerURL: ourURL, Name: ourName, Text: "no quorum"}, `{"at":"0001-01-01T00:00:00Z","kind":"waiting","verb":"","step":"check","peerURL":"http://10.0.0.9:2380","name":"new","margin":0,"text":"no quorum"}`},
		"with a member": {member.Event{At: now, Kind: member.Added, Step: member.StepAdd, Member: &m, Voters: 3, Margin: 1}, `{"at":"2026-11-30T12:00:00Z","kind":"added","verb":"","step":"add","peerURL":"","name":"","member":{"id":"8e9e05c52164694d","name":"m2","peerURLs":["http://10.0.0.9:2380"],"learner":true},"voters":3,"margin":1}`},
		"with progress": {member.Event{At: now, Kind: member.Progressed, Progress: &progress}, `{"at":"2026-11-30T12:00:00Z","kind":"progressed","verb":"","step":"","peerURL":"","name":"","progress":{"phase":"catching up","index":5,"leaderIndex":9,"dbSize":1,"leaderDBSize":2,"rate":1.5,"elapsed":1000000000,"still":1000000},"margin":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(tc.event)
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(text))
			var back member.Event
			require.NoError(t, json.Unmarshal(text, &back))
			assert.Equal(t, tc.event, back)
		})
	}
	status, err := json.Marshal(cluster.Status{ID: 0x1f, ClusterID: 0xc1, Leader: 0x2e})
	require.NoError(t, err)
	assert.Contains(t, string(status), `"id":"1f","clusterID":"c1"`)
	assert.Contains(t, string(status), `"leader":"2e"`)
}

func TestMembersInWords(t *testing.T) {
	for want, m := range map[string]cluster.Member{
		"voter 1f (m1, http://a:2380)":                     {ID: 0x1f, Name: "m1", PeerURLs: []string{"http://a:2380"}},
		"learner 2 (never started, http://a:1,http://b:1)": {ID: 2, PeerURLs: []string{"http://a:1", "http://b:1"}, Learner: true},
		"voter 3 (never started, )":                        {ID: 3},
	} {
		assert.Equal(t, want, m.String())
	}
	assert.Equal(t, "the caller's endpoints", cluster.Target{}.String())
	assert.Equal(t, "member 1f", cluster.Target{Member: cluster.Member{ID: 0x1f}}.String())
}
