package manifest

import (
	"maps"
	"slices"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// Spec is one etcd member as its installer knows it: what is the same on every
// start. [Spec.For] adds what one join decides; everything else here renders it.
//
// The zero value of each field means what its comment says. Every method
// validates the whole Spec first and returns all faults at once, as [Faults].
type Spec struct {
	// Version is the etcd that will run. It decides names, feature gates and
	// probes. Required: from 3.4.0 to 3.8.0-alpha.0.
	Version version.Version
	// TreatAs, if set, is the known version whose names and probes are used: the
	// say-so for a Version that is newer than any known one, which is refused
	// otherwise.
	TreatAs version.Version

	// Name is --name, unique in the cluster. Zero takes it from the StartSpec.
	Name string
	// DataDir is --data-dir. Zero means /var/lib/etcd.
	DataDir string
	// WALDir is --wal-dir. Zero keeps the log in DataDir.
	WALDir string

	// AdvertisePeerURLs is --initial-advertise-peer-urls. Zero takes it from the
	// StartSpec; if both have it they must be the same strings.
	AdvertisePeerURLs []string
	// ListenPeerURLs is --listen-peer-urls: addresses, no names. Zero means
	// AdvertisePeerURLs.
	ListenPeerURLs []string
	// AdvertiseClientURLs is --advertise-client-urls. Zero means port 2379 at
	// the host of the first peer URL, https if ClientTLS has a certificate.
	AdvertiseClientURLs []string
	// ListenClientURLs is --listen-client-urls. Zero means AdvertiseClientURLs
	// and the loopback address of the same family and port.
	ListenClientURLs []string
	// MetricsURLs is --listen-metrics-urls. The first one is probed. Zero means
	// port 2381 of the loopback address of the client URL's family, by http.
	MetricsURLs []string

	// InitialCluster and InitialClusterState are what one start decides; readers
	// fill them in and [Spec.For] replaces them. The state is never "new" in
	// anything rendered here, but for the Spec that [Spec.Found] returns.
	InitialCluster      string
	InitialClusterState string

	// ClientTLS and PeerTLS are the files of the two ports. Zero means no TLS.
	ClientTLS, PeerTLS TLS

	// Settings has all other settings of etcd by canonical name: the newest
	// flag's, without "experimental-". A feature gate that was a flag once has
	// that flag's name; [SettingNames] lists them. A setting with a field of its
	// own is refused here.
	Settings map[string]string
	// OverrideIdentity lets Settings replace name, URLs, initial-cluster and
	// initial-cluster-state. Without it they are refused: settings are shared by
	// all nodes, and these are one node's (kubeadm#2036, #1468, #1359).
	OverrideIdentity bool
	// Unknown has flags that no table here knows, by their exact name. They are
	// passed through in every form; "feature-gates" takes further gates as
	// "A=true,B=false".
	Unknown map[string]string

	// Bare leaves out what nobody said: [Defaults], and all that is derived
	// otherwise (URLs, data directory, client-cert-auth). Only the state
	// "existing" is always there. Readers set it.
	Bare bool
	// Without names the [Defaults] that are left out.
	Without []string

	// Pod and Unit are what only a static pod or a systemd unit needs.
	Pod  Pod
	Unit Unit

	founds bool // set by Found alone
}

// TLS is the files of one port. CertFile and KeyFile go together.
type TLS struct {
	CertFile, KeyFile string
	// TrustedCAFile makes the server ask for client certificates: etcd does so
	// whether ClientCertAuth is set or not, so that is set with it by default.
	TrustedCAFile  string
	ClientCertAuth bool
	// ClientCertFile and ClientKeyFile are used where the server is a client
	// itself; 3.5 and later. Zero uses CertFile and KeyFile.
	ClientCertFile, ClientKeyFile string
	// Auto makes etcd sign its own certificate.
	Auto bool
}

// Pod is what a static pod has beside the command.
type Pod struct {
	// Image is required. A tag that is a version must agree with Spec.Version.
	Image string
	// ImagePullPolicy is IfNotPresent if empty.
	ImagePullPolicy string
	// Program is the first word of the command, etcd if empty.
	Program string
	// Name and Namespace are etcd and kube-system if empty.
	Name, Namespace string
	// Labels and Annotations are added to those that kubeadm looks for:
	// component=etcd, tier=control-plane and the advertised client URLs.
	Labels, Annotations map[string]string
	// PriorityClass is system-node-critical if empty, and Priority then
	// 2000001000; with another class nil renders no number.
	PriorityClass string
	Priority      *int
	// Requests and Limits are resource quantities. A nil Requests means cpu 100m
	// and memory 100Mi; an empty one means none.
	Requests, Limits map[string]string
	// Volumes are mounted beside etcd-data and etcd-certs, or instead of the one
	// whose name they have.
	Volumes []Volume
	// Env is passed to the container. Variables that etcd reads are refused.
	Env []EnvVar
	// StartupSeconds is how long the container may take until it is live before
	// the kubelet restarts it: the startup probe asks every 10 seconds and may fail
	// StartupSeconds/10 times, rounded up. A process is live before it has received
	// its data from others, so a learner's way does not count; what does is its own:
	// to read what it has on disk and to check it against its peers. Allow for the
	// size of the database, at what the disk reads in a second, three times, and a
	// minute. Zero means 1800, 30 minutes: enough for 8 GiB at 15 MiB a second.
	StartupSeconds int
	// Patch changes the rendered pod in whatever the fields above have no place for:
	// a security context, tolerations, a sidecar. It gets YAML and returns YAML or
	// JSON, the same for the same. What it returns is read and checked: name, URLs,
	// initial cluster and directories must stay (see OverrideIdentity), and etcd must
	// take its flags. Module manifest/podpatch has one for kubeadm's patches. Nil
	// changes nothing.
	Patch func(pod []byte) ([]byte, error)
}

// Volume is a directory or file of the host mounted into the pod.
type Volume struct {
	Name      string
	HostPath  string
	Type      string // DirectoryOrCreate if empty
	MountPath string // HostPath if empty
	ReadOnly  bool
}

// EnvVar is a variable of the pod's environment.
type EnvVar struct{ Name, Value string }

// Unit is what a systemd unit has beside the settings.
type Unit struct {
	// Program is etcd's absolute path, /usr/local/bin/etcd if empty.
	Program string
	// EnvironmentFile is where the unit finds what [Spec.Render] wrote as
	// [Environment], /etc/etcd/etcd.env if empty.
	EnvironmentFile string
	// User and Group run etcd; empty is root.
	User, Group string
}

// For is the Spec of one start: name, peer URLs, initial cluster and the state
// "existing" from the StartSpec ("new" for a Spec that [Spec.Found] returned). The
// error has all faults of the result, and each place where Spec and StartSpec
// contradict each other.
func (s Spec) For(start member.StartSpec) (Spec, error) {
	var faults Faults
	if s.Name != "" && s.Name != start.Name {
		faults.add("Name", "must be the member's, %q, not %q", start.Name, s.Name)
	}
	if len(s.AdvertisePeerURLs) > 0 && !sameStrings(s.AdvertisePeerURLs, start.PeerURLs) {
		faults.add("AdvertisePeerURLs", "must be the member's, %q, not %q", start.PeerURLs, s.AdvertisePeerURLs)
	}
	s.Name = start.Name
	s.AdvertisePeerURLs = slices.Clone(start.PeerURLs)
	s.InitialCluster = start.InitialCluster
	s.InitialClusterState = s.state()
	_, more := s.resolve()
	return s, append(faults, more...).err()
}

// sameStrings compares lists whose order means nothing.
func sameStrings(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Validate is all faults of the Spec in one error, as [Faults], or nil.
func (s Spec) Validate() error {
	_, faults := s.resolve()
	return faults.err()
}

// Setting is one thing etcd is told, by canonical name.
type Setting struct{ Name, Value string }

// Resolved is everything etcd will be told, defaults included, sorted by name.
// Two Specs with equal results start the same etcd.
func (s Spec) Resolved() ([]Setting, error) {
	r, faults := s.resolve()
	if err := faults.err(); err != nil {
		return nil, err
	}
	settings := make([]Setting, 0, len(r.values))
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		settings = append(settings, Setting{name, r.values[name]})
	}
	return settings, nil
}

// SettingNames lists the canonical names that Spec.Settings takes, sorted.
func SettingNames() []string {
	var names []string
	for name := range byName {
		if fieldOf(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
