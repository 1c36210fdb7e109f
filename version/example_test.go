package version_test

import (
	"errors"
	"fmt"

	"github.com/etcdjoin/etcdjoin/version"
)

func ExampleGuard() {
	_, err := version.Guard(version.Seen{Answered: []version.Server{
		{Member: 0x8e9e05c52164694d, Name: "cp-1", Endpoint: "https://10.0.0.1:2379", Version: "3.3.27"},
	}})
	fmt.Println(errors.Is(err, version.ErrLearnerUnsupported))
	fmt.Println(err)
	// Output:
	// true
	// etcd learner mode is not supported by this etcd version: member 8e9e05c52164694d (cp-1) at https://10.0.0.1:2379 runs 3.3.27; learners came with 3.4.0
}

func ExampleVersion_Can() {
	for _, text := range []string{"3.5.16", "3.5.35", "3.6.10", "3.6.16"} {
		fmt.Println(text, version.MustParse(text).Can(version.QuorumAddCheck))
	}
	fmt.Println(version.QuorumAddCheck.Range())
	// Output:
	// 3.5.16 false
	// 3.5.35 true
	// 3.6.10 false
	// 3.6.16 true
	// 3.5.30+, 3.6.11+, 3.7.0-beta.0+
}

func ExampleHazards() {
	servers := []version.Version{version.MustParse("3.5.19"), version.MustParse("3.5.35")}
	found := version.Hazards(servers, version.MustParse("3.6.16"))
	for _, f := range found {
		if f.Severity > version.Note {
			fmt.Println(f.Severity, f.Name, f.Found)
		}
	}
	fmt.Println(version.Refusal(found, nil) != nil)
	fmt.Println(version.Refusal(found, []string{"unsaved-members-into-3.6"}) != nil)
	// Output:
	// refuse unsaved-members-into-3.6 [3.5.19]
	// warn promotion-not-saved [3.5.19]
	// warn zombie-members [3.5.19]
	// warn stale-reads [3.5.19]
	// true
	// false
}
