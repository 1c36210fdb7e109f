package clustertest

import "time"

// Timing is how long things take in a [Cluster]. Zero means at once, but for
// Notice.
type Timing struct {
	// Boot is the time from a server's start to its peer port. A new member's
	// start takes longer where a peer hangs or the cluster has no quorum.
	Boot time.Duration
	// Publish is the time from its start to its name in the list.
	Publish time.Duration
	// CatchUp is the time from its first contact with the leader to having
	// received what there was.
	CatchUp time.Duration
	// Restore is the time that a received snapshot takes to be restored.
	Restore time.Duration
	// Serve is the time from its start to its client port, at least: the server's
	// own publish must have been applied, too.
	Serve time.Duration
	// Commit is the time from a proposal to its commit.
	Commit time.Duration
	// Advance is the time after a membership change in which a leader below 3.6
	// drops another one (etcd #15528).
	Advance time.Duration
	// Election is the time in which a lost leader is noticed and another elected.
	Election time.Duration
	// StepDown is the time in which a leader notices that it has lost quorum.
	StepDown time.Duration
	// Notice is the time after which the others no longer count a paused or cut
	// server as connected. Zero: never; half a minute was not enough on real ones.
	Notice time.Duration
}

var defaultTiming = Timing{
	Boot:     50 * time.Millisecond,
	Publish:  100 * time.Millisecond,
	CatchUp:  50 * time.Millisecond,
	Restore:  50 * time.Millisecond,
	Serve:    150 * time.Millisecond,
	Commit:   time.Millisecond,
	Advance:  10 * time.Millisecond,
	Election: time.Second,
	StepDown: 1900 * time.Millisecond,
}

// What is fixed in etcd, with the default heartbeat and election settings, or was
// measured on 3.4 to 3.7.
const (
	requestTimeout = 7 * time.Second                      // 5 s and two elections: a linearizable read, a forwarded promote, a publish
	healthTimeout  = time.Second                          // of /health on 3.4
	appliedTimeout = time.Second                          // a promote's wait for the server's own backlog
	healthInterval = 5 * time.Second                      // how long a peer must have been connected for a change
	readTimeout    = 5 * time.Second                      // of a connection between peers, where something is awaited
	peerPatience   = 10 * time.Second                     // of a starting server with a peer that does not answer
	contactDelay   = 10 * time.Millisecond                // from a server's peer port to its first contact
	exitDelay      = 50 * time.Millisecond                // from learning of its removal, or a panic's cause, to the exit
	silentWindow   = requestTimeout + 50*time.Millisecond // of a joiner by snapshot
	appliedGap     = 5000                                 // entries by which applied may be behind committed before requests are refused
)
