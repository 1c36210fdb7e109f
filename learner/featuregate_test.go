package learner_test

import (
	"errors"
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

func TestTheGateChoosesTheStrategyAtEachStage(t *testing.T) {
	for name, tc := range map[string]struct {
		stage   learner.Stage
		set     string
		learner bool
		refused bool
	}{
		"alpha is off":                    {stage: learner.Alpha},
		"alpha can be switched on":        {stage: learner.Alpha, set: "EtcdLearnerMode=true", learner: true},
		"beta is on":                      {stage: learner.Beta, learner: true},
		"beta can be switched off":        {stage: learner.Beta, set: "EtcdLearnerMode=false"},
		"GA is on":                        {stage: learner.GA, learner: true},
		"GA stays on when told so":        {stage: learner.GA, set: "EtcdLearnerMode=true", learner: true},
		"GA cannot be switched off":       {stage: learner.GA, set: "EtcdLearnerMode=false", learner: true, refused: true},
		"other features are not ours":     {stage: learner.Alpha, set: "Other=x,EtcdLearnerMode=1", learner: true},
		"a list may have spaces":          {stage: learner.Beta, set: "Other=true, EtcdLearnerMode=0"},
		"what is no truth value":          {stage: learner.Beta, set: "EtcdLearnerMode=maybe", learner: true, refused: true},
		"a name without a value":          {stage: learner.Beta, set: "EtcdLearnerMode", learner: true, refused: true},
		"a name that only begins like it": {stage: learner.Beta, set: "EtcdLearnerModeX=false", learner: true},
	} {
		t.Run(name, func(t *testing.T) {
			gate, err := learner.NewFeatureGate(tc.stage)
			require.NoError(t, err)
			if tc.set != "" {
				err = gate.Set(tc.set)
				var input *member.InputError
				assert.Equal(t, tc.refused, err != nil)
				assert.Equal(t, tc.refused, errors.As(err, &input))
			}
			assert.Equal(t, tc.learner, gate.Enabled())
			j, err := gate.NewJoiner(clustertest.New("http://10.0.0.1:2380"), "new", member.Config{})
			require.NoError(t, err)
			if tc.learner {
				assert.IsType(t, (*learner.LearnerJoiner)(nil), j)
			} else {
				assert.IsType(t, (*member.VotingJoiner)(nil), j)
			}
		})
	}
}

func TestAStageThatDoesNotExist(t *testing.T) {
	_, err := learner.NewFeatureGate("gamma")
	require.ErrorContains(t, err, "stage")
}

func TestTheGateIsAFlag(t *testing.T) {
	gate, err := learner.NewFeatureGate(learner.Alpha)
	require.NoError(t, err)
	flags := flag.NewFlagSet("installer", flag.ContinueOnError)
	flags.Var(gate, "feature-gates", "")
	require.NoError(t, flags.Parse([]string{"-feature-gates", "EtcdLearnerMode=true"}))
	assert.True(t, gate.Enabled())
	assert.Equal(t, "EtcdLearnerMode=true", gate.String())
}
