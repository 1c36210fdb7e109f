package member

import (
	"context"
	"errors"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/hook"
)

// retire stops the server of a member that is gone, and moves its data aside: a
// removed ID never comes back, and its data would refuse the next join. It is
// called for the ID that was removed and moves the data of no other; where a server
// that was started cannot be stopped, none. It returns what it did, in words.
func (r *run) retire(ctx context.Context, id cluster.ID, started bool, why string) (did string, err error) {
	if r.config.Stop != nil {
		if err := hook.Do(ctx, r.config.Stop); err != nil {
			return did, hookFailed(err, "member %s is gone, but its server could not be stopped", id)
		}
		r.retired = time.Now()
		r.emit(Event{Kind: Stopped})
		did = " and its server stopped"
	}
	if r.config.DataDir == nil || started && r.config.Stop == nil {
		return did, nil
	}
	moved, err := r.archive(ctx, id)
	if err != nil {
		return did, hookFailed(err, "member %s is gone, but its data could not be moved aside", id)
	}
	if moved {
		r.emit(Event{Kind: Archived, Text: why})
		did += ", its data moved aside"
	}
	return did, nil
}

// archive moves our data aside if it is that member's.
func (r *run) archive(ctx context.Context, id cluster.ID) (moved bool, err error) {
	data, err := r.inspect(ctx)
	if err != nil || data.Kind != cluster.DataMember || data.MemberID != id {
		return false, err
	}
	if err := hook.Do(ctx, r.config.DataDir.Archive); err != nil {
		return false, err
	}
	if data, err = r.inspect(ctx); err == nil && data.Kind == cluster.DataMember && data.MemberID == id {
		err = errors.New("the Archive hook returned, and the data is still there")
	}
	return true, err
}

func (r *run) inspect(ctx context.Context) (cluster.DataInfo, error) {
	return hook.Call(ctx, r.config.DataDir.Inspect)
}
