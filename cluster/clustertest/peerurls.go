package clustertest

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// readURLs is what a server makes of the peer URLs of an add (etcd's
// types.NewURLs): each in a normal spelling, and all of them sorted. It is nil if
// one of them is refused.
func readURLs(raw []string) []string {
	var urls []string
	for _, r := range raw {
		u, err := url.Parse(strings.TrimSpace(r))
		if err != nil || !acceptable(u) {
			return nil
		}
		urls = append(urls, u.String())
	}
	slices.Sort(urls)
	return urls
}

func acceptable(u *url.URL) bool {
	switch u.Scheme {
	case "http", "https":
		_, _, err := net.SplitHostPort(u.Host)
		return err == nil && u.Path == ""
	case "unix", "unixs":
		return true
	}
	return false
}
