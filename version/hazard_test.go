package version

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHazardTable(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z0-9.]+(-[a-z0-9.]+)*$`)
	seen := map[string]bool{}
	for _, h := range AllHazards() {
		t.Run(h.Name, func(t *testing.T) {
			assert.Regexp(t, kebab, h.Name)
			assert.False(t, seen[h.Name], "a name accepts one hazard only")
			seen[h.Name] = true
			assert.NotEmpty(t, h.What)
			assert.NotEmpty(t, h.Do)
			assert.NotContains(t, h.What+h.Do, "\n", "a log line must stay one")
			assert.False(t, h.Servers.IsZero() && h.Joiner.IsZero(), "it must be about somebody")
			assert.False(t, h.Together && (h.Servers.IsZero() || h.Joiner.IsZero()), "together takes two")
			require.NotEmpty(t, h.Issues)
			for _, url := range h.Issues {
				assert.True(t, strings.HasPrefix(url, "https://"), url)
			}
			require.NoError(t, CheckAccepted([]string{h.Name}))
		})
	}
}

// refusals and warnings are what the table says of a join.
func findings(servers, joiner string) (refuse, warn []string) {
	var j Version
	if joiner != "" {
		j = MustParse(joiner)
	}
	for _, f := range Hazards(versions(servers), j) {
		switch f.Severity {
		case Refuse:
			refuse = append(refuse, f.Name)
		case Warn:
			warn = append(warn, f.Name)
		}
	}
	return refuse, warn
}

func TestHazardsThatForbidAJoin(t *testing.T) {
	for name, tc := range map[string]struct {
		servers, joiner string
		want            []string
	}{
		"3.6 into 3.5 before .26":             {"3.5.25 3.5.25", "3.6.16", []string{"unsaved-members-into-3.6"}},
		"3.6 into 3.5 since .26":              {"3.5.26 3.5.35", "3.6.16", nil},
		"3.6 where one is old":                {"3.5.35 3.5.25 3.6.16", "3.6.16", []string{"unsaved-members-into-3.6"}},
		"3.5 into 3.5 before .26":             {"3.5.16 3.5.16", "3.5.35", nil},
		"unknown into 3.5 before .26":         {"3.5.16", "", nil},
		"a cluster of 3.5.0":                  {"3.5.0", "3.5.35", []string{"inconsistent-index"}},
		"a joiner of 3.5.2":                   {"3.5.35", "3.5.2", []string{"inconsistent-index"}},
		"one member of 3.5.1, unknown joiner": {"3.5.1 3.5.3", "", []string{"inconsistent-index"}},
		"3.5.3 is mended":                     {"3.5.3", "3.5.3", nil},
		"a beta of 3.5":                       {"3.5.0-beta.4", "3.5.35", []string{"inconsistent-index"}},
		"auth, a joiner of 3.5.5":             {"3.5.4", "3.5.5", []string{"auth-lost-by-snapshot"}},
		"auth, a server of 3.5.5":             {"3.5.5", "3.5.6", nil},
		"auth, a joiner of 3.4.21":            {"3.4.45", "3.4.21", []string{"auth-lost-by-snapshot"}},
		"auth, a joiner of 3.4.19":            {"3.4.45", "3.4.19", nil},
		"3.7 into 3.5":                        {"3.5.35", "3.7.3", []string{"publish-panic-into-3.5"}},
		"3.7 into an old 3.5":                 {"3.5.16", "3.7.3", []string{"unsaved-members-into-3.6", "publish-panic-into-3.5"}},
		"3.7 into 3.6":                        {"3.6.16", "3.7.3", nil},
		"3.6 into 3.4":                        {"3.4.45", "3.6.16", []string{"no-members-from-3.4"}},
		"3.5 into 3.4":                        {"3.4.45", "3.5.35", nil},
		"3.4.13 into itself":                  {"3.4.13", "3.4.13", nil},
		"3.5.16 into itself":                  {"3.5.16", "3.5.16", nil},
		"3.6.0 into itself":                   {"3.6.0", "3.6.0", nil},
		"nobody":                              {"", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			refuse, _ := findings(tc.servers, tc.joiner)
			assert.Equal(t, tc.want, refuse)
		})
	}
}

func TestHazardsToWarnOf(t *testing.T) {
	for name, tc := range map[string]struct {
		servers, joiner string
		want            []string
	}{
		"the latest 3.5":        {"3.5.35", "3.5.35", nil},
		"the latest 3.6":        {"3.6.16", "3.6.16", nil},
		"the latest 3.7":        {"3.7.3", "3.7.3", nil},
		"an alpha":              {"3.8.0-alpha.0", "3.8.0-alpha.0", nil},
		"3.5 to 3.6":            {"3.5.35", "3.6.16", nil},
		"3.6 to 3.7":            {"3.6.16", "3.7.3", []string{"no-repair-in-3.7", "publish-panic-from-log"}},
		"the last of 3.4":       {"3.4.45", "3.4.45", []string{"snapshot-not-durable"}},
		"an unknown joiner":     {"3.5.35", "", nil},
		"an old snapshot":       {"3.5.19", "3.5.23", []string{"promotion-not-saved", "unsaved-members-by-snapshot", "zombie-members", "stale-reads", "snapshot-not-durable"}},
		"3.6.0":                 {"3.6.0", "3.6.16", []string{"repair-fails-at-start", "promote-panic", "stale-reads"}},
		"lone voter":            {"3.4.3", "", []string{"lone-voter-cannot-promote", "lone-member-loses-writes", "stale-reads"}},
		"a joiner of 3.5.7":     {"3.5.35", "3.5.7", []string{"promotion-not-saved", "zombie-members", "partial-transaction", "defragment-during-snapshot", "stale-reads", "snapshot-not-durable", "foreign-messages", "ipv6-spelling"}},
		"defragmented on 3.5.5": {"3.5.5", "3.5.35", []string{"promotion-not-saved", "zombie-members", "defragment-crash", "partial-transaction", "stale-reads"}},
	} {
		t.Run(name, func(t *testing.T) {
			refuse, warn := findings(tc.servers, tc.joiner)
			assert.Empty(t, refuse)
			assert.Equal(t, tc.want, warn)
		})
	}
}

// The two tables tell some facts twice, once as what a release can do and once
// as what goes wrong without; they must not drift apart.
func TestHazardsAgreeWithAbilities(t *testing.T) {
	for name, tc := range map[string]struct {
		ability Ability
		side    func(Hazard) Range
		when    bool // the hazard is there with the ability, not without
	}{
		"update-unlearns":              {SafeMemberUpdateOfLearner, serversOf, false},
		"unstarted-learner-promotable": {PromoteChecksStarted, serversOf, false},
		"lone-voter-cannot-promote":    {PromotesLoneVoter, serversOf, false},
		"promote-through-follower":     {ForwardsPromoteWithAuth, serversOf, false},
		"change-dropped":               {ChangesBackToBack, serversOf, false},
		"add-needs-all-voters":         {QuorumAddCheck, serversOf, false},
		"foreign-messages":             {IgnoresForeignMessages, joinerOf, false},
		"readyz-fails-on-learner":      {ReadyzExcludesLearner, joinerOf, true},
		"applied-index-gap":            {SilentAfterSnapshot, joinerOf, true},
		"learner-limits-differ":        {MaxLearnersFlag, serversOf, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := tc.side(hazardNamed(t, name))
			for minor := 4; minor <= 8; minor++ {
				for patch := range 50 {
					v := MustParse(fmt.Sprintf("3.%d.%d", minor, patch))
					assert.Equal(t, v.Can(tc.ability) == tc.when, r.Has(v), v.String())
				}
			}
		})
	}
}

func serversOf(h Hazard) Range { return h.Servers }
func joinerOf(h Hazard) Range  { return h.Joiner }

func hazardNamed(t *testing.T, name string) Hazard {
	for _, h := range AllHazards() {
		if h.Name == name {
			return h
		}
	}
	require.FailNow(t, "no such hazard", name)
	return Hazard{}
}

func TestFindingsComeWorstFirst(t *testing.T) {
	found := Hazards(versions("3.5.1 3.5.0 3.5.1 3.5.16"), MustParse("3.6.0"))
	last := Refuse
	for _, f := range found {
		assert.LessOrEqual(t, f.Severity, last)
		last = f.Severity
	}
	require.NotEmpty(t, found)
	assert.Equal(t, versions("3.5.0 3.5.1 3.5.16"), found[0].Found, "each once, rising")
	assert.Equal(t, MustParse("3.6.0"), found[0].By)
	assert.Contains(t, found[0].String(), "unsaved-members-into-3.6 (server 3.5.0, server 3.5.1, server 3.5.16, joiner 3.6.0): ")
	assert.Contains(t, found[0].String(), "https://github.com/etcd-io/etcd/issues/19557")
}

func TestRefusal(t *testing.T) {
	found := Hazards(versions("3.5.0"), MustParse("3.6.16"))
	err := Refusal(found, nil)
	require.ErrorIs(t, err, ErrHazard)
	var hazard *HazardError
	require.ErrorAs(t, fmt.Errorf("wrapped: %w", err), &hazard)
	assert.Len(t, hazard.Findings, 2)
	assert.ErrorContains(t, err, "unsaved-members-into-3.6")
	assert.ErrorContains(t, err, "inconsistent-index")

	err = Refusal(found, []string{"inconsistent-index"})
	require.ErrorAs(t, err, &hazard)
	assert.Len(t, hazard.Findings, 1, "one name accepts one hazard")

	require.NoError(t, Refusal(found, []string{"inconsistent-index", "unsaved-members-into-3.6"}))
	require.NoError(t, Refusal(Hazards(versions("3.5.16"), MustParse("3.5.16")), nil), "warnings do not forbid")
	require.NoError(t, Refusal(nil, nil))
}

func TestCheckAccepted(t *testing.T) {
	require.NoError(t, CheckAccepted(nil))
	require.ErrorContains(t, CheckAccepted([]string{"inconsistent-index", "zombies"}), `"zombies"`)
}

func TestSeverityPrints(t *testing.T) {
	assert.Equal(t, "note warn refuse severity 7", fmt.Sprint(Note, Warn, Refuse, Severity(7)))
}
