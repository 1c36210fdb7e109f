package manifest

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	podName            = "etcd"
	podNamespace       = "kube-system"
	clientURLsKey      = "kubeadm.kubernetes.io/etcd.advertise-client-urls"
	nodeCritical       = "system-node-critical"
	nodeCriticalNumber = 2000001000
	dataVolume         = "etcd-data"
	walVolume          = "etcd-wal"
	certsVolume        = "etcd-certs"
)

// podTree is the static pod as kubeadm users know it (kubeadm 1.37,
// cmd/kubeadm/app/phases/etcd), field for field and in its order, but for
// probes that let a learner catch up and certificates that are mounted
// read-only.
func podTree(r *resolved) yamlMap {
	return yamlMap{
		{"apiVersion", "v1"},
		{"kind", "Pod"},
		{"metadata", r.podMetadata()},
		{"spec", r.podSpec()},
	}
}

func (r *resolved) podMetadata() yamlMap {
	return yamlMap{}.
		with("annotations", stringMap(r.podAnnotations())).
		with("labels", stringMap(r.podLabels())).
		with("name", orElse(r.Pod.Name, podName)).
		with("namespace", orElse(r.Pod.Namespace, podNamespace))
}

// podAnnotations: kubeadm finds the etcd endpoints of a cluster by this one.
func (r *resolved) podAnnotations() map[string]string {
	all := map[string]string{}
	if urls := strings.Join(r.AdvertiseClientURLs, ","); urls != "" {
		all[clientURLsKey] = urls
	}
	maps.Copy(all, r.Pod.Annotations)
	return all
}

func (r *resolved) podLabels() map[string]string {
	all := map[string]string{"component": podName, "tier": "control-plane"}
	maps.Copy(all, r.Pod.Labels)
	return all
}

func (r *resolved) podSpec() yamlMap {
	spec := yamlMap{}.
		with("containers", yamlSeq{r.podContainer()}).
		with("hostNetwork", true)
	if priority := r.Pod.priority(); priority != nil {
		spec = append(spec, yamlField{"priority", *priority})
	}
	return spec.
		with("priorityClassName", orElse(r.Pod.PriorityClass, nodeCritical)).
		with("securityContext", yamlMap{{"seccompProfile", yamlMap{{"type", "RuntimeDefault"}}}}).
		with("volumes", r.volumes())
}

// priority is the number of the class, which the kubelet goes by: no admission
// looks a static pod's class up.
func (p Pod) priority() *int {
	if p.Priority == nil && orElse(p.PriorityClass, nodeCritical) == nodeCritical {
		number := nodeCriticalNumber
		return &number
	}
	return p.Priority
}

func (r *resolved) podContainer() yamlMap {
	probes := r.probesFor()
	return yamlMap{}.
		with("command", r.podCommand()).
		with("env", envTree(r.Pod.Env)).
		with("image", r.Pod.Image).
		with("imagePullPolicy", orElse(r.Pod.ImagePullPolicy, "IfNotPresent")).
		with("livenessProbe", probes.livenessTree()).
		with("name", podName).
		with("ports", probes.ports()).
		with("readinessProbe", probes.readinessTree()).
		with("resources", r.Pod.resources()).
		with("startupProbe", probes.startupTree()).
		with("volumeMounts", r.mounts())
}

func (r *resolved) podCommand() yamlSeq {
	command := yamlSeq{orElse(r.Pod.Program, "etcd")}
	for _, arg := range r.args() {
		command = append(command, escapeExpansion(arg))
	}
	return command
}

// escapeExpansion keeps the kubelet from expanding $(NAME): a dollar is doubled.
func escapeExpansion(arg string) string { return strings.ReplaceAll(arg, "$", "$$") }

func envTree(env []EnvVar) yamlSeq {
	var seq yamlSeq
	for _, e := range env {
		seq = append(seq, yamlMap{{"name", e.Name}, {"value", e.Value}})
	}
	return seq
}

func (p Pod) resources() yamlMap {
	requests := p.Requests
	if requests == nil {
		requests = map[string]string{"cpu": "100m", "memory": "100Mi"}
	}
	return yamlMap{}.with("limits", stringMap(p.Limits)).with("requests", stringMap(requests))
}

// allVolumes is data, log, certificates and what the Spec adds or replaces.
func (r *resolved) allVolumes() []Volume {
	var all []Volume
	add := func(v Volume) {
		if !slices.ContainsFunc(r.Pod.Volumes, func(w Volume) bool { return w.Name == v.Name }) {
			all = append(all, v)
		}
	}
	if r.DataDir != "" {
		add(Volume{Name: dataVolume, HostPath: r.DataDir})
	}
	if r.WALDir != "" && !below(r.WALDir, r.DataDir) {
		add(Volume{Name: walVolume, HostPath: r.WALDir})
	}
	for i, dir := range r.certDirs() {
		name := certsVolume
		if i > 0 {
			name += "-" + strconv.Itoa(i+1)
		}
		add(Volume{Name: name, HostPath: dir, ReadOnly: true})
	}
	return append(all, r.Pod.Volumes...)
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
			with("mountPath", orElse(v.MountPath, v.HostPath)).
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
		source := yamlMap{{"path", v.HostPath}, {"type", orElse(v.Type, "DirectoryOrCreate")}}
		seq = append(seq, yamlMap{{"hostPath", source}, {"name", v.Name}})
	}
	return seq
}

// stringMap is a map sorted by key.
func stringMap(m map[string]string) yamlMap {
	var tree yamlMap
	for _, key := range slices.Sorted(maps.Keys(m)) {
		tree = append(tree, yamlField{key, m[key]})
	}
	return tree
}
