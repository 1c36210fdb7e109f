package manifest

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// What Kubernetes' own validation holds a pod to (pkg/apis/core/validation): the
// kubelet drops a static pod that fails it, and says so in its log only. The
// tests of module bench ask that code itself.

var (
	// labelWord is a label's value, and the name in a label's or annotation's key.
	labelWord = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
)

// qualifiedName reports whether a key is a name, perhaps behind a DNS name and a
// slash.
func qualifiedName(key string) bool {
	prefix, name, ok := strings.Cut(key, "/")
	if !ok {
		return labelWord.MatchString(key)
	}
	return len(prefix) <= 253 && dnsSubdomain.MatchString(prefix) && labelWord.MatchString(name)
}

func checkLabels(m map[string]string, faults *Faults) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		field := fmt.Sprintf("Pod.Labels[%q]", key)
		if !qualifiedName(key) {
			faults.add(field, "must have a key of letters, digits and -_. (perhaps behind a domain and a slash)")
		}
		if m[key] != "" && !labelWord.MatchString(m[key]) {
			faults.add(field, "must be at most 63 letters, digits and -_., not %q", m[key])
		}
	}
}

func checkAnnotations(m map[string]string, faults *Faults) {
	checkTexts("Pod.Annotations", m, faults)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !qualifiedName(strings.ToLower(key)) {
			faults.add(fmt.Sprintf("Pod.Annotations[%q]", key), "must have a key of letters, digits and -_. (perhaps behind a domain and a slash)")
		}
	}
}

// checkResources wants quantities, of resources that containers have, and no
// request above its limit.
func checkResources(p Pod, faults *Faults) {
	checkQuantities("Pod.Requests", p.Requests, faults)
	checkQuantities("Pod.Limits", p.Limits, faults)
	requests := p.requests()
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		field := fmt.Sprintf("Pod.Requests[%q]", name)
		limit, limited := p.Limits[name]
		want, atMost := amount(requests[name]), amount(limit)
		switch {
		case want == nil || limited && atMost == nil:
		case isCounted(name) && (!limited || want.Cmp(atMost) != 0):
			faults.add(field, "must be the same as its limit: such a resource cannot be shared")
		case limited && want.Cmp(atMost) > 0:
			faults.add(field, "must not be above its limit: %s is more than %s", requests[name], limit)
		}
	}
}

func checkQuantities(field string, m map[string]string, faults *Faults) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		at := fmt.Sprintf("%s[%q]", field, name)
		n := amount(m[name])
		switch {
		case !isResource(name):
			faults.add(at, "must be cpu, memory, ephemeral-storage, hugepages-SIZE or a resource with a domain, as example.com/name")
		case n == nil:
			faults.add(at, "must be a quantity such as 100m or 2Gi, not %q", m[name])
		case isCounted(name) && !n.IsInt():
			faults.add(at, "must be a whole number, not %s", m[name])
		}
	}
}

func isResource(name string) bool {
	return name == "cpu" || name == "memory" || name == "ephemeral-storage" || strings.HasPrefix(name, "hugepages-") && labelWord.MatchString(name) || isCounted(name) && qualifiedName(name)
}

// isCounted: whole ones of them are given to one container.
func isCounted(name string) bool {
	return strings.HasPrefix(name, "hugepages-") || strings.Contains(name, "/")
}

// checkNumbers wants what fits into the 32 bits that Kubernetes has for them.
func checkNumbers(p Pod, faults *Faults) {
	if n := p.Priority; n != nil && (*n > math.MaxInt32 || *n < math.MinInt32) {
		faults.add("Pod.Priority", "must fit into 32 bits, not %d", *n)
	}
	if p.StartupSeconds/probePeriod > math.MaxInt32 {
		faults.add("Pod.StartupSeconds", "must be less than %d years", p.StartupSeconds/365/24/60/60)
	}
}
