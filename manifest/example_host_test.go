package manifest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// template is what is the same on every host of an installer.
var template = manifest.Spec{
	Version: version.MustParse("3.7.3"),
	Pod:     manifest.Pod{Image: "registry.k8s.io/etcd:3.7.3-0"},
}

// The kubelet starts etcd from a static pod. What is wrong with the Spec ends the
// join before anything was added.
func ExampleSpec_StaticPod() {
	c := clustertest.New("https://10.0.0.1:2380") // cluster.NewClient(cli, …) in real use
	spec := template
	spec.Settings = map[string]string{"enable-v2": "true"}
	j, err := learner.NewJoiner(c, "cp-2", spec.StaticPod("/etc/kubernetes/manifests/etcd.yaml"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = j.Join(context.Background(), "http://10.0.0.2:2380")
	fmt.Println(strings.Contains(err.Error(), "enable-v2"), len(c.Members()))
	// Output: true 1
}

// systemd starts etcd from a unit and an environment file.
func ExampleSpec_Systemd() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	spec := template
	spec.DataDir = filepath.Join(dir, "data")
	spec.Unit.EnvironmentFile = filepath.Join(dir, "etcd.env")
	config := spec.Systemd(filepath.Join(dir, "etcd.service"), func(_ context.Context, name string, args ...string) error {
		fmt.Println(name, strings.Join(args, " ")) // nil instead of this func runs it
		return nil
	})
	if err := config.Start(context.Background(), start2); err != nil {
		fmt.Println(err)
	}
	// Output:
	// systemctl daemon-reload
	// systemctl enable etcd.service
	// systemctl restart --no-block etcd.service
}

// start2 is what a join without TLS gives to its Start hook.
var start2 = member.StartSpec{
	Name:           "cp-2",
	PeerURLs:       []string{"http://10.0.0.2:2380"},
	InitialCluster: "cp-1=http://10.0.0.1:2380,cp-2=http://10.0.0.2:2380",
}

// A supervisor of the installer's own starts etcd with --config-file.
func ExampleSpec_ConfigFile() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	spec := template
	spec.DataDir = filepath.Join(dir, "data")
	run := func(_ context.Context, restart bool) error {
		fmt.Println("restart:", restart)
		return nil
	}
	config := spec.ConfigFile(filepath.Join(dir, "etcd.conf.yaml"), run, nil)
	for range 2 {
		if err := config.Start(context.Background(), start2); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// restart: true
	// restart: false
}

// This program starts etcd itself. The process outlives the join and its context.
func ExampleSpec_Process() {
	etcd := &manifest.Process{Program: "/usr/local/bin/etcd", Log: "/var/log/etcd.log"}
	config := template.Process("/etc/etcd/etcd.conf.yaml", etcd)
	fmt.Println(config.ServerVersion, config.MetricsURL, config.Exited(context.Background()))
	// … join with it; and when this program's user says so:
	fmt.Println(etcd.Stop(context.Background()))
	// Output:
	// 3.7.3 http://127.0.0.1:2381 <nil>
	// <nil>
}

// The first member, by hand: Found says what to start, a hook writes it. FoundOn
// does all of it, until the member serves and its file says existing.
func ExampleSpec_Found() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	spec := template
	spec.DataDir = filepath.Join(dir, "data")
	founder, start, err := spec.Found(context.Background(), manifest.Founding{Name: "cp-1", PeerURLs: []string{"http://10.0.0.1:2380"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	path := filepath.Join(dir, "etcd.yaml")
	if err := founder.StaticPod(path).Start(context.Background(), start); err != nil {
		fmt.Println(err)
		return
	}
	pod, err := os.ReadFile(path)
	for line := range strings.Lines(string(pod)) {
		if strings.Contains(line, "--initial-cluster") {
			fmt.Println(strings.TrimSpace(line))
		}
	}
	fmt.Println(start.ClusterID, err)
	// Output:
	// - --initial-cluster=cp-1=http://10.0.0.1:2380
	// - --initial-cluster-state=new
	// ba8922d7af06ed93 <nil>
}

func ExampleReadUnit() {
	host := fstest.MapFS{ // os.DirFS("/") for this host
		"etc/systemd/system/etcd.service": {Data: []byte(`[Service]
EnvironmentFile=-/etc/default/etcd
ExecStart=/usr/bin/etcd --name=cp-1 $OPTIONS
User=etcd
`)},
		"etc/default/etcd": {Data: []byte("OPTIONS=\"--data-dir=/var/lib/etcd --quota-backend-bytes=8589934592\"\n")},
	}
	r, err := manifest.ReadUnit(host, "/etc/systemd/system/etcd.service")
	fmt.Println(r.Spec.Name, r.Spec.DataDir, r.Spec.Settings, r.Spec.Unit.User, err)
	// Output: cp-1 /var/lib/etcd map[quota-backend-bytes:8589934592] etcd <nil>
}

// A pod that people keep is changed in what the start decides, and in nothing else.
func ExampleEditStart() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	path := filepath.Join(dir, "etcd.conf.yaml")
	file := "# ours, since 2019\nname: cp-2\ndata-dir: " + dir + "/data\nheartbeat-interval: 250 # slow disks\nelection-timeout: 2500\n"
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	config := member.Config{Start: manifest.EditStart(manifest.ConfigFile, path, manifest.SystemdRun("etcd.service", func(context.Context, string, ...string) error { return nil }))}
	if err := config.Start(context.Background(), start2); err != nil {
		fmt.Println(err)
		return
	}
	edited, err := os.ReadFile(path)
	lines := strings.Split(strings.ReplaceAll(string(edited), dir, ""), "\n")
	fmt.Println(slices.Contains(lines, "heartbeat-interval: 250 # slow disks"), slices.Contains(lines, "initial-cluster-state: existing"), err)
	// Output: true true <nil>
}
