package manifest

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/etcdjoin/etcdjoin/version"
)

var (
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	quantity = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei|e[0-9]+)?$`)
)

// checkPod holds what only the static pod has to its rules.
func (r *resolved) checkPod(faults *Faults) {
	r.checkImage(faults)
	r.checkProbes(faults)
	r.checkPaths(faults)
	r.checkPodFields(faults)
	checkVolumes(r.Pod.Volumes, faults)
	checkEnv(r.Pod.Env, faults)
}

// checkImage wants the image's version to be the one that is rendered for: a tag
// that is none decides nothing (kubeadm took such a tag for an old etcd).
func (r *resolved) checkImage(faults *Faults) {
	if r.Pod.Image == "" {
		faults.add("Pod.Image", "must be set")
		return
	}
	if err := plainText(r.Pod.Image); err != nil {
		faults.add("Pod.Image", "%v", err)
	}
	v := imageVersion(r.Pod.Image)
	if !v.IsZero() && !r.Version.IsZero() && !v.SameMinor(r.Version) {
		faults.add("Pod.Image", "is etcd %s by its tag, but Version is %s", v, r.Version)
	}
}

// imageVersion is the version that an image's tag names, zero if it names none.
func imageVersion(image string) version.Version {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, _ := strings.Cut(name, ":")
	v, err := version.Parse(tag)
	if err != nil {
		return version.Version{}
	}
	return v
}

func (r *resolved) checkProbes(faults *Faults) {
	if r.Pod.StartupSeconds < 0 {
		faults.add("Pod.StartupSeconds", "must not be negative")
	}
	if len(r.MetricsURLs) == 0 {
		return
	}
	switch first := r.MetricsURLs[0]; {
	case strings.HasPrefix(first, "unix"):
		faults.add("MetricsURLs[0]", "must be http or https: the kubelet's probes follow it")
	case strings.HasPrefix(first, "https:") && (r.ClientTLS.ClientCertAuth || r.ClientTLS.TrustedCAFile != ""):
		faults.add("MetricsURLs[0]", "must be http where client certificates are asked for: the kubelet's probes, which follow it, bring none")
	}
}

// checkPaths wants paths that mean the same on the host and in the container.
func (r *resolved) checkPaths(faults *Faults) {
	for _, f := range fields {
		isFile := strings.HasSuffix(f.name, "-file")
		if !isFile && f.name != "data-dir" && f.name != "wal-dir" {
			continue
		}
		p := f.get(&r.Spec)
		if p == "" {
			continue
		}
		checkAbsolute(f.path, p, faults)
		if p == "/" || isFile && path.Dir(p) == "/" {
			faults.add(f.path, "must not be in the root directory, which would be mounted whole")
		}
	}
}

func checkAbsolute(field, p string, faults *Faults) {
	if !path.IsAbs(p) || path.Clean(p) != p {
		faults.add(field, "must be an absolute path without . or .., not %q", p)
	}
}

func (r *resolved) checkPodFields(faults *Faults) {
	for field, name := range map[string]string{"Pod.Name": r.Pod.Name, "Pod.Namespace": r.Pod.Namespace} {
		if name != "" && !dnsLabel.MatchString(name) {
			faults.add(field, "must be small letters, digits and dashes, not %q", name)
		}
	}
	if p := r.Pod.ImagePullPolicy; p != "" && !slices.Contains([]string{"IfNotPresent", "Always", "Never"}, p) {
		faults.add("Pod.ImagePullPolicy", "must be IfNotPresent, Always or Never, not %q", p)
	}
	if p := r.Pod.Priority; p != nil && orElse(r.Pod.PriorityClass, nodeCritical) == nodeCritical && *p != nodeCriticalNumber {
		faults.add("Pod.Priority", "must be %d, the number of %s, or nil", nodeCriticalNumber, nodeCritical)
	}
	for _, key := range []string{"component", "tier"} {
		if _, ok := r.Pod.Labels[key]; ok {
			faults.add(fmt.Sprintf("Pod.Labels[%q]", key), "is set already, for kubeadm looks for it")
		}
	}
	checkTexts("Pod.Labels", r.Pod.Labels, faults)
	checkTexts("Pod.Annotations", r.Pod.Annotations, faults)
	checkQuantities("Pod.Requests", r.Pod.Requests, faults)
	checkQuantities("Pod.Limits", r.Pod.Limits, faults)
}

func checkTexts(field string, m map[string]string, faults *Faults) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if plainText(key) != nil || m[key] != "" && plainText(m[key]) != nil {
			faults.add(fmt.Sprintf("%s[%q]", field, key), "must be one line of text")
		}
	}
}

func checkQuantities(field string, m map[string]string, faults *Faults) {
	checkTexts(field, m, faults)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !quantity.MatchString(m[key]) {
			faults.add(fmt.Sprintf("%s[%q]", field, key), "must be a quantity such as 100m or 2Gi, not %q", m[key])
		}
	}
}

func checkVolumes(volumes []Volume, faults *Faults) {
	paths := map[string]bool{}
	for i, v := range volumes {
		field := fmt.Sprintf("Pod.Volumes[%d]", i)
		if !dnsLabel.MatchString(v.Name) {
			faults.add(field+".Name", "must be small letters, digits and dashes, not %q", v.Name)
		}
		checkAbsolute(field+".HostPath", v.HostPath, faults)
		mount := orElse(v.MountPath, v.HostPath)
		checkAbsolute(field+".MountPath", mount, faults)
		if paths[mount] {
			faults.add(field+".MountPath", "must not be another volume's: %s", mount)
		}
		paths[mount] = true
	}
}

// checkEnv keeps etcd's settings out of the environment: beside the same flag a
// variable makes etcd exit.
func checkEnv(env []EnvVar, faults *Faults) {
	for i, e := range env {
		field := fmt.Sprintf("Pod.Env[%d]", i)
		switch {
		case !envName.MatchString(e.Name):
			faults.add(field+".Name", "must be letters, digits and _, not %q", e.Name)
		case strings.HasPrefix(e.Name, "ETCD_"):
			faults.add(field+".Name", "is etcd's: use Settings, for a variable beside the same flag makes etcd exit")
		}
		if e.Value != "" && plainText(e.Value) != nil {
			faults.add(field+".Value", "must be one line of text")
		}
	}
}
