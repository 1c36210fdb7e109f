package member

import (
	"context"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/version"
)

// StartSpec is everything a start hook needs to start an etcd server as one
// member of a running cluster. The initial cluster state is always "existing".
type StartSpec struct {
	Name      string     `json:"name"`     // etcd's --name
	MemberID  cluster.ID `json:"memberID"` // the entry this process will be; an idempotent start is keyed by it
	ClusterID cluster.ID `json:"clusterID"`
	// PeerURLs are the caller's strings, unchanged: etcd wants its
	// --initial-advertise-peer-urls equal to what was added.
	PeerURLs []string `json:"peerURLs"`
	// InitialCluster is the value of --initial-cluster: every member with all
	// its peer URLs, rebuilt from the live list right before this start.
	InitialCluster string `json:"initialCluster"`
	// ServerVersion is the lowest version among the servers that answered.
	ServerVersion version.Version `json:"serverVersion,omitzero"`
}

// DataDir looks into the joiner's data directory and moves it aside. Archive
// must never delete: the data may be the last copy of something.
type DataDir interface {
	Inspect(context.Context) (cluster.DataInfo, error)
	Archive(context.Context) error
}
