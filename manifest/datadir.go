package manifest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/manifest/internal/wal"
	"github.com/etcdjoin/etcdjoin/member"
)

// DataDir is where one etcd server keeps its data, as [member.Config] wants it:
// it says whose the data is and moves it aside. It reads what etcd 3.3 to 3.8
// write, without etcd's server packages, and needs no running server.
type DataDir struct {
	// Dir is the server's --data-dir. A symbolic link here is followed.
	Dir string

	// WALDir is the server's --wal-dir; empty means that etcd chooses, which is
	// member/wal in Dir.
	WALDir string

	// Release is for how long Archive waits for a server that still runs on the
	// data to end: the kubelet, for one, stops a pod some time after its
	// manifest is gone. Zero means one minute.
	Release time.Duration
}

var _ member.DataDir = DataDir{}

// Inspect says what the directory holds. It changes nothing and may be called
// while the server runs.
//
//   - [member.DataEmpty]: no write-ahead log and no data; etcd starts here as a
//     new member. A missing directory is empty, and so is one with the blank
//     database that a refused start leaves.
//   - [member.DataMember]: a log; the IDs are those that its first records name.
//     Entries behind them are not checked.
//   - [member.DataDamaged]: something that is neither, or that cannot be read.
//     Reason names the file and what is wrong with it.
//
// Data without a log is damaged, not empty: etcd does not look at it before it
// starts as a new member over it, and then serves it as if it were the
// cluster's (seen on 3.5: another cluster's keys).
//
// The error is for a call that could not look at all: ctx has ended, or Dir is
// not set.
func (d DataDir) Inspect(ctx context.Context) (cluster.DataInfo, error) {
	if err := ctx.Err(); err != nil {
		return cluster.DataInfo{}, err
	}
	if d.Dir == "" {
		return cluster.DataInfo{}, errors.New("inspect data directory: DataDir.Dir is not set")
	}
	return d.look(), nil
}

func (d DataDir) look() cluster.DataInfo {
	switch found, err := wal.Exist(d.walDir()); {
	case err != nil:
		return damaged(err)
	case found:
		return d.whose()
	default:
		return d.withoutLog()
	}
}

// whose is the answer where there is a log.
func (d DataDir) whose() cluster.DataInfo {
	id, err := wal.Identify(d.walDir())
	if err != nil {
		return damaged(err)
	}
	snapshot, err := hasSnapshot(d.snapDir())
	if err != nil {
		return damaged(err)
	}
	return cluster.DataInfo{
		Kind:      cluster.DataMember,
		ClusterID: cluster.ID(id.ClusterID),
		MemberID:  cluster.ID(id.MemberID),
		Snapshot:  snapshot,
	}
}

// withoutLog is the answer where there is no log.
func (d DataDir) withoutLog() cluster.DataInfo {
	switch used, err := usedDatabase(d.database()); {
	case err != nil:
		return damaged(err)
	case used:
		return d.lostLog(d.database())
	}
	switch snapshot, err := hasSnapshot(d.snapDir()); {
	case err != nil:
		return damaged(err)
	case snapshot:
		return d.lostLog(d.snapDir())
	}
	return cluster.DataInfo{Kind: cluster.DataEmpty}
}

func (d DataDir) lostLog(data string) cluster.DataInfo {
	return damaged(errors.New(data + " holds data, but there is no write-ahead log in " + d.walDir() +
		": etcd would start over it as a new member and serve it as the cluster's; " +
		"if the log is elsewhere, set WALDir, else move the data away"))
}

func damaged(err error) cluster.DataInfo {
	return cluster.DataInfo{Kind: cluster.DataDamaged, Reason: err.Error()}
}

// hasSnapshot reports whether dir holds a snapshot of raft's.
func hasSnapshot(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".snap") {
			return true, nil
		}
	}
	return false, err
}

// The layout of a data directory has been the same since etcd 2.1.

func (d DataDir) memberDir() string { return filepath.Join(d.Dir, "member") }
func (d DataDir) snapDir() string   { return filepath.Join(d.memberDir(), "snap") }
func (d DataDir) database() string  { return filepath.Join(d.snapDir(), "db") }

func (d DataDir) walDir() string {
	if d.WALDir != "" {
		return filepath.Clean(d.WALDir)
	}
	return filepath.Join(d.memberDir(), "wal")
}
