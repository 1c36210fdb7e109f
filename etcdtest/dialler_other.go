//go:build !linux

package etcdtest

import "net"

const canTellDiallers = false

// dialled is never asked: [OnlyFrom] fails the test before.
func dialled(int, *net.TCPConn) bool { return false }
