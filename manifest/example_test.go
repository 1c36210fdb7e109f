package manifest_test

import (
	"fmt"
	"strings"

	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// start is what a join gives to its Start hook.
var start = member.StartSpec{
	Name:           "cp-2",
	PeerURLs:       []string{"https://10.0.0.2:2380"},
	InitialCluster: "cp-1=https://10.0.0.1:2380,cp-2=https://10.0.0.2:2380",
}

func ExampleSpec_Args() {
	spec := manifest.Spec{
		Version:   version.MustParse("3.7.3"),
		ClientTLS: manifest.TLS{CertFile: "/pki/server.crt", KeyFile: "/pki/server.key", TrustedCAFile: "/pki/ca.crt"},
		PeerTLS:   manifest.TLS{CertFile: "/pki/peer.crt", KeyFile: "/pki/peer.key", TrustedCAFile: "/pki/ca.crt"},
		Settings:  map[string]string{"quota-backend-bytes": "8589934592", "compact-hash-check-enabled": "true"},
	}
	spec, err := spec.For(start)
	if err != nil {
		fmt.Println(err)
		return
	}
	args, err := spec.Args()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Join(args, "\n"))
	// Output:
	// --advertise-client-urls=https://10.0.0.2:2379
	// --cert-file=/pki/server.crt
	// --client-cert-auth=true
	// --data-dir=/var/lib/etcd
	// --feature-gates=CompactHashCheck=true,InitialCorruptCheck=true
	// --initial-advertise-peer-urls=https://10.0.0.2:2380
	// --initial-cluster=cp-1=https://10.0.0.1:2380,cp-2=https://10.0.0.2:2380
	// --initial-cluster-state=existing
	// --key-file=/pki/server.key
	// --listen-client-urls=https://127.0.0.1:2379,https://10.0.0.2:2379
	// --listen-metrics-urls=http://127.0.0.1:2381
	// --listen-peer-urls=https://10.0.0.2:2380
	// --name=cp-2
	// --peer-cert-file=/pki/peer.crt
	// --peer-client-cert-auth=true
	// --peer-key-file=/pki/peer.key
	// --peer-trusted-ca-file=/pki/ca.crt
	// --quota-backend-bytes=8589934592
	// --snapshot-count=10000
	// --trusted-ca-file=/pki/ca.crt
	// --watch-progress-notify-interval=5s
}

func ExampleSpec_Validate() {
	spec := manifest.Spec{
		Version:  version.MustParse("3.5.35"),
		Settings: map[string]string{"max-learners": "2", "experimental-corrupt-check-time": "5"},
	}
	_, err := spec.For(start)
	for _, fault := range err.(manifest.Faults) {
		fmt.Println(fault)
	}
	// Output:
	// Settings["experimental-corrupt-check-time"]: is a former name: use corrupt-check-time
	// Settings["max-learners"]: etcd 3.5.35 has no max-learners: it is in 3.6.0-rc.3+ as --max-learners
	// ListenPeerURLs[0]: is https, which needs a certificate: set CertFile and KeyFile
}

func ExampleEdit() {
	const file = `apiVersion: v1
kind: Pod
metadata: {name: etcd, namespace: kube-system}
spec:
  containers:
  - name: etcd
    command:
    - etcd
    - "--name=cp-9"  # ours
    - --initial-advertise-peer-urls=https://10.0.0.9:2380
    - --initial-cluster=cp-9=https://10.0.0.9:2380
`
	edited, err := manifest.Edit(manifest.StaticPod, "etcd.yaml", []byte(file), manifest.Identity(start))
	fmt.Print(string(edited), err)
	// Output:
	// apiVersion: v1
	// kind: Pod
	// metadata: {name: etcd, namespace: kube-system}
	// spec:
	//   containers:
	//   - name: etcd
	//     command:
	//     - etcd
	//     - "--name=cp-2"  # ours
	//     - --initial-advertise-peer-urls=https://10.0.0.2:2380
	//     - --initial-cluster=cp-1=https://10.0.0.1:2380,cp-2=https://10.0.0.2:2380
	//     - --initial-cluster-state=existing
	// <nil>
}

func ExampleMigrate() {
	const file = `ETCD_NAME=cp-1
ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK=true
ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME=1h
ETCD_ENABLE_V2=false
`
	to := manifest.Migration{To: version.MustParse("3.7.3")}
	migrated, changes, err := manifest.Migrate(manifest.Environment, "etcd.env", []byte(file), to)
	fmt.Print(string(migrated))
	for _, c := range changes {
		fmt.Printf("%s: %s\n", c.Setting, c.Why)
	}
	fmt.Println(err)
	// Output:
	// ETCD_NAME=cp-1
	// ETCD_FEATURE_GATES=InitialCorruptCheck=true
	// ETCD_CORRUPT_CHECK_TIME=1h
	// initial-corrupt-check: since 3.6.0 it is a feature gate
	// corrupt-check-time: etcd 3.7.3 has it under this name
	// enable-v2: etcd 3.7.3 has no such setting here: it is in 3.4 to 3.5 as --enable-v2
	// <nil>
}

func ExampleRead() {
	const file = `name: cp-1
data-dir: /var/lib/etcd
watch-progress-notify-interval: 5000000000
client-transport-security: {cert-file: /pki/server.crt, key-file: /pki/server.key}
my-own: {a: 1}
`
	r, err := manifest.Read(manifest.ConfigFile, "etcd.yaml", []byte(file))
	fmt.Println(r.Spec.Name, r.Spec.ClientTLS.CertFile, r.Spec.Settings, err)
	for _, u := range r.Unplaced {
		fmt.Println(u)
	}
	// Output:
	// cp-1 /pki/server.crt map[watch-progress-notify-interval:5s] <nil>
	// line 5: my-own: is no key known here: etcd ignores it
}
