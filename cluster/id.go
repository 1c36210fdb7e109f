package cluster

import (
	"fmt"
	"strconv"
)

// ID is a member's or a cluster's ID. It prints in hex, as etcd prints it.
type ID uint64

// String is the ID in hex without a prefix, as etcd and etcdctl print it.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 16) }

// Format makes %x and %d print the number; every other verb prints [ID.String].
func (id ID) Format(f fmt.State, verb rune) {
	switch verb {
	case 'x', 'X', 'd':
		fmt.Fprintf(f, fmt.FormatString(f, verb), uint64(id))
	default:
		fmt.Fprint(f, id.String())
	}
}

// MarshalText is the ID in hex: as a JSON number it would lose its low bits
// in every reader that keeps numbers as floats.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *ID) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil {
		return fmt.Errorf("member ID %q: %w", text, err)
	}
	*id = ID(n)
	return nil
}
