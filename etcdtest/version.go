package etcdtest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// minor is the 6 of "3.6.16"; the major version has always been 3.
func minor(version string) int {
	if n := numbers(version); len(n) > 1 {
		return n[1]
	}
	return 0
}

// compareVersions orders releases; a pre-release stands before its release.
func compareVersions(a, b string) int {
	an, ap, _ := strings.Cut(a, "-")
	bn, bp, _ := strings.Cut(b, "-")
	if c := slices.Compare(numbers(an), numbers(bn)); c != 0 {
		return c
	}
	if (ap == "") != (bp == "") {
		return cmp.Compare(len(bp), len(ap))
	}
	return cmp.Compare(ap, bp)
}

func numbers(version string) []int {
	var ns []int
	for part := range strings.SplitSeq(version, ".") {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil {
			break
		}
		ns = append(ns, n)
	}
	return ns
}
