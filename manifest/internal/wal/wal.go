// Package wal reads whose an etcd write-ahead log is, without etcd's server
// packages.
//
// A log is a directory of segments named SEQ-INDEX.wal. Every segment, also one
// whose predecessors have been purged, begins with a checksum record that
// carries on the chain and a metadata record that names the member and its
// cluster. This is so from etcd 3.3 to 3.8-alpha, and it is all that is read
// here: whether the entries behind are whole is for the server to find out.
package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Identity is whose a log is, as its first segment says.
type Identity struct {
	ClusterID uint64
	MemberID  uint64
}

// Exist reports whether dir holds a log, by etcd's own rule: any name that ends
// in .wal. Without one etcd starts as a new member, with one it never does. A
// directory that is missing holds none.
func Exist(dir string) (bool, error) {
	names, err := walNames(dir)
	return len(names) > 0, err
}

// Identify reads whose the log in dir is. The error says what is wrong with it
// and with which file; there must be a log, see [Exist].
func Identify(dir string) (Identity, error) {
	names, err := walNames(dir)
	if err != nil {
		return Identity{}, err
	}
	first, ok := firstSegment(names)
	if !ok {
		return Identity{}, fmt.Errorf("%s: no file has the name of a segment", dir)
	}
	id, err := identifyFile(filepath.Join(dir, first))
	if err != nil {
		return Identity{}, fmt.Errorf("%s: %w", filepath.Join(dir, first), err)
	}
	return id, nil
}

func identifyFile(path string) (Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return Identity{}, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return readIdentity(f)
}

// walNames lists what etcd counts as part of a log, in the order of its names.
func walNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".wal") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// firstSegment is the oldest segment among names. The numbers in a segment's
// name have a fixed width, so the order of names is that of segments.
func firstSegment(names []string) (string, bool) {
	for _, name := range names {
		if isSegment(name) {
			return name, true
		}
	}
	return "", false
}

// isSegment reports whether etcd reads a file of this name as a segment; it
// ignores all others.
func isSegment(name string) bool {
	var seq, index uint64
	_, err := fmt.Sscanf(name, "%016x-%016x.wal", &seq, &index)
	return err == nil
}
