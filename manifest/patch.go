package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// patched is the pod after the installer's own changes, which must not make it
// another member, or an etcd that does not start.
func (r *resolved) patched(pod []byte) ([]byte, error) {
	if r.Pod.Patch == nil {
		return pod, nil
	}
	out, err := r.Pod.Patch(slices.Clone(pod))
	if err != nil {
		return nil, fmt.Errorf("manifest: Pod.Patch: %w", err)
	}
	var faults Faults
	r.checkPatched(out, &faults)
	return out, faults.err()
}

// checkPatched reads the pod as the kubelet will.
func (r *resolved) checkPatched(pod []byte, faults *Faults) {
	reading, err := Read(StaticPod, "", pod)
	if err != nil {
		faults.addErr(err, "Pod.Patch", "makes a pod that nobody can start: %s", asSource(err).Rule)
		return
	}
	s := reading.Spec
	for _, f := range fields {
		mayChange := !f.identity && f.name != "data-dir" && f.name != "wal-dir"
		if was, is := f.get(&r.Spec), f.get(&s); was != is && !mayChange && !r.OverrideIdentity {
			faults.add("Pod.Patch", "changes %s from %q to %q, which is the member's own: say it in the Spec, or say OverrideIdentity", f.name, was, is)
		}
	}
	if s.InitialClusterState == "new" && !r.founds {
		faults.add("Pod.Patch", "makes initial-cluster-state new: a member that joins and starts as new founds another cluster")
	}
	s.Version, s.TreatAs, s.OverrideIdentity, s.founds = r.Version, r.TreatAs, false, r.founds
	after, more := s.resolve()
	after.checkPod(&more)
	for _, fault := range more {
		faults.addErr(fault, "Pod.Patch", "makes a pod with a fault: %s", strings.TrimSpace(fault.Error()))
	}
}
