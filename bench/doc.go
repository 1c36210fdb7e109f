// Package bench holds what needs a Kubernetes package: a module of its own,
// outside the workspace, so that kubeadm's requirements are nobody else's.
//
// Its tests hold our static pod to the type the kubelet decodes it into, and to
// what kubeadm itself renders.
package bench
