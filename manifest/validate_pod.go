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
	// dnsSubdomain is labels between dots: the name of most objects.
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	envName      = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// checkPod holds what only the static pod has to its rules.
func (r *resolved) checkPod(faults *Faults) {
	r.checkImage(faults)
	r.checkProbes(faults)
	r.checkPaths(faults)
	r.checkPodFields(faults)
	checkVolumes(r.Pod.Volumes, faults)
	r.checkDataKept(faults)
	checkEnv(r.Pod.Env, faults)
}

// checkImage wants the image to be the version that is rendered for, to the
// patch, or one that is told everything in the same words: patches bring flags,
// at which those before them exit. A tag that is no version decides nothing
// (kubeadm took such a tag for an old etcd).
func (r *resolved) checkImage(faults *Faults) {
	if r.Pod.Image == "" {
		faults.add("Pod.Image", "must be set")
		return
	}
	if err := plainText(r.Pod.Image); err != nil {
		faults.add("Pod.Image", "%v", err)
	}
	v := imageVersion(r.Pod.Image)
	if !v.IsZero() && !r.Version.IsZero() && !toldAlike(v, r.Version) {
		faults.add("Pod.Image", "is etcd %s by its tag, but Version is %s%s", v, r.Version, firstDifference(v, r.Version))
	}
}

// toldAlike reports whether two versions are one patch, or are told everything
// in the same words and probed alike.
func toldAlike(a, b version.Version) bool {
	return samePatch(a, b) || inTables(a) && inTables(b) && a.SameMinor(b) && firstDifference(a, b) == ""
}

// samePatch compares numbers and the pre-release's beginning: an image's tag has
// a revision of its own behind them, as 3.8.0-alpha.0-0.
func samePatch(a, b version.Version) bool {
	return a.SameMinor(b) && a.Patch() == b.Patch() && (a.Compare(b) == 0 || strings.HasPrefix(a.String(), b.String()+"-"))
}

// inTables reports whether a version is one of those whose names are known here.
func inTables(v version.Version) bool {
	return !v.IsZero() && v.Compare(oldest) >= 0 && v.Compare(newest) <= 0
}

// firstDifference is what one of two versions of a branch has and the other has
// not, as a part of a message; "" if there is nothing.
func firstDifference(a, b version.Version) string {
	if !inTables(a) || !inTables(b) || !a.SameMinor(b) {
		return ""
	}
	for _, s := range table {
		if s.in.Has(a) != s.in.Has(b) {
			return fmt.Sprintf(": only one of them has %s", s)
		}
	}
	for name, all := range choices {
		for _, c := range all {
			if c.in.Has(a) != c.in.Has(b) {
				return fmt.Sprintf(": only one of them takes %s as %s", c.value, name)
			}
		}
	}
	if livePath(a) != livePath(b) || readyPath(a) != readyPath(b) {
		return ": they are probed by other paths"
	}
	return ""
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
		if path.Clean(p) == "/" || isFile && path.Dir(p) == "/" {
			faults.add(f.path, "must not be in the root directory, which would be mounted whole")
		}
	}
}

func checkAbsolute(field, p string, faults *Faults) {
	if !path.IsAbs(p) || p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/") {
		faults.add(field, "must be an absolute path without . or .., not %q", p)
	}
}

func (r *resolved) checkPodFields(faults *Faults) {
	if name := r.Pod.Name; name != "" && (len(name) > 253 || !dnsSubdomain.MatchString(name)) {
		faults.add("Pod.Name", "must be small letters, digits, dashes and dots, not %q", name)
	}
	if name := r.Pod.Namespace; name != "" && !dnsLabel.MatchString(name) {
		faults.add("Pod.Namespace", "must be small letters, digits and dashes, not %q", name)
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
	if class := r.Pod.PriorityClass; class != "" && !dnsSubdomain.MatchString(class) {
		faults.add("Pod.PriorityClass", "must be small letters, digits, dashes and dots, not %q", class)
	}
	checkNumbers(r.Pod, faults)
	checkLabels(r.Pod.Labels, faults)
	checkAnnotations(r.Pod.Annotations, faults)
	checkResources(r.Pod, faults)
}

func checkTexts(field string, m map[string]string, faults *Faults) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if plainText(key) != nil || m[key] != "" && plainText(m[key]) != nil {
			faults.add(fmt.Sprintf("%s[%q]", field, key), "must be one line of text")
		}
	}
}

// checkEnv keeps etcd's settings out of the environment: beside the same flag a
// variable makes etcd exit. Others may have etcd's prefix, as
// ETCD_UNSUPPORTED_ARCH, which no flag has.
func checkEnv(env []EnvVar, faults *Faults) {
	for i, e := range env {
		field := fmt.Sprintf("Pod.Env[%d]", i)
		f := foundVariable(e.Name, "", 0)
		switch {
		case !envName.MatchString(e.Name):
			faults.add(field+".Name", "must be letters, digits and _, not %q", e.Name)
		case f.rows != nil || f.isGates():
			faults.add(field+".Name", "is a setting of etcd's: use Settings, for a variable beside the same flag makes etcd exit")
		case e.Name == "ETCD_CONFIG_FILE":
			faults.add(field+".Name", "makes etcd ignore all its flags")
		}
		if e.Value != "" && plainText(e.Value) != nil {
			faults.add(field+".Value", "must be one line of text")
		}
	}
}
