// Package member changes an etcd cluster by one member at a time, without putting
// its quorum at risk.
//
// # The story of a join
//
// A [Joiner] makes the etcd server that will listen on a peer URL a voting
// member of a running cluster. There is one machine for that, the [Engine], and
// two ways in: package learner has the safe one, [VotingJoiner] is the old one.
//
//	c, err := clientv3.New(…)                               // the caller's; it is never changed
//	client := cluster.NewClient(c, cluster.ClientConfig{})  // or an own Client, or clustertest.New
//	j, err := learner.NewJoiner(client, "cp-2", member.Config{Start: start})
//	r, err := j.Join(ctx, "https://10.0.0.12:2380")
//
// The engine looks, thinks and acts, again and again. A look reads the cluster
// into one [cluster.Snapshot]: the member list, and what each member says of itself,
// with its age. A pure function of it decides: which entry is ours, and what is the
// one next thing? A pass then does that one thing. No branch depends on what we
// believe we did, so that a crash at any point, an answer that was lost, or an
// operator in the middle needs no case of its own, and calling Join again, from
// any process, is always right.
//
// A vote is the point of no return, and has a gate of its own: in the pass that
// gives it, the learner itself must have answered one linearizable read, and the
// quorum must survive the new member's failure as [cluster.Foresee] sees it.
//
// # Other verbs, the same machine
//
//   - [Engine.Plan] looks and decides and writes nothing;
//   - [Engine.Step] does at most one thing and says when to come back, for operators;
//   - [Engine.Add] is the first half of a join, for installers in two phases;
//   - [Engine.Abort] undoes a join whose member does not vote yet;
//   - [Remove] and [Leave] take a member out, leadership moved away first;
//   - [MoveLeader] hands leadership to one voter, or to the best.
//
// # What is told
//
// Every error of a joiner is a [*JoinError]: how far it got, the member, whether
// the cluster was changed, the reason, the last real error of a server beside a
// deadline, and what a person should do. errors.Is finds the reasons listed as
// variables here and in package cluster. Wrong input is an [*InputError], before
// anything is asked. Config.Observe receives an [Event] for each turn.
//
// Time is the runtime's, so that testing/synctest drives everything; all that is
// asked of a cluster goes through [cluster.Client].
package member
