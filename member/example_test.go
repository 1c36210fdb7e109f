package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// instant is a cluster in which nothing takes time.
func instant(peerURLs ...string) *clustertest.Cluster {
	c := clustertest.New(peerURLs...)
	c.Timing = clustertest.Timing{}
	return c
}

// The old way counts the new member against the quorum before anybody has seen
// it live, and refuses where its failure would cost the quorum.
func ExampleVotingJoiner() {
	for _, c := range []*clustertest.Cluster{ // cluster.NewClient(c, …) in real use
		instant("https://10.0.0.1:2380"), // needs Config.AcceptNoMargin
		instant("https://10.0.0.1:2380", "https://10.0.0.2:2380", "https://10.0.0.3:2380"),
	} {
		joiner, err := member.NewVotingJoiner(c, "cp-9", member.Config{Start: c.Start})
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := joiner.Join(context.Background(), "https://10.0.0.9:2380")
		fmt.Printf("%d voters, at risk: %t\n", r.Voters, errors.Is(err, member.ErrQuorumAtRisk))
	}
	// Output:
	// 0 voters, at risk: true
	// 4 voters, at risk: false
}

// Every event is ready for JSON; a program shows what it likes of them.
func ExampleConfig_observe() {
	c := instant("https://10.0.0.1:2380")
	observe := func(e member.Event) {
		switch e.Kind {
		case member.Added:
			text, err := json.Marshal(e.Member)
			fmt.Println(e.Kind, string(text), err)
		case member.NoMargin, member.GotVote, member.Served:
			fmt.Printf("%s: %s\n", e.Kind, e.Member)
		}
	}
	joiner, err := learner.NewJoiner(c, "cp-2", member.Config{Start: c.Start, Observe: observe})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := joiner.Join(context.Background(), "https://10.0.0.2:2380"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// added {"id":"2","peerURLs":["https://10.0.0.2:2380"],"learner":true} <nil>
	// no margin: learner 2 (cp-2, https://10.0.0.2:2380)
	// promoted: voter 2 (cp-2, https://10.0.0.2:2380)
	// serving: voter 2 (cp-2, https://10.0.0.2:2380)
}

// A JoinError says how far the join got, whether the cluster was changed, and
// what a person should do; the reason is found by errors.Is.
func ExampleJoinError() {
	c := instant("https://10.0.0.1:2380", "https://10.0.0.2:2380", "https://10.0.0.3:2380")
	joiner, err := learner.NewJoiner(c, "m2", member.Config{Start: c.Start}) // m2 has this name already
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = joiner.Join(ctx, "https://10.0.0.4:2380")
	var join *member.JoinError
	if errors.As(err, &join) {
		fmt.Println("reason:", join.Err)
		fmt.Println("step:", join.Step)
		fmt.Println("changed:", join.Changed)
		fmt.Println("hint:", join.Hint)
	}
	fmt.Println(errors.Is(err, member.ErrNameTaken))
	// Output:
	// reason: another member has this name: voter 2 (m2, https://10.0.0.2:2380)
	// step: check
	// changed: false
	// hint: choose another name, remove the old member, or set Config.SameName to ReplaceIfDead
	// true
}

// A wrong argument is refused before anything is asked, by its name and the rule
// it breaks.
func ExampleInputError() {
	_, err := member.NewVotingJoiner(instant("https://10.0.0.1:2380"), "cp=2", member.Config{})
	var input *member.InputError
	if errors.As(err, &input) {
		fmt.Printf("%s %q %s\n", input.Field, input.Value, input.Rule)
	}
	// Output:
	// name "cp=2" must not contain "=" or ",", which etcd's --initial-cluster splits at
}

// An installer of two phases, perhaps two processes, adds first and joins later.
func ExampleEngine_Add() {
	c := instant("https://10.0.0.1:2380")
	joiner, err := learner.NewJoiner(c, "cp-2", member.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	spec, err := joiner.Add(context.Background(), "https://10.0.0.2:2380")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(spec.MemberID, spec.InitialCluster)
	if err := c.Start(context.Background(), spec); err != nil { // write and start its manifest in real use
		fmt.Println(err)
		return
	}
	r, err := joiner.Join(context.Background(), "https://10.0.0.2:2380")
	fmt.Println(r.Member, err)
	// Output:
	// 2 cp-2=https://10.0.0.2:2380,m1=https://10.0.0.1:2380
	// voter 2 (cp-2, https://10.0.0.2:2380) <nil>
}
