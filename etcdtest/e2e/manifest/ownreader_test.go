package manifest_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// An ownReader asks the configuration code of one etcd release.
type ownReader struct {
	t       *testing.T
	bin     string
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	stderr  *bytes.Buffer
}

//go:embed testdata/ownreader.go.tmpl
var ownReaderSource string

func newOwnReader(t *testing.T, release string) *ownReader {
	t.Helper()
	packages := "go.etcd.io/etcd/server/v3"
	if strings.HasPrefix(release, "3.4.") {
		packages = "go.etcd.io/etcd"
	}
	source := strings.ReplaceAll(ownReaderSource, "PACKAGES", packages)
	r := &ownReader{t: t, bin: etcdtest.Program(t, release, source)}
	t.Cleanup(r.end)
	return r
}

// A question is how etcd would be started.
type question struct{ Args, Env []string }

// An answer is what etcd makes of it: why it exits, or its configuration.
type answer struct {
	refused string
	config  map[string]string
}

// ask starts a process where there is none: etcd ends it where it exits.
func (r *ownReader) ask(q question) answer {
	r.t.Helper()
	if r.cmd == nil {
		r.start()
	}
	line, err := json.Marshal(q)
	require.NoError(r.t, err)
	_, err = r.in.Write(append(line, '\n'))
	require.NoError(r.t, err)
	var fields map[string]string
	if err := r.answers.Decode(&fields); err != nil {
		said := r.ended()
		return answer{refused: said}
	}
	if why, refused := fields["refused"]; refused {
		return answer{refused: why}
	}
	return answer{config: fields}
}

func (r *ownReader) start() {
	r.t.Helper()
	r.cmd, r.stderr = exec.Command(r.bin), new(bytes.Buffer)
	r.cmd.Stderr, r.cmd.Dir = r.stderr, r.t.TempDir()
	var err error
	r.in, err = r.cmd.StdinPipe()
	require.NoError(r.t, err)
	out, theirs, err := os.Pipe()
	require.NoError(r.t, err)
	r.cmd.ExtraFiles = []*os.File{theirs}
	r.answers = json.NewDecoder(out)
	require.NoError(r.t, r.cmd.Start())
	require.NoError(r.t, theirs.Close())
	r.t.Cleanup(func() { _ = out.Close() })
}

// ended is what an exited etcd has said, its usage apart.
func (r *ownReader) ended() string {
	_ = r.cmd.Wait()
	r.cmd = nil
	said, _, _ := strings.Cut(r.stderr.String(), "Usage:\n")
	return "exit: " + strings.TrimSpace(said)
}

func (r *ownReader) end() {
	if r.cmd != nil {
		_ = r.in.Close()
		_ = r.cmd.Wait()
	}
}
