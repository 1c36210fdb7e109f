package etcdtest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

const canTellDiallers = true

// dialled says whether the far end of conn, on this machine, is a socket of
// the process pid.
func dialled(pid int, conn *net.TCPConn) bool {
	if conn == nil {
		return false
	}
	far := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	near := conn.LocalAddr().(*net.TCPAddr).AddrPort()
	inode := socketOf(far, near)
	return inode != "" && holdsSocket(pid, inode)
}

// socketOf is the inode of the socket bound to local and connected with remote,
// or "".
func socketOf(local, remote netip.AddrPort) string {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) > 9 && sameEnd(f[1], local) && sameEnd(f[2], remote) {
				return f[9]
			}
		}
	}
	return ""
}

// sameEnd compares an end of a connection with the kernel's way to write it:
// words of the address in the machine's byte order, and the port, in hex.
func sameEnd(kernels string, end netip.AddrPort) bool {
	addr, port, _ := strings.Cut(kernels, ":")
	raw, err := hex.DecodeString(addr)
	if err != nil || port != fmt.Sprintf("%04X", end.Port()) {
		return false
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	a, ok := netip.AddrFromSlice(raw)
	return ok && a.Unmap() == end.Addr().Unmap().WithZone("")
}

// holdsSocket says whether the process has this socket open.
func holdsSocket(pid int, inode string) bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}
