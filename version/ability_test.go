package version

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEveryAbilityHasARow(t *testing.T) {
	names := map[string]bool{}
	for a := range Ability(len(abilities)) {
		assert.NotEmpty(t, a.String(), "ability %d", int(a))
		assert.False(t, a.Range().IsZero(), a.String())
		assert.False(t, names[a.String()], "%s twice", a)
		names[a.String()] = true
	}
	assert.Equal(t, MembersInV3Store, Ability(len(abilities)-1), "the last constant has the last row")
}

func TestCan(t *testing.T) {
	for name, tc := range map[string]struct {
		ability Ability
		yes, no []string
	}{
		"learners":                    {Learners, []string{"3.4.0", "3.4.13", "3.8.0-alpha.0"}, []string{"3.3.27", "3.4.0-rc.4"}},
		"linearizable list":           {LinearizableMemberList, []string{"3.5.0"}, []string{"3.4.45"}},
		"read through the peer port":  {ReadThroughPeer, []string{"3.5.0", "3.7.3", "3.8.0-alpha.0"}, []string{"3.4.45"}},
		"add asks a quorum":           {QuorumAddCheck, []string{"3.5.30", "3.6.11", "3.7.0", "3.7.0-beta.0"}, []string{"3.4.45", "3.5.29", "3.6.10"}},
		"update of a learner":         {SafeMemberUpdateOfLearner, []string{"3.5.31", "3.6.12", "3.7.0"}, []string{"3.4.45", "3.5.30", "3.6.11"}},
		"promote checks the start":    {PromoteChecksStarted, []string{"3.4.24", "3.5.7", "3.6.0"}, []string{"3.4.23", "3.5.6"}},
		"promote waits":               {PromoteWaitsForApplied, []string{"3.4.24", "3.5.7", "3.6.0"}, []string{"3.4.23", "3.5.6"}},
		"promote beside one voter":    {PromotesLoneVoter, []string{"3.4.4", "3.5.0"}, []string{"3.4.3"}},
		"promote with auth":           {ForwardsPromoteWithAuth, []string{"3.5.28", "3.6.6", "3.7.0"}, []string{"3.4.45", "3.5.27", "3.6.5"}},
		"changes back to back":        {ChangesBackToBack, []string{"3.6.0"}, []string{"3.5.35"}},
		"foreign messages":            {IgnoresForeignMessages, []string{"3.4.32", "3.5.14", "3.6.0"}, []string{"3.4.31", "3.5.13"}},
		"livez":                       {LivezReadyz, []string{"3.4.29", "3.5.11", "3.6.0"}, []string{"3.4.28", "3.5.10"}},
		"readyz":                      {ReadyzExcludesLearner, []string{"3.5.19", "3.6.0"}, []string{"3.4.45", "3.5.18"}},
		"health without alarms":       {HealthExclude, []string{"3.4.16", "3.5.0"}, []string{"3.4.15"}},
		"serializable health":         {HealthSerializable, []string{"3.4.29", "3.5.3", "3.6.0"}, []string{"3.4.28", "3.5.2"}},
		"downgrade":                   {DowngradeInfo, []string{"3.6.0-rc.1", "3.6.0"}, []string{"3.5.35", "3.6.0-rc.0"}},
		"snapshot of a learner":       {SnapshotFromLearner, []string{"3.4.28", "3.5.0"}, []string{"3.4.27"}},
		"learner limit":               {MaxLearnersFlag, []string{"3.6.0"}, []string{"3.5.35", "3.6.0-rc.2"}},
		"learner limit at start":      {CountsLearnersAtStart, []string{"3.6.0"}, []string{"3.5.35"}},
		"silence after a snapshot":    {SilentAfterSnapshot, []string{"3.6.0", "3.7.3"}, []string{"3.5.35"}},
		"members in the v3 store":     {MembersInV3Store, []string{"3.6.0", "3.7.3"}, []string{"3.5.35"}},
		"an ability that is not":      {Ability(-1), nil, []string{"3.7.3"}},
		"an ability beyond the table": {Ability(1000), nil, []string{"3.7.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range tc.yes {
				assert.True(t, MustParse(v).Can(tc.ability), v)
			}
			for _, v := range tc.no {
				assert.False(t, MustParse(v).Can(tc.ability), v)
			}
			assert.False(t, Version{}.Can(tc.ability), "an unknown version can nothing")
			assert.NotEmpty(t, fmt.Sprint(tc.ability))
		})
	}
}
