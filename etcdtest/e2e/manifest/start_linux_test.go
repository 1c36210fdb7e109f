package manifest_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/manifest"
	theversion "github.com/etcdjoin/etcdjoin/version"
)

// A real server of each version starts from what package manifest wrote for it,
// in every form, joins through the ready start hook, and comes back from the
// same files.
func TestManifestStartsAMember(t *testing.T) {
	for _, r := range kit.Releases {
		for ports, opts := range map[string][]etcdtest.Option{"plain": nil, "TLS": {etcdtest.WithTLS()}} {
			t.Run(r.Name+" "+ports, func(t *testing.T) {
				t.Parallel()
				if !inEveryRun(r, ports) {
					kit.NotInEveryRun(t)
				}
				etcdtest.Binary(t, r.Name)
				for _, f := range forms {
					t.Run(f.name, func(t *testing.T) {
						fake := etcdtest.Start(t, 1, append(opts, etcdtest.WithVersion(r.Name))...)
						joinsAndComesBack(newHost(t, fake, r, f))
					})
				}
			})
		}
	}
}

// inEveryRun: the newest patch of an old way to name things, and of the new one.
func inEveryRun(r kit.Release, ports string) bool {
	return r.Name == "3.5.35" && ports == "TLS" || r.Name == "3.7.3" && ports == "plain"
}

func joinsAndComesBack(h *host) {
	t := h.t
	t.Helper()
	result, err := h.join()
	require.NoError(t, err)
	assert.Equal(t, 2, result.Voters)
	assert.False(t, result.Promoted.IsZero(), "it was no learner before")
	h.servesAs(result.Member.ID)

	files, process := h.files(), h.process
	require.NoError(t, h.hook(t.Context(), h.start))
	assert.Equal(t, files, h.files(), "a second call of the hook wrote files anew")
	assert.Same(t, process, h.process, "a second call of the hook restarted etcd")

	h.stop()
	require.NoError(t, h.run(false), "the machine is started again")
	h.servesAs(result.Member.ID)
	assert.Equal(t, files, h.files())
	// A default that has three names in these versions; etcd checks from the second start on.
	assert.True(t, strings.Contains(h.process.output(), "initial corruption checking"), "a default did not arrive")
	list, err := h.cluster.Client().MemberList(kit.Within(t, 20*time.Second))
	require.NoError(t, err)
	assert.Len(t, list.Members, 2)
	assert.False(t, kit.MemberOf(t, h.cluster, h.Server).IsLearner)
	kit.TakesWrites(t, h.cluster)
}

// podFor35 is a static pod as an installer of the time of 3.5 left it.
const podFor35 = `apiVersion: v1
kind: Pod
metadata:
  name: etcd
  namespace: kube-system
spec:
  containers:
  - command:
    - etcd
    - --name=NAME
    - --data-dir=DATA
    - --initial-advertise-peer-urls=PEER
    - --initial-cluster=NAME=PEER
    - --initial-cluster-state=existing
    - --listen-peer-urls=PEER
    - --listen-client-urls=CLIENT
    - --advertise-client-urls=CLIENT
    - --listen-metrics-urls=METRICS
    - --client-cert-auth=true
    - --trusted-ca-file=CLIENT-CA
    - --cert-file=CLIENT-CERT
    - --key-file=CLIENT-KEY
    - --peer-client-cert-auth=true
    - --peer-trusted-ca-file=PEER-CA
    - --peer-cert-file=PEER-CERT
    - --peer-key-file=PEER-KEY
    - --quota-backend-bytes=QUOTA # by hand, 2024-03-01
    - --experimental-initial-corrupt-check=true
    - --experimental-compact-hash-check-enabled
    - --experimental-compact-hash-check-time=30m
    - --experimental-watch-progress-notify-interval=5s
    - --experimental-warning-apply-duration=200ms
    - --experimental-txn-mode-write-with-shared-buffer=true
    - --enable-v2=false
    image: registry.k8s.io/etcd:3.5.35-0
    name: etcd
    volumeMounts:
    - mountPath: DATA
      name: etcd-data
    - mountPath: TLS
      name: etcd-certs
  hostNetwork: true
  volumes:
  - hostPath:
      path: DATA
      type: DirectoryOrCreate
    name: etcd-data
  - hostPath:
      path: TLS
      type: DirectoryOrCreate
    name: etcd-certs
`

// A static pod for 3.5, migrated and then edited for its join, starts 3.7.
// Nothing less does.
func TestManifestMigratedFrom35Starts37(t *testing.T) {
	t.Parallel()
	r := kit.Releases[slices.IndexFunc(kit.Releases, func(r kit.Release) bool { return r.Name == "3.7.3" })]
	fake := etcdtest.Start(t, 1, etcdtest.WithVersion(r.Name), etcdtest.WithTLS())
	h := newHost(t, fake, r, editedPod)
	client, peer := fake.Files()
	old := strings.NewReplacer("CLIENT-CA", client.CA, "CLIENT-CERT", client.Cert, "CLIENT-KEY", client.Key,
		"PEER-CA", peer.CA, "PEER-CERT", peer.Cert, "PEER-KEY", peer.Key, "NAME", h.Name, "DATA", h.Dir,
		"PEER", h.PeerURL, "CLIENT", h.ClientURL, "METRICS", h.MetricsURL,
		"TLS", filepath.Dir(filepath.Dir(client.CA)), "QUOTA", quota).Replace(podFor35)

	for _, tc := range []struct {
		name, pod string
		code      int
		says      string
	}{
		{"3.5 takes its flags, and finds no cluster to join yet", old, 1, "cannot fetch cluster info from peer urls"},
		{"3.7 does not take them", strings.Replace(old, "3.5.35-0", "3.7.3-0", 1), 2, "flag provided but not defined: -experimental-"},
	} {
		h.write(tc.pod)
		require.NoError(t, h.run(false))
		exit := h.ended()
		assert.Equal(t, tc.code, exit.Code, tc.name)
		assert.Contains(t, exit.Output, tc.says, tc.name)
	}

	migrated, changes, err := manifest.Migrate(manifest.StaticPod, h.file, []byte(old), manifest.Migration{
		To:    theversion.MustParse(r.Name),
		Image: "registry.k8s.io/etcd:3.7.3-0",
	})
	require.NoError(t, err)
	for _, change := range changes {
		t.Logf("%+v", change)
		assert.False(t, change.Lost)
	}
	assert.NotContains(t, string(migrated), "experimental")
	h.write(string(migrated))
	joinsAndComesBack(h)
	assert.Contains(t, h.read(), "--quota-backend-bytes="+quota+" # by hand, 2024-03-01\n")
	assert.Equal(t, cluster.DataMember, inspect(t, h.Dir).Kind)
}
