// Package peerurl is the one place that compares peer URLs.
//
// etcd compares the strings in its member list byte by byte, so that one server
// can be listed under two spellings, and it wants the string a server is started
// with to be the one that was added. So a URL has two forms here: [URL.Raw], the
// caller's, which alone is sent, written and started; and the normal one,
// [URL.String], which is only compared.
//
// [Parse] accepts what etcd's own types.NewURLs accepts (client/pkg/v3/types, the
// same in 3.4 to 3.7: http, https, unix, unixs; a host and a port; no path), less
// what no server can listen on or be dialled at. [Check] holds a joiner's own
// URLs to the rules that need the other members' beside them.
package peerurl

import (
	"net"
	"net/url"
	"strings"
)

// URL is a peer URL. It is comparable, but == compares the raw forms as well;
// compare [URL.String], or use [Same].
type URL struct {
	raw    string
	normal string
	scheme string
	host   string // normal, without brackets; of unix sockets host and path
	port   string // without leading zeros; empty for unix sockets
}

// Parse reads one URL. Every error is a [*Error].
func Parse(raw string) (URL, error) {
	u, err := parseURL(raw)
	if err != nil {
		return URL{}, err
	}
	switch u.Scheme {
	case "http", "https":
		return parseTCP(raw, u)
	case "unix", "unixs":
		return parseUnix(raw, u)
	}
	return URL{}, refuse(raw, RuleScheme, u.Scheme)
}

// ParseList reads a comma-separated list as etcd's own flags take it: space
// around a URL is dropped, a URL must not come twice.
func ParseList(list string) ([]URL, error) {
	parts := strings.Split(list, ",")
	urls := make([]URL, len(parts))
	seen := make(map[string]bool, len(parts))
	for i, raw := range parts {
		u, err := Parse(strings.TrimSpace(raw))
		if err != nil {
			return nil, err
		}
		if seen[u.String()] {
			return nil, refuse(u.raw, RuleTwice, "")
		}
		seen[u.String()] = true
		urls[i] = u
	}
	return urls, nil
}

// Strings are the raw forms, to be sent and written.
func Strings(urls []URL) []string {
	raw := make([]string, len(urls))
	for i, u := range urls {
		raw[i] = u.raw
	}
	return raw
}

// Raw is the URL as it was given.
func (u URL) Raw() string { return u.raw }

// Scheme is http, https, unix or unixs.
func (u URL) Scheme() string { return u.scheme }

// Unix reports whether the URL is a socket in the file system.
func (u URL) Unix() bool { return u.scheme == "unix" || u.scheme == "unixs" }

// Host is the normal form of the host: a name in lower case without its trailing
// dot, or an address without brackets. Of a unix socket it is host and path.
func (u URL) Host() string { return u.host }

// HostPort is the normal host and port, ready to be dialled.
func (u URL) HostPort() string {
	if u.Unix() {
		return u.host
	}
	return net.JoinHostPort(u.host, u.port)
}

// String is the normal form, for comparison only.
func (u URL) String() string { return u.normal }

// parseURL holds a text to the rules that are the same for all schemes.
func parseURL(raw string) (*url.URL, error) {
	switch {
	case raw == "":
		return nil, refuse(raw, RuleEmpty, "")
	case strings.TrimSpace(raw) != raw:
		return nil, refuse(raw, RuleSpace, "")
	case strings.Contains(raw, ","):
		return nil, refuse(raw, RuleComma, "")
	case strings.Contains(raw, "#"):
		return nil, refuse(raw, RuleFragment, "")
	case strings.Contains(raw, "?"):
		return nil, refuse(raw, RuleQuery, "")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, syntax(raw, err)
	case u.User != nil:
		return nil, refuse(raw, RuleUser, "")
	}
	return u, nil
}

// parseUnix takes a socket's name as it is: file names are case-sensitive.
func parseUnix(raw string, u *url.URL) (URL, error) {
	name := u.Host + u.Path
	if strings.Trim(name, "/") == "" {
		return URL{}, refuse(raw, RuleHost, "a socket needs a name")
	}
	normal := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return URL{raw: raw, normal: normal.String(), scheme: u.Scheme, host: name}, nil
}

func parseTCP(raw string, u *url.URL) (URL, error) {
	if u.Path != "" {
		if u.Path == "/" {
			return URL{}, refuse(raw, RulePath, "give it without the slash at the end")
		}
		return URL{}, refuse(raw, RulePath, u.Path)
	}
	host, fault := normalHost(u.Host)
	if fault != "" {
		return URL{}, refuse(raw, RuleHost, fault)
	}
	port, fault := normalPort(u.Port())
	if fault != "" {
		return URL{}, refuse(raw, RulePort, fault)
	}
	normal := url.URL{Scheme: u.Scheme, Host: net.JoinHostPort(host, port)}
	return URL{raw: raw, normal: normal.String(), scheme: u.Scheme, host: host, port: port}, nil
}
