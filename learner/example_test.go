package learner_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// instant is a cluster in which nothing takes time.
func instant(peerURLs ...string) *clustertest.Cluster {
	fake := clustertest.New(peerURLs...)
	fake.Timing = clustertest.Timing{}
	return fake
}

func ExampleLearnerJoiner_Join() {
	fake := instant("https://10.0.0.1:2380") // cluster.NewClient(c, …) in real use
	start := func(ctx context.Context, spec member.StartSpec) error {
		fmt.Println("start etcd --name", spec.Name, "--initial-cluster", spec.InitialCluster)
		return fake.Start(ctx, spec) // write a unit or a manifest in real use
	}
	joiner, err := learner.NewJoiner(fake, "cp-2", member.Config{Start: start})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := joiner.Join(ctx, "https://10.0.0.2:2380")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("member %s votes; %d of %d must agree, %d may fail\n", r.Member.ID, r.Quorum, r.Voters, r.Margin)
	// Output:
	// start etcd --name cp-2 --initial-cluster cp-2=https://10.0.0.2:2380,m1=https://10.0.0.1:2380
	// member 2 votes; 2 of 2 must agree, 0 may fail
}

// To call Join again is always right: it does what is still missing.
func ExampleLearnerJoiner_Join_again() {
	fake := instant("https://10.0.0.1:2380", "https://10.0.0.2:2380", "https://10.0.0.3:2380")
	joiner, err := learner.NewJoiner(fake, "cp-4", member.Config{Start: fake.Start})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		r, err := joiner.Join(context.Background(), "https://10.0.0.4:2380")
		fmt.Println(r.Member.ID, "changed the cluster:", r.Changed, err)
	}
	// Output:
	// 4 changed the cluster: true <nil>
	// 4 changed the cluster: false <nil>
}

// A plan says what a join would do next, and writes nothing.
func ExampleLearnerJoiner_plan() {
	fake := instant("https://10.0.0.1:2380", "https://10.0.0.2:2380", "https://10.0.0.3:2380")
	joiner, err := learner.NewJoiner(fake, "cp-4", member.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := joiner.Plan(context.Background(), "https://10.0.0.4:2380")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("next:", plan.Do)
	fmt.Println(plan.Forecast)

	plan, err = joiner.Plan(context.Background(), "https://10.0.0.3:2380") // somebody else's
	fmt.Println(plan.Do, errors.Is(plan.Why, member.ErrOtherName), err)
	fmt.Println("written:", len(fake.Writes()))
	// Output:
	// next: add learner
	// to promote takes 3 voters of quorum 2 to 4 of quorum 3; 3 of them answer, and 0 more may fail even if the new one does
	// refuse true <nil>
	// written: 0
}

// Somebody has added and started a learner, and left: it is given its vote by
// its ID, from anywhere.
func ExamplePromote() {
	fake := instant("https://10.0.0.1:2380", "https://10.0.0.2:2380")
	id := fake.AddRaw(cluster.Member{PeerURLs: []string{"https://10.0.0.3:2380"}, Learner: true})
	fake.Restart(id)

	r, err := learner.Promote(context.Background(), fake, id, member.Config{})
	fmt.Println(r.Member.Role(), r.Margin, err)

	_, err = learner.Promote(context.Background(), fake, 0xbad, member.Config{})
	fmt.Println(errors.Is(err, member.ErrGone))
	// Output:
	// voter 1 <nil>
	// true
}

// A host that takes the learner's way step by step has its users choose by a
// feature gate.
func ExampleFeatureGate() {
	gate, err := learner.NewFeatureGate(learner.Alpha) // off, unless somebody asks for it
	if err != nil {
		fmt.Println(err)
		return
	}
	flags := flag.NewFlagSet("installer", flag.ContinueOnError)
	flags.Var(gate, "feature-gates", "")
	for _, args := range [][]string{nil, {"-feature-gates", "EtcdLearnerMode=true"}} {
		if err := flags.Parse(args); err != nil {
			fmt.Println(err)
			return
		}
		joiner, err := gate.NewJoiner(instant("https://10.0.0.1:2380"), "cp-2", member.Config{})
		fmt.Printf("%s: %T %v\n", gate, joiner, err)
	}
	// Output:
	// EtcdLearnerMode=false: *member.VotingJoiner <nil>
	// EtcdLearnerMode=true: *learner.LearnerJoiner <nil>
}
