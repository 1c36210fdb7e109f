//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// asProgram has this test binary be the program.
const asProgram = "MINIMAL_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/etcdjoin/etcdjoin/etcdtest.init.func1.1"))
}

func TestJoins(t *testing.T) {
	etcd := etcdtest.Binary(t, "3.7.3")
	cluster := etcdtest.Start(t, 1)
	s := cluster.NewServer("cp-2")

	var out bytes.Buffer
	errOut, err := os.Create(filepath.Join(t.TempDir(), "stderr")) // no pipe: etcd would keep it open
	require.NoError(t, err)
	defer errOut.Close()
	cmd := exec.Command(os.Args[0], "-endpoints", cluster.Endpoints()[0], "-name", s.Name, "-peer-url", s.PeerURL,
		"--", "--listen-client-urls", s.ClientURL, "--advertise-client-urls", s.ClientURL)
	cmd.Env = append(os.Environ(), asProgram+"=1", "PATH="+filepath.Dir(etcd)+":"+os.Getenv("PATH"))
	cmd.Dir = t.TempDir()
	cmd.Stdout, cmd.Stderr = &out, errOut
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // the etcd that it leaves running
	err = cmd.Wait()
	if said, readErr := os.ReadFile(errOut.Name()); err != nil {
		t.Fatalf("%v\n%s%v", err, said, readErr)
	}

	assert.Regexp(t, `^voter [0-9a-f]+ \(cp-2, http://127\.0\.0\.1:\d+\) votes; 0 of 2 voters may fail\n$`, out.String())
	list, err := cluster.Client().MemberList(t.Context())
	require.NoError(t, err)
	require.Len(t, list.Members, 2)
	for _, m := range list.Members {
		assert.False(t, m.IsLearner)
	}
}
