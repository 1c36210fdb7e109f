package member

import (
	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
)

// VotingJoiner is the old way in: it adds the member as a voter before its
// server runs. From the add on, the member counts against the quorum although
// nobody has seen it live; one voter that becomes two stands still until the
// second one runs, and for ever if it never does. It is kept for the time of the
// feature gate of KEP-3614, and for servers below 3.4, which know no learners.
//
// It refuses an add whose failure would cost the quorum, unless
// [Config.AcceptNoMargin] says otherwise; the first join of a one-member cluster
// always needs that.
type VotingJoiner struct{ *Engine }

var _ Joiner = (*VotingJoiner)(nil)

// NewVotingJoiner makes a joiner of the old way for the server that will run
// under this name. Wrong arguments are an [*InputError].
func NewVotingJoiner(client cluster.Client, name string, config Config) (*VotingJoiner, error) {
	e, err := New(client, name, config, decide.Voting{})
	if err != nil {
		return nil, err
	}
	return &VotingJoiner{e}, nil
}
