// Package etcdtest gives a test a real etcd: a cluster that serves, servers
// that can still join it, and the faults to try on both.
//
//	func TestInstallerAddsTheSecondNode(t *testing.T) {
//		cluster := etcdtest.Start(t, 1)        // serves and takes writes when Start returns
//		node := cluster.NewServer("node-2")    // has ports and a directory, does not run yet
//
//		err := installer.Join(t.Context(), cluster.Client(), node.PeerURL,
//			func(ctx context.Context, initialCluster string) error {
//				return node.Start(initialCluster) // returns at once, may be called again
//			})
//		if err != nil {
//			t.Fatal(err)
//		}
//	}
//
// Everything ends with the test: servers, clients, directories, ports. If the
// test failed, the last lines of each server's log are in its output.
//
// # Which etcd
//
// The servers run inside the test process, as the embedded etcd this module
// requires: nothing to install, started in a fraction of a second. With
// [WithVersion] they are processes of a chosen release instead, which can also
// be killed, stopped and continued as the kernel does it. [Binary] builds such
// a release once from the Go module proxy and keeps it in the user's cache
// directory; [Versions] lists those it knows. The first build of each takes
// most of a minute, and go test gives a package ten: build them beforehand
// where many are needed.
//
// What cannot be had embedded: other versions, [Server.Pause], a true SIGKILL,
// an exit code, metrics of one server alone (they are the process's), and an
// etcd that panics without taking the test process with it. A member whose
// directory was wiped panics, so tests of that want processes.
//
// # Faults
//
//   - a server: [Server.Stop], [Server.Kill], [Server.Pause], [Server.Wipe],
//     another's data with [Server.CopyData], wrong flags for one start with [Server.StartArgs], another release with
//     [Server.UseVersion];
//   - the network between servers: [WithLinks] puts a [Link] before each peer
//     port, which resets, refuses, drops, freezes, throttles or swallows answers,
//     in one direction, of raft alone ([OnlyRaft]) or of what one server dials
//     ([OnlyFrom]); [NewLink] puts one before any other port, such as a client
//     port whose calls are to be held on their way;
//   - who else answers at an address: [Link.Serve] is a web server,
//     [Link.LeadTo] another member or another cluster, [Link.Speak] no HTTP at all;
//   - a database that is full or said to be corrupt: [WithQuota] and
//     [Cluster.FillQuota], [Cluster.RaiseAlarm];
//   - addresses: [WithHost], [WithSchemes], and what the member list says of them,
//     right or wrong: [WithPeerURLs], [WithClientURLs]; [ForVoter] gives one voter
//     other options than the rest;
//   - certificates: [WithTLS], and [Cluster.WrongTLS] for a stranger's, and
//     [Cluster.IssuePeer] and [Cluster.IssueClient] for those that do not fit;
//   - history and load: [Cluster.PutIndex], [Cluster.PutSmall] and [Cluster.PutMiB]
//     make a joiner's way long, [Cluster.Writers] write throughout and then prove
//     that no acknowledged write was lost.
//
// What came of it is seen from outside: [Server.Exited] and [Server.ExitCode],
// [Server.WaitLog] and [Server.LogLines], [Server.Metric]. [Program] asks the
// packages of one release.
//
// # Settings
//
// Heartbeat and election timeout are etcd's own (100 ms and 1 s): what a test
// learns of timing holds outside. The quota is 8 GiB ([WithQuota]). Data is not fsynced
// unless [WithFsync] asks for it; this spares most of the time and loses
// nothing when a process is killed, only when the machine is. (3.4 is always
// fsynced: there a kill loses what is not.)
//
// Fresh voters refuse to add a member until they have been connected with each
// other for five seconds, which is etcd's rule and not lifted here:
// [Cluster.AddLearner] waits it out.
//
// A failed test shows the last lines of the log of the server concerned: those that
// gave up by themselves, or else the one started last. [Prepare], in a TestMain,
// builds servers while the tests that need none run.
//
// The package is for Linux and, without the guarantee that no server outlives
// a killed test process, for other Unix systems.
package etcdtest
