package faults_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// The variables that make the test binary a joining process that dies.
const (
	childEndpoints = "ETCDJOIN_E2E_ENDPOINTS"
	childPeerURL   = "ETCDJOIN_E2E_PEER_URL"
	childName      = "ETCDJOIN_E2E_NAME"
	childDiesAt    = "ETCDJOIN_E2E_DIES_AT" // a member.Kind
)

func TestMain(m *testing.M) {
	if os.Getenv(childEndpoints) == "" {
		kit.Main(m)
		return
	}
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child joins as told, asks its parent to start the server, and kills itself at
// the moment it was told to die at.
func child() error {
	c, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(os.Getenv(childEndpoints), ","), Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	answers := bufio.NewScanner(os.Stdin)
	client := &mortal{Client: cluster.NewClient(c, cluster.ClientConfig{}), dies: os.Getenv(childDiesAtCall), n: map[string]int{}}
	j, err := learner.NewJoiner(client, os.Getenv(childName), member.Config{
		Start: func(_ context.Context, spec member.StartSpec) error {
			fmt.Println("start", spec.InitialCluster)
			answers.Scan()
			return nil
		},
		Observe: func(e member.Event) {
			if string(e.Kind) == os.Getenv(childDiesAt) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		},
	})
	if err != nil {
		return err
	}
	_, err = j.Join(context.Background(), os.Getenv(childPeerURL))
	return err
}

// runChild runs a joining process until it ends, starting s when it asks. It dies
// where the variable says; heard gets the lines that it prints.
func runChild(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server, dies string, heard func(line string)) error {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(kit.Within(t, time.Minute), self)
	cmd.Env = append(os.Environ(), childEndpoints+"="+strings.Join(c.Endpoints(), ","),
		childPeerURL+"="+s.PeerURL, childName+"="+s.Name, dies)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if initial, ok := strings.CutPrefix(lines.Text(), "start "); ok {
			require.NoError(t, s.Start(initial))
			_, _ = fmt.Fprintln(in, "started") // the child may be dead by now
		}
		heard(lines.Text())
	}
	return cmd.Wait()
}

func TestAnotherProcessGoesOnWhereAKilledOneStopped(t *testing.T) {
	for _, diesAt := range []member.Kind{member.Adding, member.Added, member.Starting, member.Started, member.Promoting, member.GotVote} {
		t.Run("killed when "+string(diesAt), func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion("3.7.3"))
			s := c.NewServer("second")
			require.ErrorContains(t, runChild(t, c, s, childDiesAt+"="+string(diesAt), func(string) {}), "killed")
			before := kit.MemberOf(t, c, s)

			r, err := kit.JoinLearner(t, kit.Within(t, time.Minute), c, s)
			require.NoError(t, err)
			if before != nil {
				assert.Equal(t, cluster.ID(before.ID), r.Member.ID, "the entry was not adopted")
			}
			list, err := c.Client().MemberList(kit.Within(t, 20*time.Second))
			require.NoError(t, err)
			assert.Len(t, list.Members, 2, "there is more than one entry of ours")
			assert.False(t, kit.MemberOf(t, c, s).IsLearner)
			kit.TakesWrites(t, c)
		})
	}
}

func TestAVoterThatNeverRanIsStartedWhereItsAddStoppedTheCluster(t *testing.T) {
	for name, join := range map[string]func(*testing.T, *etcdtest.Cluster, *etcdtest.Server) (member.Result, error){
		"by the learner's way": func(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server) (member.Result, error) {
			return kit.JoinLearner(t, kit.Within(t, time.Minute), c, s)
		},
		"by the old way": func(t *testing.T, c *etcdtest.Cluster, s *etcdtest.Server) (member.Result, error) {
			j, err := member.NewVotingJoiner(kit.NewClient(c), s.Name, kit.Config(t, s))
			require.NoError(t, err)
			return j.Join(kit.Within(t, time.Minute), s.PeerURL)
		},
	} {
		for _, version := range []string{"3.5.35", "3.7.3"} {
			t.Run(name+" on "+version, func(t *testing.T) {
				t.Parallel()
				if version != "3.7.3" {
					kit.NotInEveryRun(t)
				}
				c := etcdtest.Start(t, 1, etcdtest.WithVersion(version))
				s := c.NewServer("second")
				c.AddVoter(s)
				require.Error(t, kit.PutOne(kit.Within(t, 5*time.Second), c), "the add of a voter did not cost the quorum")

				r, err := join(t, c, s)
				require.NoError(t, err)
				assert.Equal(t, 2, r.Voters)
				assert.False(t, r.Changed, "the entry was there: nothing had to be written")
				kit.TakesWrites(t, c)
			})
		}
	}
}
