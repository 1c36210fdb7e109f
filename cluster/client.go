package cluster

import (
	"context"
)

// Client is all that the library asks of an etcd cluster, in its own types.
// [NewClient] makes one of a *clientv3.Client; package clustertest has an
// in-memory one; a host that reaches its members by proxies brings its own.
//
// Every method obeys its context, asks nobody but the targets it is given, and
// returns errors that compare with the client-side values of etcd's rpctypes.
// A write that returns an error may still have been applied.
type Client interface {
	// Endpoints asks each endpoint of the caller's own client by itself, all at once,
	// who it is and which list it holds. It waits for all, as long as ctx allows.
	Endpoints(ctx context.Context) ([]Endpoint, error)
	// List is the linearizable member list, answered by the first of the
	// targets that can. Without a quorum it fails.
	List(ctx context.Context, from ...Target) (List, error)
	// ListAt is the list as that one server holds it, perhaps stale. It needs
	// no quorum.
	ListAt(ctx context.Context, at Target) (List, error)
	// Status is the server's word on itself. An answer of another member is
	// returned as it is: the caller compares Status.ID.
	Status(ctx context.Context, at Target) (Status, error)
	// Who asks what answers at a URL, and whether it is member m of that cluster. It
	// is asked before and after what it is to bind, and never in a poll: each
	// question is a warning in that server's log. An error: nobody answered.
	Who(ctx context.Context, url string, clusterID, m ID) (Answer, error)
	// Read asks one linearizable read through the member. It may wait for the
	// answer as long as ctx allows. Only the member's own answer counts, and it must
	// have been asked who it is, once for each connection; a [*WrongServerError] says
	// who answered in its place. An error that is an [*Unready] says that the
	// member's process itself answered, but could not read.
	Read(ctx context.Context, through Target) (ReadAnswer, error)
	// PeerMembers is the list that the member's peer port shows; no quorum, no
	// auth. Before it has data, it is the member's own initial cluster.
	PeerMembers(ctx context.Context, at Target) (List, error)
	// Ask asks who is at a peer URL that nobody should be at yet, with requests that
	// have no effect on an etcd server. An error: nobody there speaks HTTP.
	Ask(ctx context.Context, peerURL string) ([]Reply, error)
	// Metrics reads what the member exports, on its metrics URL where that is
	// known, else on its client URL.
	Metrics(ctx context.Context, at Target) (Metrics, error)
	// MayChange reports whether the caller may change the membership, by asking
	// for something that needs the same right and changes nothing. With auth off
	// everybody may.
	MayChange(ctx context.Context, via Target) error

	// Add adds a member under the given peer URLs, unchanged, and returns its entry.
	// Its error may be a [*WriteError], which tells what became of a write that was
	// given up.
	Add(ctx context.Context, via Target, peerURLs []string, learner bool) (Member, error)
	// Promote makes a learner a voter. Only the leader can say why it refuses. It is
	// sent at once or not at all: what allows it holds for a moment only.
	Promote(ctx context.Context, via Target, id ID) error
	// Remove removes a member.
	Remove(ctx context.Context, via Target, id ID) error
	// Update changes a member's peer URLs. Never call it on a learner below
	// 3.5.31 or 3.6.12: it clears the learner flag (etcd #21694).
	Update(ctx context.Context, via Target, id ID, peerURLs []string) error
	// MoveLeader hands leadership from the leader to another voter.
	MoveLeader(ctx context.Context, leader Target, to ID) error
	// Barrier commits one entry that keeps no state, and returns the list that the
	// same server holds behind it. It revokes a random lease that does not exist,
	// which passes a full quota too; with auth on it needs a user, and no role.
	Barrier(ctx context.Context, via Target) (Behind, error)
}
