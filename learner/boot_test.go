package learner_test

import (
	"context"
	"fmt"
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

// After a power cut every host calls Join at boot, all servers down, and nobody is
// there to be asked. They come up by themselves, in any order.
func TestAfterAPowerCutAllComeUp(t *testing.T) {
	urls := []string{a, b, c, d, "http://10.0.0.5:2380"}
	for _, size := range []int{1, 2, 3, 5} {
		for name, apart := range map[string]time.Duration{"at once": 0, "one after the other": 10 * time.Second} {
			t.Run(fmt.Sprintf("%d %s", size, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fake := clustertest.New(urls[:size]...)
					for id := range size {
						fake.Kill(cluster.ID(id + 1))
					}
					time.Sleep(time.Minute)
					done := make(chan error, size)
					for i, url := range urls[:size] {
						go func() {
							time.Sleep(time.Duration(i) * apart)
							done <- boot(t.Context(), fake, url, fmt.Sprintf("m%d", i+1))
						}()
					}
					for range size {
						assert.NoError(t, <-done)
					}
					assert.Empty(t, fake.Writes(), "nobody joins: all are members")
				})
			})
		}
	}
}

// boot is what a host does each time it comes up.
func boot(ctx context.Context, fake *clustertest.Cluster, url, name string) error {
	host := fake.Host(url)
	j, err := learner.NewJoiner(fake, name, member.Config{Start: host.Start, Stop: host.Stop, DataDir: host, StallTimeout: time.Minute})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	_, err = j.Join(ctx, url)
	return err
}

// What is started says that it is a restart, and has no initial cluster where none
// can be had.
func TestARestartSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New(a)
		fake.Kill(1)
		host := fake.Host(a)
		var specs []member.StartSpec
		j, err := learner.NewJoiner(fake, "m1", member.Config{DataDir: host, Start: func(ctx context.Context, s member.StartSpec) error {
			specs = append(specs, s)
			return host.Start(ctx, s)
		}})
		require.NoError(t, err)
		_, err = j.Join(inTime(t, time.Minute), a)
		require.NoError(t, err)
		require.NotEmpty(t, specs)
		assert.Equal(t, member.StartSpec{Name: "m1", MemberID: 1, ClusterID: clustertest.ClusterID, PeerURLs: []string{a}, Restart: true}, specs[0])
	})
}

// Nobody answers, and there is nothing of ours to start: no disk, an empty one, or one
// that cannot be read.
func TestWithoutIntactDataNothingIsStartedBlindly(t *testing.T) {
	for name, spoil := range map[string]func(*clustertest.Host){
		"empty":   func(h *clustertest.Host) { h.Wipe() },
		"damaged": func(h *clustertest.Host) { h.Damage("bad magic") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clustertest.New(a, b, c)
				for id := range 3 {
					fake.Kill(cluster.ID(id + 1))
				}
				spoil(fake.Host(a))
				err := boot(t.Context(), fake, a, "m1")
				require.ErrorIs(t, err, cluster.ErrUnreachable)
				assert.Zero(t, fake.Count(clustertest.OpStart))
			})
		})
	}
}
