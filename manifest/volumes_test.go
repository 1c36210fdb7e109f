package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/version"
)

func podWith(t *testing.T, change func(*Spec)) (Spec, error) {
	t.Helper()
	s := kubeadmLike("3.7.3")
	change(&s)
	s, err := s.For(startCP2)
	require.NoError(t, err)
	_, err = s.Render(StaticPod)
	return s, err
}

func TestVolumesByDefaultGiveWay(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Spec)
		want   []string // mount path and volume of each
	}{
		"none of one's own": {func(*Spec) {}, []string{"/var/lib/etcd etcd-data", "/etc/kubernetes/pki/etcd etcd-certs"}},
		"at the data":       {own("disk", "/var/lib/etcd"), []string{"/etc/kubernetes/pki/etcd etcd-certs", "/var/lib/etcd disk"}},
		"at the data, with a slash": {func(s *Spec) {
			s.DataDir = "/var/lib/etcd/"
			own("disk", "/var/lib/etcd/")(s)
		}, []string{"/etc/kubernetes/pki/etcd etcd-certs", "/var/lib/etcd disk"}},
		"above the data":         {own("disk", "/var/lib"), []string{"/etc/kubernetes/pki/etcd etcd-certs", "/var/lib disk"}},
		"above the certificates": {own("kubernetes", "/etc/kubernetes"), []string{"/var/lib/etcd etcd-data", "/etc/kubernetes kubernetes"}},
		"the certificates' name": {own("etcd-certs", "/else"), []string{"/var/lib/etcd etcd-data", "/etc/kubernetes/pki/etcd etcd-certs-2", "/else etcd-certs"}},
		"a log inside the data":  {func(s *Spec) { s.WALDir = "/var/lib/etcd/wal" }, []string{"/var/lib/etcd etcd-data", "/etc/kubernetes/pki/etcd etcd-certs"}},
		"a log elsewhere":        {func(s *Spec) { s.WALDir = "/wal/" }, []string{"/var/lib/etcd etcd-data", "/wal etcd-wal", "/etc/kubernetes/pki/etcd etcd-certs"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := podWith(t, tc.change)
			require.NoError(t, err)
			r, _ := s.resolve()
			var got []string
			for _, v := range r.allVolumes() {
				got = append(got, v.at()+" "+v.Name)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func own(name, at string) func(*Spec) {
	return func(s *Spec) {
		s.Pod.Volumes = append(s.Pod.Volumes, Volume{Name: name, HostPath: "/mnt/disk", MountPath: at})
	}
}

func TestDataIsNeverInTheContainersLayer(t *testing.T) {
	_, err := podWith(t, own("etcd-data", "/else"))
	assert.ErrorContains(t, err, "DataDir: is in no volume")
	_, err = podWith(t, func(s *Spec) {
		s.WALDir = "/wal"
		own("etcd-wal", "/else")(s)
	})
	assert.ErrorContains(t, err, "WALDir: is in no volume")
	_, err = podWith(t, func(s *Spec) {
		s.Pod.Volumes = []Volume{{Name: "disk", HostPath: "/var/lib", ReadOnly: true}}
	})
	assert.ErrorContains(t, err, "DataDir: is in volume disk, which is mounted read-only")
}

// TestImageIsTheVersion: to the patch, or to the same words.
func TestImageIsTheVersion(t *testing.T) {
	for image, want := range map[string]string{
		"etcd:3.7.3":                     "",
		"etcd:v3.7.3-0":                  "",
		"etcd:3.7.1":                     "", // nothing changed between these
		"etcd:latest":                    "",
		"etcd":                           "",
		"etcd:3.6.16":                    "is etcd 3.6.16 by its tag",
		"etcd:3.8.0-alpha.0":             "is etcd 3.8.0-alpha.0 by its tag",
		"host:5000/etcd:v4.0.0@sha256:0": "is etcd 4.0.0 by its tag",
	} {
		_, err := podWith(t, func(s *Spec) { s.Pod.Image = image })
		if want == "" {
			assert.NoError(t, err, image)
			continue
		}
		assert.ErrorContains(t, err, want, image)
	}
	for pair, alike := range map[[2]string]bool{
		{"3.5.0", "3.5.35"}:  false, // flags came with patches
		{"3.5.20", "3.5.21"}: true,
		{"3.5.10", "3.5.11"}: false, // so did /livez
		{"3.4.13", "3.4.45"}: false,
	} {
		assert.Equal(t, alike, toldAlike(version.MustParse(pair[0]), version.MustParse(pair[1])), pair)
	}
}

func TestWarnings(t *testing.T) {
	s := kubeadmLike("3.6.16")
	s.PeerTLS.Auto = true
	s.Settings = map[string]string{"max-snapshots": "3"}
	s, err := s.For(startCP2)
	require.NoError(t, err, "etcd only warns of these")
	warnings := s.Warnings()
	require.Len(t, warnings, 2)
	assert.EqualError(t, warnings[0], "PeerTLS.Auto: is ignored by etcd, for there is a CertFile")
	assert.EqualError(t, warnings[1], `Settings["max-snapshots"]: is deprecated in etcd 3.6.16: etcd 3.8 will not have it`)
	assert.Empty(t, kubeadmLike("3.7.3").Warnings())
}

func TestPeerURLsByNameSayWhatToSet(t *testing.T) {
	start := startCP2
	start.PeerURLs, start.InitialCluster = []string{"https://cp-2.example:2380"}, "cp-2=https://cp-2.example:2380"
	_, err := kubeadmLike("3.7.3").For(start)
	assert.ErrorContains(t, err, `ListenPeerURLs[0]: must have an address to listen on, not the name "cp-2.example": set ListenPeerURLs, to https://0.0.0.0:2380 for one`)
	assert.ErrorContains(t, err, "set ListenClientURLs, to https://0.0.0.0:2379 for one")
}

// TestWhatAPodLeavesOutStaysSo: what Kubernetes takes for it, not what we would.
func TestWhatAPodLeavesOutStaysSo(t *testing.T) {
	r, err := Read(StaticPod, "", []byte(pod("  - name: etcd\n    image: etcd\n    command: [etcd, --data-dir=/d]\n"+
		"    volumeMounts: [{name: data, mountPath: /d/}]\n  volumes: [{name: data, hostPath: {path: /mnt/}}]\n")))
	require.NoError(t, err)
	assert.Empty(t, r.Unplaced)
	r.Spec.Version = version.MustParse("3.6.16")
	data, err := r.Spec.Render(StaticPod)
	require.NoError(t, err)
	assert.Contains(t, string(data), "- hostPath:\n      path: /mnt\n    name: data\n", "no type")
	assert.Contains(t, string(data), "- mountPath: /d\n      name: data\n")
	assert.Contains(t, string(data), "imagePullPolicy: Always\n")
	assert.Contains(t, string(data), "namespace: default\n")
	assert.NotContains(t, string(data), "requests")
}
