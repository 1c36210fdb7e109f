package peerurl

import (
	"net/netip"
	"strconv"
	"strings"
)

// normalHost takes the host from "host:port" and brings it to its normal form.
// The second result is what is wrong with it.
func normalHost(hostport string) (host, fault string) {
	host = hostport
	if i := strings.LastIndexByte(hostport, ':'); i > strings.LastIndexByte(hostport, ']') {
		host = hostport[:i]
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		return normalIPv6(strings.TrimSuffix(inner, "]"))
	}
	switch addr, err := netip.ParseAddr(host); {
	case err == nil && addr.Is4():
		return addr.String(), ""
	case strings.Contains(host, ":"):
		return "", "an IPv6 address needs brackets"
	}
	return normalName(host)
}

// normalIPv6 writes an address one way only, and an IPv4 address that was mapped
// into IPv6 as what it is: both reach the same socket. A zone keeps its case, for
// it names an interface.
func normalIPv6(inner string) (host, fault string) {
	addr, err := netip.ParseAddr(inner)
	if err != nil || addr.Is4() {
		return "", "what stands in brackets must be an IPv6 address"
	}
	return addr.Unmap().String(), ""
}

// normalName is a host name in lower case without the dot that ends it. Names
// are held to what Go's resolver looks up at all: ASCII letters, digits, dashes
// and underscores. A name whose last label is a number is refused: some
// resolvers take 127.1, 0x7f000001 or 010.0.0.1 for addresses, and not all for
// the same.
func normalName(host string) (name, fault string) {
	name = strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" {
		return "", "it is missing"
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || strings.ContainsFunc(label, notInName) {
			return "", "a name must be labels of ASCII letters, digits and dashes between dots"
		}
	}
	if isNumber(labels[len(labels)-1]) {
		return "", "an IPv4 address must be four decimal numbers without leading zeros"
	}
	return name, ""
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// isNumber reports whether a resolver might take a label for a number.
func isNumber(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// normalPort is a port's number without leading zeros.
func normalPort(port string) (normal, fault string) {
	if port == "" {
		return "", "it is missing"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", "must be from 1 to 65535"
	}
	return strconv.FormatUint(n, 10), ""
}

// Unspecified reports whether the host means "all addresses of this machine",
// which nobody can dial.
func (u URL) Unspecified() bool {
	addr, ok := u.addr()
	return ok && addr.IsUnspecified()
}

// Loopback reports whether only processes of the same machine can reach the URL:
// a loopback address, the name localhost or one below it, a unix socket.
func (u URL) Loopback() bool {
	if addr, ok := u.addr(); ok {
		return addr.IsLoopback()
	}
	return u.Unix() || u.host == "localhost" || strings.HasSuffix(u.host, ".localhost")
}

func (u URL) addr() (netip.Addr, bool) {
	if u.Unix() {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(u.host)
	return addr, err == nil
}
