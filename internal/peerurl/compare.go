package peerurl

// Normalize is the normal form of a URL, for comparison only.
func Normalize(raw string) (string, error) {
	u, err := Parse(raw)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// HostPort is the normal host and port of a URL.
func HostPort(raw string) (string, error) {
	u, err := Parse(raw)
	if err != nil {
		return "", err
	}
	return u.HostPort(), nil
}

// Same reports whether two URLs are one, however they are spelled. What cannot
// be read as a URL is the same as itself only. Names are not resolved.
func Same(a, b string) bool { return key(a) == key(b) }

// SameSet reports whether two lists have the same URLs, in any order and
// spelling, and however often.
func SameSet(as, bs []string) bool {
	left, right := keys(as), keys(bs)
	if len(left) != len(right) {
		return false
	}
	for k := range left {
		if !right[k] {
			return false
		}
	}
	return true
}

// key is a URL's normal form, or the text itself where it has none. No text is
// the normal form of another: a normal form reads as itself.
func key(raw string) string {
	if normal, err := Normalize(raw); err == nil {
		return normal
	}
	return raw
}

func keys(urls []string) map[string]bool {
	set := make(map[string]bool, len(urls))
	for _, u := range urls {
		set[key(u)] = true
	}
	return set
}
