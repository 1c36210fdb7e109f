package manifest

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// UntypedHostPath as a [Volume]'s Type leaves the type out of the pod: the
// kubelet then looks at nothing before it mounts.
const UntypedHostPath = "Untyped"

const defaultHostPath = "DirectoryOrCreate"

var hostPathTypes = []string{
	"", UntypedHostPath, defaultHostPath, "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice",
}

// at is where the container has it. A slash at the end means nothing there.
func (v Volume) at() string { return path.Clean(orElse(v.MountPath, v.HostPath)) }

// source is the pod's volume, which several mounts may share.
func (v Volume) source() Volume {
	return Volume{Name: v.Name, HostPath: path.Clean(v.HostPath), Type: orElse(v.Type, defaultHostPath)}
}

// allVolumes are the directories that etcd's settings name, unless a volume of
// the Spec's own has them, and then those.
func (r *resolved) allVolumes() []Volume {
	var all []Volume
	for _, v := range r.dataVolumes() {
		if r.ownMount(v.HostPath) == nil && !r.ownName(v.Name) {
			all = append(all, v)
		}
	}
	number := 1
	for _, dir := range r.certDirs() {
		if r.ownMount(dir) != nil {
			continue
		}
		name := certsName(number)
		for ; r.ownName(name); name = certsName(number) {
			number++
		}
		number++
		all = append(all, Volume{Name: name, HostPath: dir, ReadOnly: true})
	}
	return append(all, r.Pod.Volumes...)
}

func certsName(number int) string {
	if number == 1 {
		return certsVolume
	}
	return certsVolume + "-" + strconv.Itoa(number)
}

// dataVolumes are what etcd writes into.
func (r *resolved) dataVolumes() []Volume {
	var all []Volume
	if r.DataDir != "" {
		all = append(all, Volume{Name: dataVolume, HostPath: path.Clean(r.DataDir)})
	}
	if r.WALDir != "" && !below(path.Clean(r.WALDir), path.Clean(r.DataDir)) {
		all = append(all, Volume{Name: walVolume, HostPath: path.Clean(r.WALDir)})
	}
	return all
}

// ownMount is the volume of the Spec's own that a path of the container is in:
// the innermost. nil is none.
func (r *resolved) ownMount(p string) *Volume { return innermost(r.Pod.Volumes, p) }

func (r *resolved) ownName(name string) bool {
	return slices.ContainsFunc(r.Pod.Volumes, func(v Volume) bool { return v.Name == name })
}

func innermost(volumes []Volume, p string) *Volume {
	var best *Volume
	for i := range volumes {
		if v := &volumes[i]; below(path.Clean(p), v.at()) && (best == nil || len(v.at()) > len(best.at())) {
			best = v
		}
	}
	return best
}

// certDirs are the directories of the TLS files, without those inside others.
func (r *resolved) certDirs() []string {
	var dirs []string
	for _, tls := range []TLS{r.ClientTLS, r.PeerTLS} {
		for _, file := range []string{tls.CertFile, tls.KeyFile, tls.TrustedCAFile, tls.ClientCertFile, tls.ClientKeyFile} {
			if file != "" {
				dirs = append(dirs, path.Dir(file))
			}
		}
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return slices.ContainsFunc(dirs, func(other string) bool { return other != dir && below(dir, other) })
	})
}

// below reports whether a path of the container is another or inside it.
func below(p, dir string) bool {
	return dir != "" && (p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/"))
}

func (r *resolved) mounts() yamlSeq {
	var seq yamlSeq
	for _, v := range r.allVolumes() {
		seq = append(seq, yamlMap{}.
			with("mountPath", v.at()).
			with("name", v.Name).
			with("readOnly", v.ReadOnly))
	}
	return seq
}

// volumes are sorted by name, as kubeadm's.
func (r *resolved) volumes() yamlSeq {
	all := r.allVolumes()
	slices.SortStableFunc(all, func(a, b Volume) int { return strings.Compare(a.Name, b.Name) })
	all = slices.CompactFunc(all, func(a, b Volume) bool { return a.Name == b.Name })
	var seq yamlSeq
	for _, v := range all {
		source := yamlMap{{"path", v.source().HostPath}}
		if v.Type != UntypedHostPath {
			source = source.with("type", v.source().Type)
		}
		seq = append(seq, yamlMap{{"hostPath", source}, {"name", v.Name}})
	}
	return seq
}

// checkVolumes holds them to Kubernetes' rules: one volume of a name, one mount
// at a path.
func checkVolumes(volumes []Volume, faults *Faults) {
	for i, v := range volumes {
		field := fmt.Sprintf("Pod.Volumes[%d]", i)
		if !dnsLabel.MatchString(v.Name) {
			faults.add(field+".Name", "must be small letters, digits and dashes, not %q", v.Name)
		}
		checkAbsolute(field+".HostPath", v.HostPath, faults)
		checkAbsolute(field+".MountPath", orElse(v.MountPath, v.HostPath), faults)
		if strings.Contains(v.at(), ":") {
			faults.add(field+".MountPath", "must not contain a colon: %s", v.at())
		}
		if !slices.Contains(hostPathTypes, v.Type) {
			faults.add(field+".Type", "must be one of Kubernetes' hostPath types or UntypedHostPath, not %q", v.Type)
		}
		for _, w := range volumes[:i] {
			switch {
			case w.at() == v.at():
				faults.add(field+".MountPath", "must not be another volume's: %s", v.at())
			case w.Name == v.Name && w.source() != v.source():
				faults.add(field+".Name", "must not be another volume's: %s", v.Name)
			}
		}
	}
}

// checkDataKept wants what etcd writes on the host: in the container's own layer
// it would be gone at the next start.
func (r *resolved) checkDataKept(faults *Faults) {
	for _, dir := range []struct{ field, path string }{{"DataDir", r.DataDir}, {"WALDir", r.WALDir}} {
		if dir.path == "" || !path.IsAbs(dir.path) {
			continue
		}
		switch v := innermost(r.allVolumes(), dir.path); {
		case v == nil:
			faults.add(dir.field, "is in no volume, so that etcd's data would be gone with its container: the volumes of Pod that have the names etcd-data and etcd-wal are mounted elsewhere")
		case v.ReadOnly:
			faults.add(dir.field, "is in volume %s, which is mounted read-only", v.Name)
		}
	}
}
