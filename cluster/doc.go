// Package cluster says what there is: an etcd cluster as its members, read into one
// [Snapshot], each fact with who gave it and when.
//
// An answer counts only for who gave it, for what it was asked about, and for the
// moment it came. That something did not answer, or was not in one list, is no
// fact. Everything that decides, in the packages above, decides on these facts and
// on nothing else.
//
// [Client] is all that is asked of a cluster, in types of our own; [NewClient] makes
// one of a *clientv3.Client, which is never changed. [Foresee] computes what a
// change of the membership would do to the quorum. Package clustertest has a whole
// cluster in memory.
package cluster
