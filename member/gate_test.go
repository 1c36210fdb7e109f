package member_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/member"
)

func TestGate(t *testing.T) {
	corrupt, noSpace := alarmed("memberID:2 alarm:CORRUPT "), alarmed("memberID:2 alarm:NOSPACE ")
	three := func() []member.Seen { return voters(3) }
	took := func(d time.Duration) func(*member.Case) { return func(c *member.Case) { c.Proof.Took = d } }
	near := func(d time.Duration) func(*member.Case) { return func(c *member.Case) { c.Proof.Since = now.Add(-d) } }
	from := func(id member.ID) func(*member.Case) { return func(c *member.Case) { c.Proof.ClusterID = id } }
	margin := member.Config{AcceptNoMargin: true}

	for name, tc := range map[string]struct {
		voters []member.Seen
		ours   *member.Seen
		config member.Config
		change func(*member.Case)
		want   error
	}{
		"a learner that has just read":           {voters: three()},
		"one that has not published its name":    {voters: three(), ours: ours(aLearner, neverRan)},
		"one whose client port is silent":        {voters: three(), ours: ours(aLearner, silent)},
		"its URL in another spelling":            {voters: three(), ours: ours(aLearner, at("HTTP://10.0.0.9:02380"))},
		"the read did not tell its cluster":      {voters: three(), change: from(0)},
		"the read took all that it may":          {voters: three(), change: took(250 * time.Millisecond)},
		"a slower read is allowed":               {voters: three(), config: member.Config{ReadWithin: time.Second}, change: took(time.Second)},
		"it has been near for long enough":       {voters: three(), config: member.Config{Settle: time.Second}, change: near(time.Second)},
		"NOSPACE: promotion works under it":      {voters: []member.Seen{seen(1), seen(2, noSpace), seen(3)}},
		"CORRUPT of the learner itself":          {voters: three(), ours: ours(aLearner, corrupt), want: member.ErrCorrupt},
		"CORRUPT":                                {voters: []member.Seen{seen(1), seen(2, corrupt), seen(3)}, want: member.ErrCorrupt},
		"CORRUPT of one that is silent since":    {voters: []member.Seen{seen(1), seen(2, corrupt, func(m *member.Seen) { m.Liveness = member.Unknown }), seen(3), seen(4)}, want: member.ErrCorrupt},
		"no read":                                {voters: three(), change: func(c *member.Case) { c.Proof = nil }, want: member.ErrNotLive},
		"a slow read":                            {voters: three(), change: took(251 * time.Millisecond), want: member.ErrNotLive},
		"it has to settle":                       {voters: three(), config: member.Config{Settle: time.Second}, change: near(999 * time.Millisecond), want: member.ErrNotLive},
		"another cluster answered":               {voters: three(), change: from(0xbad), want: member.ErrWrongCluster},
		"the voters were not asked in this pass": {voters: three(), change: func(c *member.Case) { c.Snapshot.Fresh = false }, want: member.ErrNoQuorum},
		"there is no quorum":                     {voters: three(), change: noQuorum, want: member.ErrNoQuorum},
		"it votes already":                       {voters: three(), ours: ours(), want: member.ErrGone},
		"it has other URLs than were added":      {voters: three(), ours: ours(aLearner, at("http://b9:2380")), want: member.ErrGone},
		"it has one URL more":                    {voters: three(), ours: ours(aLearner, at(ourURL, "http://b9:2380")), want: member.ErrGone},

		// The quorum, with the learner voting and then failing.
		"1 to 2, exempt: there is no other way":            {voters: voters(1)},
		"the one voter is silent":                          {voters: live(1, 0), want: member.ErrQuorumAtRisk},
		"2 to 3":                                           {voters: voters(2)},
		"2 to 3, one silent":                               {voters: live(2, 1), want: member.ErrQuorumAtRisk},
		"3 to 4":                                           {voters: three()},
		"3 to 4, one silent":                               {voters: live(3, 2), want: member.ErrQuorumAtRisk},
		"3 to 4, one dead":                                 {voters: append(voters(2), seen(3, dead)), want: member.ErrQuorumAtRisk},
		"3 to 4, one never ran":                            {voters: append(voters(2), seen(3, neverRan)), want: member.ErrQuorumAtRisk},
		"4 to 5, one silent":                               {voters: live(4, 3)},
		"5 to 6, one silent":                               {voters: live(5, 4)},
		"5 to 6, two silent":                               {voters: live(5, 3), want: member.ErrQuorumAtRisk},
		"7 to 8, two silent":                               {voters: live(7, 5)},
		"7 to 8, three silent":                             {voters: live(7, 4), want: member.ErrQuorumAtRisk},
		"3 to 4, one silent, accepted":                     {voters: live(3, 2), config: margin},
		"5 to 6, two silent, accepted":                     {voters: live(5, 3), config: margin},
		"accepted, without a read":                         {voters: live(3, 2), config: margin, change: func(c *member.Case) { c.Proof = nil }, want: member.ErrNotLive},
		"accepted, with a slow read":                       {voters: live(3, 2), config: margin, change: took(time.Second), want: member.ErrNotLive},
		"three voters of which one server answers for all": {voters: []member.Seen{seen(1), seen(2, silent), seen(3, silent)}, want: member.ErrQuorumAtRisk},
		"learners do not count":                            {voters: append(voters(1), seen(7, aLearner), seen(8, aLearner))},
	} {
		t.Run(name, func(t *testing.T) {
			m := tc.ours
			if m == nil {
				m = ours(aLearner)
			}
			c := member.Case{Snapshot: snapshot(append(tc.voters, *m)...), Name: ourName, PeerURLs: []string{ourURL}, Started: ourID,
				Config: member.Filled(tc.config), Proof: proof()}
			if tc.change != nil {
				tc.change(&c)
			}
			err := member.Gate(c, *m)
			if tc.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tc.want)
			assert.Greater(t, len(err.Error()), len(tc.want.Error())+10, "it gives the particulars: %v", err)
		})
	}
}
