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
	// Restart says that the data directory holds this very member: etcd reads no
	// initial cluster then.
	Restart bool `json:"restart,omitempty"`
	// PeerURLs are the strings of the list: etcd wants its
	// --initial-advertise-peer-urls equal to them, and an adopted entry may be spelled
	// otherwise than the caller does.
	PeerURLs []string `json:"peerURLs"`
	// InitialCluster is the value of --initial-cluster: every member with all
	// its peer URLs, rebuilt from the live list right before this start. Empty where
	// only our own intact data is known, because nobody answered.
	InitialCluster string `json:"initialCluster"`
	// Members are those of the list it is built from, as values.
	Members []cluster.Member `json:"members,omitempty"`
	// ServerVersion is the lowest version among the servers that answered.
	ServerVersion version.Version `json:"serverVersion,omitzero"`
}

// DataDir looks into the joiner's data directory and moves it aside. Archive
// must never delete: the data may be the last copy of something.
type DataDir interface {
	Inspect(context.Context) (cluster.DataInfo, error)
	Archive(context.Context) error
}
