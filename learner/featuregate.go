package learner

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/member"
)

// FeatureName is the feature gate of KEP-3614.
const FeatureName = "EtcdLearnerMode"

// Stage is how far a host has taken the feature.
type Stage string

const (
	Alpha Stage = "alpha" // off, can be switched on
	Beta  Stage = "beta"  // on, can be switched off
	GA    Stage = "GA"    // on, for good
)

// FeatureGate chooses between the learner's way and the old one. It is the only
// place that does. It is a flag.Value; the zero value is Alpha's.
type FeatureGate struct {
	stage Stage
	set   bool // by somebody; else the stage decides
	on    bool
}

// NewFeatureGate is the gate as a host at this stage has it by default.
func NewFeatureGate(stage Stage) (*FeatureGate, error) {
	switch stage {
	case Alpha, Beta, GA:
		return &FeatureGate{stage: stage}, nil
	}
	return nil, &member.InputError{Field: "stage", Value: string(stage), Rule: "must be alpha, beta or GA"}
}

// Set reads "EtcdLearnerMode=true" or "=false", alone or in a comma-separated
// list of which other features are ignored. Switching it off is refused at GA.
// It is whole or not at all: after an error the gate is as it was.
func (g *FeatureGate) Set(value string) error {
	next := *g
	for pair := range strings.SplitSeq(value, ",") {
		name, text, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.TrimSpace(name) != FeatureName {
			continue
		}
		on, err := strconv.ParseBool(strings.TrimSpace(text))
		if !ok || err != nil {
			return &member.InputError{Field: FeatureName, Value: text, Rule: "must be true or false"}
		}
		if !on && g.stage == GA {
			return &member.InputError{Field: FeatureName, Value: text, Rule: "cannot be switched off: it is GA"}
		}
		next.set, next.on = true, on
	}
	*g = next
	return nil
}

// Enabled reports whether members join as learners.
func (g *FeatureGate) Enabled() bool {
	if g.set {
		return g.on
	}
	return g.stage == Beta || g.stage == GA
}

// String is what Set reads.
func (g *FeatureGate) String() string { return fmt.Sprintf("%s=%t", FeatureName, g.Enabled()) }

// NewJoiner makes the joiner that the gate chooses. Off, it is a VotingJoiner
// that accepts to be without margin: the old way could do no first join else.
func (g *FeatureGate) NewJoiner(client cluster.Client, name string, config member.Config) (member.Joiner, error) {
	if g.Enabled() {
		return orNil(NewJoiner(client, name, config))
	}
	config.AcceptNoMargin = true
	return orNil(member.NewVotingJoiner(client, name, config))
}

// orNil keeps a nil pointer out of the interface.
func orNil[J member.Joiner](j J, err error) (member.Joiner, error) {
	if err != nil {
		return nil, err
	}
	return j, nil
}
