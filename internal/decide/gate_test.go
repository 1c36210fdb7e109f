package decide_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

func TestGate(t *testing.T) {
	corrupt, noSpace := alarmed("memberID:2 alarm:CORRUPT "), alarmed("memberID:2 alarm:NOSPACE ")
	three := func() []cluster.Seen { return voters(3) }
	took := func(d time.Duration) func(*decide.Case) { return func(c *decide.Case) { c.Proof.Took = d } }
	was := func(change func(*cluster.Answer)) func(*decide.Case) {
		return func(c *decide.Case) { change(&c.Proof.Before) }
	}
	is := func(change func(*cluster.Answer)) func(*decide.Case) {
		return func(c *decide.Case) { change(&c.Proof.After) }
	}
	who := func(id cluster.Identity) func(*cluster.Answer) {
		return func(a *cluster.Answer) { a.Identity, a.ClusterID = id, "bad" }
	}
	conn := func(a *cluster.Answer) { a.Conn = "another" }
	url := func(a *cluster.Answer) { a.URL = "http://b9:2380" }
	health := func(c *decide.Case) {
		c.Proof.Way, c.Proof.Before.Way, c.Proof.After.Way = "client", "metrics", "metrics"
	}
	clientPort := func(err string) func(*cluster.Seen) {
		return func(m *cluster.Seen) { m.Liveness, m.Err = cluster.Unknown, errors.New(err) }
	}
	from := func(id cluster.ID) func(*decide.Case) { return func(c *decide.Case) { c.Proof.ClusterID = id } }
	margin := decide.Policy{AcceptNoMargin: true}

	for name, tc := range map[string]struct {
		voters []cluster.Seen
		ours   *cluster.Seen
		config decide.Policy
		change func(*decide.Case)
		want   error
	}{
		"a learner that has just read":           {voters: three()},
		"one that has not published its name":    {voters: three(), ours: ours(aLearner, neverRan)},
		"one whose client port is silent":        {voters: three(), ours: ours(aLearner, silent)},
		"its URL in another spelling":            {voters: three(), ours: ours(aLearner, at("HTTP://10.0.0.9:02380"))},
		"the read did not tell its cluster":      {voters: three(), change: from(0)},
		"the read took all that it may":          {voters: three(), change: took(250 * time.Millisecond)},
		"a slower read is allowed":               {voters: three(), config: decide.Policy{ReadWithin: time.Second}, change: took(time.Second)},
		"by its client port":                     {voters: three(), change: health},
		"by the host's word, which is on it":     {voters: three(), change: func(c *decide.Case) { c.Proof = &decide.Proof{ReadAnswer: cluster.ReadAnswer{Way: "hook"}} }},
		"its client port is silent since":        {voters: three(), ours: ours(aLearner, clientPort("context deadline exceeded"))},
		"its client port never answered":         {voters: three(), ours: ours(aLearner, silent, clientPort("connection refused"))},
		"its client port refuses since":          {voters: three(), ours: ours(aLearner, clientPort("dial tcp: connect: connection refused")), want: reason.ErrNotLive},
		"another answers at its client port now": {voters: three(), ours: ours(aLearner, fails(&cluster.WrongServerError{Want: ourID, Got: 1})), want: reason.ErrNotLive},
		"another member was there before":        {voters: three(), change: was(who(cluster.AnotherMember)), want: reason.ErrWrongServer},
		"another member is there after":          {voters: three(), change: is(who(cluster.AnotherMember)), want: reason.ErrWrongServer},
		"another cluster was there":              {voters: three(), change: was(who(cluster.AnotherCluster)), want: reason.ErrWrongCluster},
		"another cluster is there":               {voters: three(), change: is(who(cluster.AnotherCluster)), want: reason.ErrWrongCluster},
		"a web server was there":                 {voters: three(), change: was(who(cluster.NoEtcd)), want: reason.ErrWrongServer},
		"a web server is there":                  {voters: three(), change: is(who(cluster.NoEtcd)), want: reason.ErrWrongServer},
		"it was removed":                         {voters: three(), change: is(who(cluster.WasRemoved)), want: reason.ErrGone},
		"on another connection than before":      {voters: three(), change: was(conn), want: reason.ErrNotLive},
		"on another connection than after":       {voters: three(), change: is(conn), want: reason.ErrNotLive},
		"who was asked at another URL":           {voters: three(), change: was(url), want: reason.ErrNotLive},
		"the peer port read, its metrics told":   {voters: three(), change: func(c *decide.Case) { c.Proof.Before.Way, c.Proof.After.Way = "metrics", "metrics" }, want: reason.ErrNotLive},
		"its client port read, a peer port told": {voters: three(), change: func(c *decide.Case) { c.Proof.Way = "client" }, want: reason.ErrNotLive},
		"NOSPACE: promotion works under it":      {voters: []cluster.Seen{seen(1), seen(2, noSpace), seen(3)}},
		"CORRUPT of the learner itself":          {voters: three(), ours: ours(aLearner, corrupt), want: reason.ErrCorrupt},
		"CORRUPT":                                {voters: []cluster.Seen{seen(1), seen(2, corrupt), seen(3)}, want: reason.ErrCorrupt},
		"CORRUPT of one that is silent since":    {voters: []cluster.Seen{seen(1), seen(2, corrupt, func(m *cluster.Seen) { m.Liveness = cluster.Unknown }), seen(3), seen(4)}, want: reason.ErrCorrupt},
		"no read":                                {voters: three(), change: func(c *decide.Case) { c.Proof = nil }, want: reason.ErrNotLive},
		"a slow read":                            {voters: three(), change: took(251 * time.Millisecond), want: reason.ErrNotLive},
		"another cluster answered":               {voters: three(), change: from(0xbad), want: reason.ErrWrongCluster},
		"the voters were not asked in this pass": {voters: three(), change: func(c *decide.Case) { c.Snapshot.Fresh = false }, want: reason.ErrNoQuorum},
		"there is no quorum":                     {voters: three(), change: noQuorum, want: reason.ErrNoQuorum},
		"it votes already":                       {voters: three(), ours: ours(), want: reason.ErrGone},
		"it has other URLs than were added":      {voters: three(), ours: ours(aLearner, at("http://b9:2380")), want: reason.ErrGone},
		"it has one URL more":                    {voters: three(), ours: ours(aLearner, at(ourURL, "http://b9:2380")), want: reason.ErrGone},

		// The quorum, with the learner voting and then failing.
		"1 to 2, exempt: there is no other way":            {voters: voters(1)},
		"the one voter is silent":                          {voters: live(1, 0), want: reason.ErrQuorumAtRisk},
		"2 to 3":                                           {voters: voters(2)},
		"2 to 3, one silent":                               {voters: live(2, 1), want: reason.ErrQuorumAtRisk},
		"3 to 4":                                           {voters: three()},
		"3 to 4, one silent":                               {voters: live(3, 2), want: reason.ErrQuorumAtRisk},
		"3 to 4, one dead":                                 {voters: append(voters(2), seen(3, dead)), want: reason.ErrQuorumAtRisk},
		"3 to 4, one never ran":                            {voters: append(voters(2), seen(3, neverRan)), want: reason.ErrQuorumAtRisk},
		"4 to 5, one silent":                               {voters: live(4, 3)},
		"5 to 6, one silent":                               {voters: live(5, 4)},
		"5 to 6, two silent":                               {voters: live(5, 3), want: reason.ErrQuorumAtRisk},
		"7 to 8, two silent":                               {voters: live(7, 5)},
		"7 to 8, three silent":                             {voters: live(7, 4), want: reason.ErrQuorumAtRisk},
		"3 to 4, one silent, accepted":                     {voters: live(3, 2), config: margin},
		"5 to 6, two silent, accepted":                     {voters: live(5, 3), config: margin},
		"accepted, without a read":                         {voters: live(3, 2), config: margin, change: func(c *decide.Case) { c.Proof = nil }, want: reason.ErrNotLive},
		"accepted, with a slow read":                       {voters: live(3, 2), config: margin, change: took(time.Second), want: reason.ErrNotLive},
		"three voters of which one server answers for all": {voters: []cluster.Seen{seen(1), seen(2, silent), seen(3, silent)}, want: reason.ErrQuorumAtRisk},
		"learners do not count":                            {voters: append(voters(1), seen(7, aLearner), seen(8, aLearner))},
	} {
		t.Run(name, func(t *testing.T) {
			m := tc.ours
			if m == nil {
				m = ours(aLearner)
			}
			c := decide.Case{Snapshot: snapshot(append(tc.voters, *m)...), Name: ourName, PeerURLs: []string{ourURL}, Started: ourID,
				Policy: filled(tc.config), Proof: proof()}
			if tc.change != nil {
				tc.change(&c)
			}
			err := decide.Gate(c, *m)
			if tc.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tc.want)
			assert.Greater(t, len(err.Error()), len(tc.want.Error())+10, "it gives the particulars: %v", err)
		})
	}
}

// Nobody asked who it is: that proves nothing, though it read.
func TestAReadAloneIsNoProof(t *testing.T) {
	m := ours(aLearner)
	c := decide.Case{Snapshot: snapshot(append(voters(3), *m)...), Name: ourName, PeerURLs: []string{ourURL}, Started: ourID, Policy: filled(decide.Policy{}), Proof: proof()}
	c.Proof.Before, c.Proof.After = cluster.Answer{}, cluster.Answer{}
	require.ErrorContains(t, decide.Gate(c, *m), "does not tell whether it is member")
}

func TestAProofGrowsOld(t *testing.T) {
	p := proof()
	assert.True(t, p.Good(now.Add(250*time.Millisecond), 250*time.Millisecond))
	assert.False(t, p.Good(now.Add(251*time.Millisecond), 250*time.Millisecond))
	assert.False(t, (*decide.Proof)(nil).Good(now, time.Hour))
}
