package manifest

import (
	"maps"
	"slices"
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
	return yamlMap{}.with("limits", stringMap(p.Limits)).with("requests", stringMap(p.requests()))
}

// requests are kubeadm's by default, but none above its limit.
func (p Pod) requests() map[string]string {
	if p.Requests != nil {
		return p.Requests
	}
	requests := map[string]string{"cpu": "100m", "memory": "100Mi"}
	for name, usual := range requests {
		if limit := amount(p.Limits[name]); limit != nil && limit.Cmp(amount(usual)) < 0 {
			requests[name] = p.Limits[name]
		}
	}
	return requests
}

// stringMap is a map sorted by key.
func stringMap(m map[string]string) yamlMap {
	var tree yamlMap
	for _, key := range slices.Sorted(maps.Keys(m)) {
		tree = append(tree, yamlField{key, m[key]})
	}
	return tree
}
