package manifest

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

func readPod(data []byte) (Reading, error) {
	p, err := scanPod(data)
	if err != nil {
		return Reading{}, err
	}
	var r Reading
	if err := r.place(p.found(), p.version()); err != nil {
		return Reading{}, err
	}
	for _, f := range p.loose {
		r.unplaced(f.line, f.label, "depends on the container's environment: %s", orElse(f.value, "not a plain value"))
	}
	p.placePod(&r.Spec)
	p.lost(&r)
	return r, nil
}

// placePod fills in Spec.Pod and, from the image's tag, the version.
func (p *podScan) placePod(s *Spec) {
	meta, spec := child(p.root, "metadata"), child(p.root, "spec")
	s.Pod = Pod{
		Image:           scalar(child(p.container, "image")),
		ImagePullPolicy: notDefault(p.pullPolicy(), "IfNotPresent"),
		Name:            notDefault(scalar(child(meta, "name")), podName),
		Namespace:       notDefault(orElse(scalar(child(meta, "namespace")), "default"), podNamespace),
		Labels:          stringsOf(child(meta, "labels"), "component", "tier"),
		Annotations:     stringsOf(child(meta, "annotations"), p.ownAnnotation(s)),
		PriorityClass:   notDefault(scalar(child(spec, "priorityClassName")), nodeCritical),
		Requests:        stringsOf(child(child(p.container, "resources"), "requests")),
		Limits:          stringsOf(child(child(p.container, "resources"), "limits")),
	}
	s.Version = imageVersion(s.Pod.Image)
	if p.program > 0 {
		s.Pod.Program = notDefault(p.words[0].text, "etcd")
	}
	p.placeResources(s)
	p.placePriority(s, child(spec, "priority"))
	p.placeEnv(s)
	p.placeVolumes(s, spec)
	p.placeStartup(s)
}

// pullPolicy is what the pod says or Kubernetes takes: an image that is not
// pinned is pulled at each start.
func (p *podScan) pullPolicy() string {
	if said := scalar(child(p.container, "imagePullPolicy")); said != "" {
		return said
	}
	image := scalar(child(p.container, "image"))
	name := image[strings.LastIndexByte(image, '/')+1:]
	if !strings.Contains(image, "@") && (strings.HasSuffix(name, ":latest") || !strings.Contains(name, ":")) {
		return "Always"
	}
	return "IfNotPresent"
}

// ownAnnotation is the annotation that a Spec makes by itself, if it is that.
func (p *podScan) ownAnnotation(s *Spec) string {
	given := scalar(child(child(child(p.root, "metadata"), "annotations"), clientURLsKey))
	return only(given == strings.Join(s.AdvertiseClientURLs, ","), clientURLsKey)
}

func notDefault(v, def string) string { return only(v != def, v) }

// stringsOf is a mapping of texts, nil if it is empty. Keys given after it are
// left out.
func stringsOf(n *yaml.Node, without ...string) map[string]string {
	var m map[string]string
	n = followed(n)
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, followed(n.Content[i+1])
		if value.Kind != yaml.ScalarNode || slices.Contains(without, key) {
			continue
		}
		if m == nil {
			m = map[string]string{}
		}
		m[key] = value.Value
	}
	return m
}

// placeResources keeps nil for the default and an empty map for none.
func (p *podScan) placeResources(s *Spec) {
	switch r := s.Pod.Requests; {
	case r == nil:
		s.Pod.Requests = map[string]string{}
	case len(r) == 2 && r["cpu"] == "100m" && r["memory"] == "100Mi":
		s.Pod.Requests = nil
	}
}

func (p *podScan) placePriority(s *Spec, n *yaml.Node) {
	number, err := strconv.Atoi(scalar(n))
	if err == nil && (s.Pod.PriorityClass != "" || number != nodeCriticalNumber) {
		s.Pod.Priority = &number
	}
}

// placeEnv takes the variables that are the pod's own.
func (p *podScan) placeEnv(s *Spec) {
	for _, item := range items(child(p.container, "env")) {
		if isOwnVariable(item) {
			s.Pod.Env = append(s.Pod.Env, EnvVar{scalar(child(item, "name")), scalar(child(item, "value"))})
		}
	}
}

// isOwnVariable: one with a plain value that etcd is not told anything by.
func isOwnVariable(item *yaml.Node) bool {
	value := scalar(child(item, "value"))
	return scalar(child(item, "name")) != "" && child(item, "valueFrom") == nil && !isSettingVariable(item) &&
		(value == "" || plainText(value) == nil)
}

// placeVolumes takes the mounts of host paths that are not there by default, and
// of those that are, the ones which the others would do away with.
func (p *podScan) placeVolumes(s *Spec, spec *yaml.Node) {
	mounted := p.hostMounts(spec)
	r, _ := s.resolve()
	byDefault := r.allVolumes()
	for _, v := range mounted {
		if !slices.Contains(byDefault, v) {
			s.Pod.Volumes = append(s.Pod.Volumes, v)
		}
	}
	r, _ = s.resolve()
	for _, v := range mounted {
		if !slices.Contains(r.allVolumes(), v) {
			s.Pod.Volumes = append(s.Pod.Volumes, v)
		}
	}
}

// hostMounts are the container's mounts of host paths.
func (p *podScan) hostMounts(spec *yaml.Node) []Volume {
	host := map[string]*yaml.Node{}
	for _, v := range items(child(spec, "volumes")) {
		if source := child(v, "hostPath"); source != nil {
			host[scalar(child(v, "name"))] = source
		}
	}
	var all []Volume
	for _, m := range items(child(p.container, "volumeMounts")) {
		name := scalar(child(m, "name"))
		if source := host[name]; source != nil {
			all = append(all, volumeOf(name, source, m))
		}
	}
	return all
}

func volumeOf(name string, source, mount *yaml.Node) Volume {
	v := Volume{
		Name:     name,
		HostPath: path.Clean(scalar(child(source, "path"))),
		Type:     notDefault(orElse(scalar(child(source, "type")), UntypedHostPath), defaultHostPath),
		ReadOnly: isTrue(child(mount, "readOnly")),
	}
	v.MountPath = notDefault(path.Clean(scalar(child(mount, "mountPath"))), v.HostPath)
	return v
}

// placeStartup takes over how long a start may take.
func (p *podScan) placeStartup(s *Spec) {
	probe := child(p.container, "startupProbe")
	failures, err := strconv.Atoi(scalar(child(probe, "failureThreshold")))
	period, err2 := strconv.Atoi(scalar(child(probe, "periodSeconds")))
	if err == nil && err2 == nil && period == probePeriod && failures*period != defaultStartupSeconds {
		s.Pod.StartupSeconds = failures * period
	}
}

// lost notes what rendering the Spec would not write: the difference between the
// file and the pod that the Spec renders, settings apart.
func (p *podScan) lost(r *Reading) {
	s := r.Spec
	if s.Version.IsZero() {
		s.Version = newest // its probes are those of every version but old patches
	}
	full, _ := s.resolve()
	p.port = strconv.Itoa(full.probesFor().ready.port)
	p.compare(r, "", p.root, podTree(&full))
	for _, doc := range p.more {
		r.unplaced(doc.Line, "a further document", "is not read by the kubelet, which takes the first")
	}
	slices.SortStableFunc(r.Unplaced, func(a, b Unplaced) int { return a.Line - b.Line })
}

// compare walks the file beside the rendered tree.
func (p *podScan) compare(r *Reading, where string, n *yaml.Node, tree any) {
	n = followed(n)
	switch t := tree.(type) {
	case yamlMap:
		p.compareMap(r, where, n, t)
	case yamlSeq:
		p.compareSeq(r, where, n, t)
	default:
		if t == probePort && scalar(n) == p.port {
			return // older kubeadm gave the number
		}
		if n.Kind != yaml.ScalarNode || !sameScalar(where, n, t) {
			r.unplaced(n.Line, where, "would be %s", plainValue(t))
		}
	}
}

func (p *podScan) compareMap(r *Reading, where string, n *yaml.Node, t yamlMap) {
	if n.Kind != yaml.MappingNode {
		r.unplaced(n.Line, where, "is %s, not a mapping", describe(n))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		path := strings.TrimPrefix(where+"."+key.Value, ".")
		if n == followed(p.container) && slices.Contains([]string{"command", "args", "env"}, key.Value) {
			p.compareEnv(r, path, value)
			continue
		}
		expected := t.get(key.Value)
		if expected == nil {
			if !saysNothing(key.Value, value, 8) {
				r.unplaced(key.Line, path, "has no place in a Spec")
			}
			continue
		}
		p.compare(r, path, value, expected)
	}
}

// compareEnv finds the variables without a plain value; words are settings.
func (p *podScan) compareEnv(r *Reading, where string, env *yaml.Node) {
	for i, item := range items(env) {
		name := scalar(child(item, "name"))
		if name != "" && !isSettingVariable(item) && !isOwnVariable(item) {
			r.unplaced(item.Line, fmt.Sprintf("%s[%d] (%s)", where, i, name), "has no place in a Spec")
		}
	}
}

// compareSeq matches elements by name where they have one.
func (p *podScan) compareSeq(r *Reading, where string, n *yaml.Node, t yamlSeq) {
	if n.Kind != yaml.SequenceNode {
		r.unplaced(n.Line, where, "is %s, not a list", describe(n))
		return
	}
	for i, item := range n.Content {
		path := fmt.Sprintf("%s[%d]", where, i)
		expected := matching(item, t, p.container)
		if expected == nil {
			r.unplaced(item.Line, path, "has no place in a Spec")
			continue
		}
		p.compare(r, path, item, expected)
	}
}

// matching is the rendered element for one of the file.
func matching(item *yaml.Node, t yamlSeq, container *yaml.Node) any {
	for _, candidate := range t {
		m, ok := candidate.(yamlMap)
		if !ok {
			continue
		}
		isContainer := m.get("command") != nil
		if isContainer && item == container {
			return m
		}
		if !isContainer && scalar(child(item, "name")) == m.get("name") &&
			(m.get("mountPath") == nil || m.get("mountPath") == path.Clean(scalar(child(item, "mountPath")))) {
			return m
		}
	}
	return nil
}

// sameScalar compares what the kubelet reads, not how it is written.
func sameScalar(where string, n *yaml.Node, t any) bool {
	s := as11(n)
	switch v := t.(type) {
	case bool:
		return s == scalar11{bool11, strconv.FormatBool(v)}
	case int:
		return s == scalar11{number11, strconv.Itoa(v)}
	case string:
		if isPath := strings.HasSuffix(where, ".mountPath") || strings.HasSuffix(where, ".hostPath.path"); isPath {
			return path.Clean(s.value) == v
		}
	}
	return s.value == plainValue(t)
}

// kubernetesDefaults are values that a pod has where it does not give them.
var kubernetesDefaults = map[string]string{
	"dnsPolicy": "ClusterFirst", "enableServiceLinks": "true", "hostIPC": "false", "hostPID": "false", "initialDelaySeconds": "0",
	"preemptionPolicy": "PreemptLowerPriority", "privileged": "false", "protocol": "TCP", "readOnly": "false", "recursiveReadOnly": "Disabled",
	"restartPolicy": "Always", "schedulerName": "default-scheduler", "stdin": "false", "stdinOnce": "false", "successThreshold": "1",
	"terminationGracePeriodSeconds": "30", "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "tty": "false",
}

// saysNothing is a value without which the pod would be the same: nothing, as
// kubeadm's "status: {}", or what Kubernetes takes anyway. It looks so many levels
// deep: an anchor may hold itself.
func saysNothing(key string, n *yaml.Node, depth int) bool {
	n = followed(n)
	if depth == 0 {
		return false
	}
	if n.Kind == yaml.ScalarNode {
		s := as11(n)
		usual, known := kubernetesDefaults[key]
		return s.kind == null11 || s.value == "" || known && s.value == usual
	}
	for i, c := range n.Content {
		if n.Kind == yaml.SequenceNode || i%2 == 1 && !saysNothing(n.Content[i-1].Value, c, depth-1) {
			return false
		}
	}
	return true
}

// plainValue is a scalar of the tree as text.
func plainValue(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return yamlScalar(v)
}
