package clustertest

import (
	"context"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// With is the cluster as a client with this configuration reaches it: its
// Endpoints, its Alive hook and its EndpointTimeout count, as they do for
// [cluster.NewClient]. TLS is not played.
func (c *Cluster) With(config cluster.ClientConfig) cluster.Client {
	return dialled{Cluster: c, config: config}
}

type dialled struct {
	*Cluster
	config cluster.ClientConfig
}

// Reach tells how the members are reached.
func (v dialled) Reach() cluster.Reach {
	return cluster.Reach{EndpointTimeout: v.config.EndpointTimeout, ClusterID: v.config.ClusterID, Alive: v.config.Alive}
}

// at is a target with the client URLs that this client dials.
func (v dialled) at(t cluster.Target) cluster.Target {
	if v.config.Endpoints != nil && !t.Own() {
		t.ClientURLs = v.config.Endpoints(t.Member)
	}
	return t
}

func (v dialled) List(ctx context.Context, from ...cluster.Target) (cluster.List, error) {
	there := make([]cluster.Target, len(from))
	for i, t := range from {
		there[i] = v.at(t)
	}
	return v.Cluster.List(ctx, there...)
}

func (v dialled) ListAt(ctx context.Context, at cluster.Target) (cluster.List, error) {
	return v.Cluster.ListAt(ctx, v.at(at))
}

func (v dialled) Status(ctx context.Context, at cluster.Target) (cluster.Status, error) {
	return v.Cluster.Status(ctx, v.at(at))
}

func (v dialled) Read(ctx context.Context, through cluster.Target) (cluster.ReadAnswer, error) {
	return v.Cluster.Read(ctx, v.at(through))
}

func (v dialled) Metrics(ctx context.Context, at cluster.Target) (cluster.Metrics, error) {
	return v.Cluster.Metrics(ctx, v.at(at))
}

func (v dialled) MayChange(ctx context.Context, via cluster.Target) error {
	return v.Cluster.MayChange(ctx, v.at(via))
}

func (v dialled) Add(ctx context.Context, via cluster.Target, peerURLs []string, learner bool) (cluster.Member, error) {
	return v.Cluster.Add(ctx, v.at(via), peerURLs, learner)
}

func (v dialled) Promote(ctx context.Context, via cluster.Target, id cluster.ID) error {
	return v.Cluster.Promote(ctx, v.at(via), id)
}

func (v dialled) Remove(ctx context.Context, via cluster.Target, id cluster.ID) error {
	return v.Cluster.Remove(ctx, v.at(via), id)
}

func (v dialled) Update(ctx context.Context, via cluster.Target, id cluster.ID, peerURLs []string) error {
	return v.Cluster.Update(ctx, v.at(via), id, peerURLs)
}

func (v dialled) MoveLeader(ctx context.Context, leader cluster.Target, to cluster.ID) error {
	return v.Cluster.MoveLeader(ctx, v.at(leader), to)
}

func (v dialled) Barrier(ctx context.Context, via cluster.Target) (cluster.Behind, error) {
	return v.Cluster.Barrier(ctx, v.at(via))
}
