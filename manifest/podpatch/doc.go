// Package podpatch changes a static pod by patches, as kubeadm's --patches does: for
// all that a [manifest.Spec] has no field for.
//
//	patch, err := podpatch.Dir("/etc/kubernetes/patches")
//	spec.Pod.Patch = patch.Apply
//
// [manifest.Spec.Render] applies it and checks what comes out: a patch cannot make
// the pod another member. It is a module of its own, because it takes Kubernetes'
// packages, which nobody else who joins an etcd member needs.
package podpatch
