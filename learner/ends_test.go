package learner_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// Nothing waits for ever, and nothing spins.

func inTime(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Etcd's "too many learners" holds for half a minute: a slot may be free that no list
// shows, and the limit may have been raised.
func TestASlotIsAskedForAgain(t *testing.T) {
	for name, change := range map[string]func(*clustertest.Cluster){
		"the limit is raised": func(fake *clustertest.Cluster) {
			fake.AddRaw(cluster.Member{PeerURLs: []string{"http://x:2380"}, Learner: true})
			time.AfterFunc(time.Minute, func() { fake.SetLearnerLimit(3) })
		},
		"another joiner was quicker, and is done": func(fake *clustertest.Cluster) {
			fake.SetLearnerLimit(2)
			fake.AddRaw(cluster.Member{PeerURLs: []string{"http://x:2380"}, Learner: true})
			var quicker cluster.ID
			fake.Fault(clustertest.OpAdd, 1, clustertest.Fault{OnCall: func() {
				quicker = fake.AddRaw(cluster.Member{PeerURLs: []string{"http://y:2380"}, Learner: true})
			}})
			time.AfterFunc(20*time.Second, func() { fake.Restart(quicker); fake.Promoted(quicker) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clustertest.New(a, b, c)
				change(fake)
				_, err := join(inTime(t, time.Hour), fake, d, "new")
				require.NoError(t, err)
				assert.Less(t, fake.Count(clustertest.OpAdd), 10, "asked again, and not all the time")
			})
		})
	}
}

// A write that is answered with success, and never shows, is not repeated without a
// pause, and ends the join.
func TestAWriteThatNeverShowsEndsTheJoin(t *testing.T) {
	for name, w := range map[string]func(*clustertest.Cluster) cluster.Client{
		"promote": func(fake *clustertest.Cluster) cluster.Client { return idle{Cluster: fake, promotes: true} },
		"add":     func(fake *clustertest.Cluster) cluster.Client { return idle{Cluster: fake, adds: true} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clustertest.New(a, b, c)
				host := fake.Host(d)
				asked := 0
				j, err := learner.NewJoiner(w(fake), "new", member.Config{Start: host.Start, Stop: host.Stop, DataDir: host, StallTimeout: time.Minute,
					Observe: func(e member.Event) {
						if e.Kind == member.Promoting || e.Kind == member.Adding {
							asked++
						}
					}})
				require.NoError(t, err)
				_, err = j.Join(inTime(t, time.Hour), d)
				require.ErrorIs(t, err, member.ErrNotShown)
				assert.Less(t, asked, 100)
			})
		})
	}
}

// idle answers a write with success and does nothing.
type idle struct {
	*clustertest.Cluster
	adds, promotes bool
}

func (i idle) Add(ctx context.Context, via cluster.Target, urls []string, learner bool) (cluster.Member, error) {
	if i.adds {
		return cluster.Member{ID: 77, PeerURLs: urls, Learner: learner}, nil
	}
	return i.Cluster.Add(ctx, via, urls, learner)
}

func (i idle) Promote(ctx context.Context, via cluster.Target, id cluster.ID) error {
	if i.promotes {
		return nil
	}
	return i.Cluster.Promote(ctx, via, id)
}

// A supervisor that goes on telling of the old process has our member replaced once.
func TestAStaleExitReportEndsTheJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New(a, b, c)
		_, err := join(inTime(t, 10*time.Minute), fake, d, "new", func(c *member.Config) {
			c.Exited = func(context.Context) *cluster.ExitError {
				return &cluster.ExitError{Code: 2, Output: "panic: tocommit(13) is out of range [lastIndex(0)]"}
			}
		})
		var exit *cluster.ExitError
		require.ErrorAs(t, err, &exit)
		assert.LessOrEqual(t, len(fake.Writes()), 4)
	})
}

// An Archive hook that does nothing ends the join.
func TestAnArchiveThatDoesNothingEndsTheJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New(a, b, c)
		host := fake.Host(d)
		host.SetData(clustertest.ClusterID, 77)
		_, err := join(inTime(t, 10*time.Minute), fake, d, "new", func(c *member.Config) { c.DataDir = keepsAll{host} })
		require.ErrorIs(t, err, member.ErrHook)
		assert.ErrorContains(t, err, "the data is still there")
		assert.Empty(t, fake.Writes())
	})
}

type keepsAll struct{ member.DataDir }

func (keepsAll) Archive(context.Context) error { return nil }

func TestAClosedClientIsFinal(t *testing.T) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://127.0.0.1:1"}})
	require.NoError(t, err)
	j, err := learner.NewJoiner(cluster.NewClient(c, cluster.ClientConfig{}), "new", member.Config{})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = j.Join(ctx, d)
	require.ErrorIs(t, err, cluster.ErrClosed)
	assert.NoError(t, ctx.Err(), "it was not waited for")
}

// StallTimeout does not end etcd's own rule of five seconds.
func TestAShortStallTimeoutSurvivesTheFiveSecondRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New(a, b, c)
		fake.Kill(3)
		time.Sleep(10 * time.Second)
		fake.Restart(3)
		time.Sleep(200 * time.Millisecond)
		_, err := join(inTime(t, time.Minute), fake, d, "new", func(c *member.Config) { c.StallTimeout = 4 * time.Second })
		require.NoError(t, err)
	})
}

// A wait overshoots its limit by a second at most.
func TestAWaitEndsInTime(t *testing.T) {
	for _, limit := range []time.Duration{7 * time.Second, time.Minute, 11 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			fake := clustertest.New(a, b, c)
			began := time.Now()
			_, err := join(inTime(t, time.Hour), fake, d, "new", func(c *member.Config) {
				c.StallTimeout = limit
				c.Start = func(context.Context, member.StartSpec) error { return nil }
			})
			require.ErrorIs(t, err, member.ErrStalled)
			assert.Less(t, time.Since(began), limit+2*time.Second)
		})
	}
}

// The list changes between a start and the server's look at it: it is started again.
func TestAnOutdatedInitialClusterIsStartedAgain(t *testing.T) {
	for name, told := range map[string]bool{"the supervisor tells": true, "nobody tells": false} {
		for _, changes := range []int{1, 3} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fake := clustertest.New(a, b, c)
					fake.SetLearnerLimit(9)
					fake.Supervised(true)
					host := fake.Host(d)
					starts := 0
					_, err := join(inTime(t, 20*time.Minute), fake, d, "new", func(c *member.Config) {
						c.Start = func(ctx context.Context, s member.StartSpec) error {
							if starts++; starts <= changes { // another joiner, each time
								fake.AddRaw(cluster.Member{PeerURLs: []string{"http://x" + string(rune('0'+starts)) + ":2380"}, Learner: true})
							}
							return host.Start(ctx, s)
						}
						if told {
							c.Exited = host.Exited
						}
					})
					require.NoError(t, err)
					assert.Equal(t, changes+1, starts)
				})
			})
		}
	}
}

// What changes the host is not called once the caller's context has ended.
func TestNoHookChangesTheHostTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New(a)
		host := fake.Host(b)
		host.SetData(clustertest.ClusterID, 9)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := join(ctx, fake, b, "new", func(c *member.Config) { c.DataDir = slowDisk{host, cancel} })
		require.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, fake.Count(clustertest.OpStop))
		assert.Zero(t, fake.Count(clustertest.OpArchive))
	})
}

// slowDisk is read while the caller gives up.
type slowDisk struct {
	*clustertest.Host
	giveUp func()
}

func (s slowDisk) Inspect(ctx context.Context) (cluster.DataInfo, error) {
	s.giveUp()
	return s.Host.Inspect(context.WithoutCancel(ctx))
}

// A hook that is deaf to its context does not hold Join, whichever it is.
func TestADeafHookDoesNotHoldJoin(t *testing.T) {
	for name, set := range map[string]func(*member.Config, *cluster.ClientConfig, func()){
		"Start": func(c *member.Config, _ *cluster.ClientConfig, deaf func()) {
			c.Start = func(context.Context, member.StartSpec) error { deaf(); return nil }
		},
		"MayAdd": func(c *member.Config, _ *cluster.ClientConfig, deaf func()) {
			c.MayAdd = func(context.Context, cluster.Member) error { deaf(); return nil }
		},
		"Exited": func(c *member.Config, _ *cluster.ClientConfig, deaf func()) {
			c.Exited = func(context.Context) *cluster.ExitError { deaf(); return nil }
		},
		"Inspect": func(c *member.Config, _ *cluster.ClientConfig, deaf func()) { c.DataDir = deafDir{deaf} },
		"Alive": func(_ *member.Config, r *cluster.ClientConfig, deaf func()) {
			r.Alive = func(context.Context, cluster.Member) (cluster.Liveness, error) { deaf(); return cluster.Unknown, nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clustertest.New(a)
				host := fake.Host(b)
				hold := make(chan struct{})
				defer close(hold)
				config := member.Config{Start: host.Start, Stop: host.Stop, OnFailure: member.Keep}
				var reach cluster.ClientConfig
				set(&config, &reach, func() { <-hold })
				j, err := learner.NewJoiner(fake.With(reach), "new", config)
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				began := time.Now()
				_, err = j.Join(ctx, b)
				if name != "Alive" { // nobody needs its word where everybody answers
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				assert.Less(t, time.Since(began), 12*time.Second)
			})
		})
	}
}

type deafDir struct{ deaf func() }

func (d deafDir) Inspect(context.Context) (cluster.DataInfo, error) {
	d.deaf()
	return cluster.DataInfo{}, errors.New("too late")
}
func (d deafDir) Archive(context.Context) error { d.deaf(); return nil }

// The Alive hook gets its turn where packets are dropped and not refused.
func TestTheAliveHookGetsItsTurnBehindAFirewallThatDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New(a, b, c)
		fake.FaultAll(clustertest.OpRead, clustertest.Fault{Hang: true})
		host := fake.Host(d)
		late := 0
		j, err := learner.NewJoiner(fake.With(cluster.ClientConfig{Alive: func(ctx context.Context, m cluster.Member) (cluster.Liveness, error) {
			switch {
			case m.ID != 4:
				return cluster.Unknown, nil
			case ctx.Err() != nil:
				late++
				return cluster.Unknown, ctx.Err()
			}
			return cluster.Alive, nil
		}}), "new", member.Config{Start: host.Start})
		require.NoError(t, err)
		_, err = j.Join(inTime(t, 10*time.Minute), d)
		require.NoError(t, err)
		assert.Zero(t, late)
	})
}
