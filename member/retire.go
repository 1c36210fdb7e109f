package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/hook"
)

// retire stops the server of a member that is gone, and moves its data aside: a
// removed ID never comes back, and its data would refuse the next join. It is
// called for the ID that was removed, and touches the server and the data of no other;
// where a server that was started cannot be stopped, no data is moved. It returns what
// it did, in words.
func (r *run) retire(ctx context.Context, id cluster.ID, started bool, why string) (did string, err error) {
	if whose, err := r.anothers(ctx, id); !started && (err != nil || whose != "") {
		if err != nil {
			return "", hookFailed(err, "member %s is gone; its server was not stopped, for whose the data is could not be read", id)
		}
		did = "nothing was stopped or moved aside, for the data directory holds " + whose
		r.emit(Event{Kind: Kept, Text: did})
		return "; " + did, nil
	}
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

// anothers says whom our data directory shows to run here, if not the member with this
// ID. An empty one shows nobody.
func (r *run) anothers(ctx context.Context, id cluster.ID) (string, error) {
	if r.config.DataDir == nil {
		return "", nil
	}
	data, err := r.inspect(ctx)
	switch {
	case err != nil:
		return "", err
	case data.Kind == cluster.DataDamaged:
		return "what cannot be read", nil
	case data.Kind == cluster.DataMember && !r.holds(data, id):
		return fmt.Sprintf("member %s of cluster %s", data.MemberID, data.ClusterID), nil
	}
	return "", nil
}

// holds reports whether the data is that member's. Two clusters may have members of
// one ID.
func (r *run) holds(data cluster.DataInfo, id cluster.ID) bool {
	return data.Kind == cluster.DataMember && data.MemberID == id && data.ClusterID == r.looker.Last.ClusterID
}

// archive moves our data aside if it is that member's.
func (r *run) archive(ctx context.Context, id cluster.ID) (moved bool, err error) {
	data, err := r.inspect(ctx)
	if err != nil || !r.holds(data, id) {
		return false, err
	}
	if err := hook.Do(ctx, r.config.DataDir.Archive); err != nil {
		return false, err
	}
	if data, err = r.inspect(ctx); err == nil && r.holds(data, id) {
		err = errors.New("the Archive hook returned, and the data is still there")
	}
	return true, err
}

func (r *run) inspect(ctx context.Context) (cluster.DataInfo, error) {
	return hook.Call(ctx, r.config.DataDir.Inspect)
}
