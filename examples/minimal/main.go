// Minimal is the README's program: it starts etcd on this host, joins it to a
// running cluster, and says what that came to. Flags after -- are etcd's own.
//
//	minimal -endpoints http://10.0.0.1:2379 -name cp-2 -peer-url http://10.0.0.2:2380 -- \
//		--listen-client-urls http://10.0.0.2:2379 --advertise-client-urls http://10.0.0.2:2379
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

func main() {
	endpoints := flag.String("endpoints", "http://127.0.0.1:2379", "client URLs of the cluster, comma-separated")
	name := flag.String("name", "", "the new member's name")
	peerURL := flag.String("peer-url", "", "where the new member listens to its peers")
	flag.Parse()
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(*endpoints, ",")})
	if err != nil {
		log.Fatal(err)
	}
	joiner, err := learner.NewJoiner(cluster.NewClient(client, cluster.ClientConfig{}), *name, member.Config{Start: start})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	result, err := joiner.Join(ctx, *peerURL)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s votes; %d of %d voters may fail\n", result.Member, result.Margin, result.Voters)
}

// start starts etcd, which goes on after this program. A second etcd for the
// same member finds the first one's ports taken and ends.
func start(ctx context.Context, spec member.StartSpec) error {
	urls := strings.Join(spec.PeerURLs, ",")
	etcd := exec.CommandContext(context.WithoutCancel(ctx), "etcd", append([]string{
		"--name", spec.Name, "--data-dir", spec.Name + ".etcd",
		"--listen-peer-urls", urls, "--initial-advertise-peer-urls", urls,
		"--initial-cluster", spec.InitialCluster, "--initial-cluster-state", "existing",
	}, flag.Args()...)...)
	etcd.Stderr = os.Stderr
	return etcd.Start()
}
