// Package manifest is everything an etcd member is started from: one [Spec], and
// from it any file or command line that starts the same etcd, for the version it
// will run.
//
// An installer says once what is its own, the [Spec]: version, directories, TLS
// files, image, settings. A join says the rest, the [member.StartSpec]: name, peer
// URLs, initial cluster. [Spec.For] puts them together, and then
//
//   - [Spec.Render] writes a static pod, a config file or an environment file (to
//     go with [Spec.UnitFile]), [Spec.Args] a command line. The same Spec gives
//     the same bytes, and all of them say the same;
//   - [Read] reads such files back, whoever wrote them, as etcd and the kubelet
//     read them (both speak YAML 1.1), and says what it could not place;
//   - [Edit] changes settings of a file that is there and keeps the rest byte for
//     byte; [Identity] is what a start changes;
//   - [Migrate] rewrites a file for another version of etcd, up or down, and says
//     what and why.
//
// The tests ask the originals: etcd's own reader of each minor, a real server,
// Kubernetes' validation, kubeadm. Where we refuse more than they do there is a
// reason, listed with the test.
//
// # Versions
//
// etcd exits at a flag it does not know, and ignores a key of its config file that
// it does not know; names changed in 3.5, 3.6 and 3.7, and flags came with patches.
// One table (settings.go) holds them all, from 3.4.0 to 3.8.0-alpha.0. A setting
// has one name here, the canonical one: its newest flag's without "experimental-".
// What the version refuses is never written: a setting it does not have is an
// error that names both, and so is a version nobody here knows, unless
// Spec.TreatAs says which known one it is like.
//
// # Static pods
//
// They are as kubeadm's users know them, but a learner may take hours: startup and
// liveness ask /livez, which does not depend on being a voter, where kubeadm's
// startup probe asks /readyz and restarts a learner after four minutes. Readiness
// asks /readyz, which fails until the member votes.
//
// What a Spec has no field for goes in by Pod.Patch; module manifest/podpatch takes
// kubeadm's --patches.
//
// # A host
//
// [Spec.StaticPod], [Spec.Systemd], [Spec.ConfigFile] and [Spec.Process] are a whole
// member.Config each: start, stop, data directory, version, metrics URL, and a check
// of the Spec before the member is added. They are made of the start hooks, which
// can be had alone; [EditStart] changes a file that people keep instead of writing
// it anew, and [Process] is an etcd that this program starts itself. [DataDir] says
// whose data a directory holds, and moves it aside; [WriteFile] replaces a file as a
// whole; [ReadUnit] reads a systemd service.
//
// # The first member
//
// An initial-cluster-state other than "existing" is written by one way only,
// [Spec.Found] and [Spec.FoundOn]: a member that joins and starts as new founds a
// cluster of its own, and its data must be wiped. Even the founder's file says
// "existing" once it serves, so that a lost disk cannot make a second cluster.
package manifest
