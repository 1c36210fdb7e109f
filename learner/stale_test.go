package learner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// staleReader answers lists as they were before a member was added: the first ones,
// for as long as it is stale. A barrier shows the truth, for that is what it is for.
type staleReader struct {
	*clustertest.Cluster
	without cluster.ID
	mu      sync.Mutex
	first   int  // so many lists
	own     bool // those of one server as well
}

func (s *staleReader) trim(l cluster.List) cluster.List {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first--; s.first >= 0 {
		l.Members = slices.DeleteFunc(l.Members, func(m cluster.Member) bool { return m.ID == s.without })
	}
	return l
}

func (s *staleReader) List(ctx context.Context, from ...cluster.Target) (cluster.List, error) {
	l, err := s.Cluster.List(ctx, from...)
	return s.trim(l), err
}

func (s *staleReader) ListAt(ctx context.Context, at cluster.Target) (cluster.List, error) {
	l, err := s.Cluster.ListAt(ctx, at)
	if s.own {
		l = s.trim(l)
	}
	return l, err
}

// fourth is a cluster of three with a fourth member that runs, and has its data on its
// own host.
func fourth(t *testing.T, isLearner bool) (*clustertest.Cluster, *clustertest.Host) {
	c := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
	require.EqualValues(t, 4, c.AddRaw(cluster.Member{Name: "m4", PeerURLs: []string{"http://d:2380"}, ClientURLs: []string{"http://d:2379"}, Learner: isLearner}))
	c.Restart(4)
	time.Sleep(10 * time.Second)
	return c, c.Host("http://d:2380")
}

// However many lists are from before our member was added (etcd #20418), and whatever
// the policy is: nothing is stopped, moved aside or removed for that, and no end is
// called "removed". An installer wipes the disk on that word.
func TestNoStaleListStopsArchivesOrEndsAnything(t *testing.T) {
	for _, isLearner := range []bool{false, true} {
		for _, rejoin := range []bool{true, false} {
			for _, own := range []bool{false, true} {
				for _, first := range []int{1, 2, 3, 5, 8, 50, 1_000_000} {
					t.Run(fmt.Sprintf("learner %t, rejoin %t, own lists too %t, %d lists", isLearner, rejoin, own, first), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							c, host := fourth(t, isLearner)
							stale := &staleReader{Cluster: c, without: 4, first: first, own: own}
							j, err := learner.NewJoiner(stale, "m4", member.Config{Start: host.Start, Stop: host.Stop, DataDir: host, Rejoin: rejoin, StallTimeout: 30 * time.Second})
							require.NoError(t, err)
							ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
							defer cancel()
							_, err = j.Join(ctx, "http://d:2380")
							unharmed(t, c, host)
							assert.NotErrorIs(t, err, member.ErrRemoved)
							assert.NotErrorIs(t, err, member.ErrGone)
							if first < 50 && !own {
								assert.NoError(t, err)
							}
						})
					})
				}
			}
		}
	}
}

func unharmed(t *testing.T, c *clustertest.Cluster, host *clustertest.Host) {
	t.Helper()
	assert.True(t, host.Running())
	for _, op := range []clustertest.Op{clustertest.OpStop, clustertest.OpArchive, clustertest.OpRemove, clustertest.OpAdd} {
		assert.Zero(t, c.Count(op), op)
	}
}

// The same for each other word that says "it is gone": Remove and Leave of a member
// that a stale list lacks do what they are asked for; Promote and Abort end nothing.
func TestNoStaleListIsTakenForAnEndByAnyVerb(t *testing.T) {
	for _, first := range []int{1, 2, 4, 9} {
		for name, verb := range map[string]func(ctx context.Context, c cluster.Client, config member.Config) error{
			"remove": func(ctx context.Context, c cluster.Client, config member.Config) error {
				return member.Remove(ctx, c, 4, config)
			},
			"leave": func(ctx context.Context, c cluster.Client, config member.Config) error {
				return member.Leave(ctx, c, 4, config)
			},
			"promote": func(ctx context.Context, c cluster.Client, config member.Config) error {
				_, err := learner.Promote(ctx, c, 4, config)
				return err
			},
			"abort": func(ctx context.Context, c cluster.Client, config member.Config) error {
				j, err := learner.NewJoiner(c, "m4", config)
				if err != nil {
					return err
				}
				return j.Abort(ctx, "http://d:2380")
			},
			"join, step by step": func(ctx context.Context, c cluster.Client, config member.Config) error {
				config.Rejoin = true
				return stepThrough(ctx, c, "m4", "http://d:2380", config)
			},
		} {
			t.Run(fmt.Sprintf("%s, %d lists", name, first), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, host := fourth(t, true)
					stopped := 0
					config := member.Config{DataDir: host, Stop: func(ctx context.Context) error {
						_, listed := c.Member(4)
						assert.False(t, listed, "it is stopped while it is in the list")
						stopped++
						return host.Stop(ctx)
					}}
					require.NoError(t, verb(t.Context(), &staleReader{Cluster: c, without: 4, first: first}, config))
					m, listed := c.Member(4)
					switch name {
					case "remove":
						assert.False(t, listed)
						assert.Zero(t, stopped)
					case "leave", "abort":
						assert.False(t, listed)
						assert.Equal(t, 1, stopped)
					default:
						assert.True(t, listed)
						assert.False(t, m.Learner)
						assert.True(t, host.Running())
					}
				})
			})
		}
	}
}

// stepThrough steps until it is done.
func stepThrough(ctx context.Context, c cluster.Client, name, url string, config member.Config) error {
	var memory member.Memory
	for range 1000 {
		j, err := learner.NewJoiner(c, name, config)
		if err != nil {
			return err
		}
		s, err := j.Step(ctx, url, memory)
		if err != nil || s.Did == member.DoDone {
			return err
		}
		memory = s.Memory
		time.Sleep(s.After)
	}
	return errors.New("it steps for ever")
}

// A barrier that another cluster's server answers proves nothing.
func TestABarrierInAnotherClusterIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
		host := c.Host("http://d:2380")
		host.SetData(clustertest.ClusterID, 9)
		j, err := learner.NewJoiner(elsewhere{c}, "m4", member.Config{Stop: host.Stop, DataDir: host, Rejoin: true, StallTimeout: 20 * time.Second})
		require.NoError(t, err)
		_, err = j.Join(t.Context(), "http://d:2380")
		require.ErrorIs(t, err, cluster.ErrWrongCluster)
		assert.Zero(t, c.Count(clustertest.OpStop))
		assert.Zero(t, c.Count(clustertest.OpArchive))
	})
}

type elsewhere struct{ *clustertest.Cluster }

func (e elsewhere) Barrier(ctx context.Context, via cluster.Target) (cluster.Behind, error) {
	b, err := e.Cluster.Barrier(ctx, via)
	b.ClusterID = 0xbad
	return b, err
}

// A plan proposes nothing, whatever there is; nor does a Step that only waits.
func TestPlansAndWaitingStepsProposeNothing(t *testing.T) {
	for name, set := range map[string]func(*clustertest.Cluster, *clustertest.Host){
		"a new member":     func(*clustertest.Cluster, *clustertest.Host) {},
		"a removed member": func(_ *clustertest.Cluster, h *clustertest.Host) { h.SetData(clustertest.ClusterID, 9) },
		"a leftover learner": func(c *clustertest.Cluster, _ *clustertest.Host) {
			c.AddRaw(cluster.Member{PeerURLs: []string{"http://d:2380"}, Learner: true})
		},
		"a leftover voter": func(c *clustertest.Cluster, _ *clustertest.Host) {
			c.AddRaw(cluster.Member{PeerURLs: []string{"http://d:2380"}})
		},
		"the slot is taken": func(c *clustertest.Cluster, _ *clustertest.Host) {
			c.AddRaw(cluster.Member{PeerURLs: []string{"http://x:2380"}, Learner: true})
		},
	} {
		t.Run("plan/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
				host := c.Host("http://d:2380")
				set(c, host)
				before := c.Index()
				for _, rejoin := range []bool{false, true} {
					j, err := learner.NewJoiner(c, "new", member.Config{Rejoin: rejoin, DataDir: host, Stop: host.Stop})
					require.NoError(t, err)
					for range 5 {
						p, err := j.Plan(t.Context(), "http://d:2380")
						require.NoError(t, err)
						if p.Do == member.DoProve {
							assert.ErrorIs(t, p.Why, member.ErrUndecided)
							assert.Contains(t, p.String(), "not in the list; to be proven before anything is done")
						}
					}
				}
				assert.Equal(t, before, c.Index())
			})
		})
	}
	t.Run("steps that wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := clustertest.New("http://a:2380", "http://b:2380", "http://c:2380")
			c.AddRaw(cluster.Member{PeerURLs: []string{"http://d:2380"}, Learner: true})
			c.Timing.Boot = time.Hour
			host := c.Host("http://d:2380")
			j, err := learner.NewJoiner(c, "new", member.Config{Start: host.Start, DataDir: host})
			require.NoError(t, err)
			var memory member.Memory
			before, waited := c.Index(), 0
			for range 30 {
				s, err := j.Step(t.Context(), "http://d:2380", memory)
				require.NoError(t, err)
				if memory = s.Memory; s.Did == member.DoWait {
					waited++
				}
				time.Sleep(s.After)
			}
			assert.Greater(t, waited, 20)
			assert.Equal(t, before, c.Index())
		})
	})
}
