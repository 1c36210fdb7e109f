package etcdtest

import (
	"strings"
	"sync"
)

// tailBytes is how much of a server's log is kept. A joiner can write
// thousands of lines a second for minutes, so a file would have no bound.
const tailBytes = 256 << 10

// tail keeps the last bytes written to it. It is safe for use by many
// goroutines and never fails.
type tail struct {
	mu   sync.Mutex
	data []byte
	grew chan struct{} // closed at the next write, nil if nobody waits
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if t.grew != nil {
		close(t.grew)
		t.grew = nil
	}
	// Cut only at twice the size, so that a byte is moved once on average.
	if cut := len(t.data) - tailBytes; cut > tailBytes {
		t.data = append(t.data[:0], t.data[cut:]...)
	}
	return len(p), nil
}

// Sync implements zapcore.WriteSyncer.
func (t *tail) Sync() error { return nil }

// String is everything still kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data[max(0, len(t.data)-tailBytes):])
}

// lastLines is the end of the log, n lines at most.
func (t *tail) lastLines(n int) string {
	lines := strings.Split(strings.TrimSuffix(t.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// linesWith are the lines that contain text.
func (t *tail) linesWith(text string) []string {
	var lines []string
	for line := range strings.Lines(t.String()) {
		if strings.Contains(line, text) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// more is closed when something is written from now on.
func (t *tail) more() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.grew == nil {
		t.grew = make(chan struct{})
	}
	return t.grew
}
