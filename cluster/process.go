package cluster

import (
	"fmt"
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// ExitError says how a server process ended.
type ExitError struct {
	Code   int
	Output string // the last of what it logged
}

// exitMeanings are etcd's exit codes as a joiner meets them (3.3 to 3.7, run).
var exitMeanings = map[int]string{
	0: "it was told that its member is removed",
	1: "it refused to start: initial cluster, URLs, version or a stale peer",
	2: "a wrong flag, or a panic: data lost under its old entry",
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("the server process ended with code %d", e.Code)
	if m := exitMeanings[e.Code]; m != "" {
		text += " (" + m + ")"
	}
	if out := strings.TrimSpace(e.Output); out != "" {
		text += ": " + out
	}
	return text
}

// Is makes an ended process count as not live.
func (e *ExitError) Is(target error) bool { return target == reason.ErrNotLive }
