package learner

import (
	"context"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/member"
)

// Promote finishes somebody's join by the learner's ID, from anywhere: it waits
// until the learner has caught up and gives it its vote through the same gate as
// [LearnerJoiner]. A member that votes already is a success. It starts nothing
// and undoes nothing, whatever config says of that.
func Promote(ctx context.Context, client cluster.Client, id cluster.ID, config member.Config) (member.Result, error) {
	return member.Finish(ctx, client, id, config, decide.Learning{})
}
