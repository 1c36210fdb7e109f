package membertest

import "time"

// Timing is how long things take in a [Cluster]. Zero means at once.
type Timing struct {
	Publish  time.Duration // from a server's start to its name in the list
	CatchUp  time.Duration // from its start to having received the whole log
	Restore  time.Duration // of a snapshot, once it is received; see SnapshotJoin
	Serve    time.Duration // from its start to its client port's answering, at least
	Commit   time.Duration // from a proposal to its commit
	Election time.Duration // from losing the leader, or quorum, to noticing it; and to a new leader
	Notice   time.Duration // until the others count a paused or cut server as not connected
}

var defaultTiming = Timing{
	Publish:  100 * time.Millisecond,
	CatchUp:  100 * time.Millisecond,
	Restore:  50 * time.Millisecond,
	Serve:    150 * time.Millisecond,
	Commit:   time.Millisecond,
	Election: time.Second,
	Notice:   5 * time.Second,
}

// What is fixed in etcd, with the default heartbeat and election settings.
const (
	requestTimeout = 7 * time.Second // a linearizable read, a forwarded promote, a publish: 5 s and two elections
	appliedTimeout = time.Second     // a promote's wait for the server's own backlog
	healthInterval = 5 * time.Second // how long a peer must have been connected for a change
	removedDelay   = time.Second     // from learning of its removal to a server's exit
	doomedDelay    = 10 * time.Millisecond
	silentWindow   = requestTimeout + 50*time.Millisecond // of a joiner by snapshot
	appliedGap     = 5000                                 // entries by which applied may be behind committed before requests are refused
)
