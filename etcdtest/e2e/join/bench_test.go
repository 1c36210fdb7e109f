package join_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// moments of one join, counted from its add.
type moments struct{ promoted, serving, opened time.Duration }

// BenchmarkJoin joins and removes one member again and again, in turn by the
// library and by two oracles that know when to ask: the raw one asks the leader
// to promote every millisecond, the safe one asks the gate's read every
// millisecond and then promotes. What counts is the ratios.
func BenchmarkJoin(b *testing.B) {
	for name, mib := range map[string]int{"empty": 0, "64MiB": 64} {
		b.Run(name, func(b *testing.B) {
			c := etcdtest.Start(b, 1, etcdtest.WithVersion("3.7.3"))
			c.PutMiB(mib)
			if mib > 0 {
				c.PutIndex(12_000)
			}
			ways := map[string]func(*testing.B, *etcdtest.Cluster, *etcdtest.Server) moments{
				"ours": joinOnce, "safe": safeOracle, "raw": rawOracle,
			}
			got := map[string][]moments{}
			for b.Loop() {
				for way, join := range ways {
					s := c.NewServer("joiner")
					got[way] = append(got[way], join(b, c, s))
					removeAgain(b, c, s)
				}
			}
			report(b, got)
		})
	}
}

func report(b *testing.B, got map[string][]moments) {
	promoted := func(m moments) time.Duration { return m.promoted }
	for way, ms := range got {
		b.Logf("%-4s added to promoted: median %s of %v", way, median(ms, promoted), len(ms))
		b.ReportMetric(float64(median(ms, promoted).Milliseconds()), way+"-promoted-ms")
	}
	safe := median(got["safe"], promoted).Seconds()
	b.ReportMetric(median(got["ours"], promoted).Seconds()/safe, "ours/safe")
	b.ReportMetric(median(got["raw"], promoted).Seconds()/safe, "raw/safe")
	serving := median(got["ours"], func(m moments) time.Duration { return m.serving })
	opened := median(got["ours"], func(m moments) time.Duration { return m.opened })
	b.Logf("ours added to serving: median %s, the port opened at %s", serving, opened)
	b.ReportMetric(serving.Seconds()/opened.Seconds(), "serving/opened")
}

func median(ms []moments, of func(moments) time.Duration) time.Duration {
	var ds []time.Duration
	for _, m := range ms {
		ds = append(ds, of(m))
	}
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// opens tells when the server's client port first answers, asked every
// millisecond by somebody else.
func opens(ctx context.Context, s *etcdtest.Server) <-chan time.Time {
	at := make(chan time.Time, 1)
	go func() {
		if s.WaitServing(ctx) == nil {
			at <- time.Now()
		}
	}()
	return at
}

func joinOnce(b *testing.B, c *etcdtest.Cluster, s *etcdtest.Server) moments {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	var opened <-chan time.Time
	client := cluster.NewClient(c.ClientFor(c.Servers()...), cluster.ClientConfig{})
	defer client.Close()
	j, err := learner.NewJoiner(client, s.Name, member.Config{Start: func(_ context.Context, spec member.StartSpec) error {
		defer func() { opened = opens(ctx, s) }()
		return s.Start(spec.InitialCluster)
	}})
	require.NoError(b, err)
	r, err := j.Join(ctx, s.PeerURL)
	require.NoError(b, err)
	return moments{promoted: r.Promoted.Sub(r.Added), serving: r.Serving.Sub(r.Added), opened: (<-opened).Sub(r.Added)}
}

func safeOracle(b *testing.B, c *etcdtest.Cluster, s *etcdtest.Server) moments {
	return oracle(b, c, s, func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, 250*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.PeerURL+"/downgrade/enabled", nil)
		require.NoError(b, err)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

func rawOracle(b *testing.B, c *etcdtest.Cluster, s *etcdtest.Server) moments {
	return oracle(b, c, s, func(context.Context) bool { return true })
}

func oracle(b *testing.B, c *etcdtest.Cluster, s *etcdtest.Server, ready func(context.Context) bool) moments {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	id := c.AddLearner(s)
	added := time.Now()
	require.NoError(b, s.Start(c.InitialCluster(s)))
	for !ready(ctx) {
		require.NoError(b, ctx.Err())
		time.Sleep(time.Millisecond)
	}
	for {
		if _, err := c.Client().MemberPromote(ctx, id); err == nil {
			break
		}
		require.NoError(b, ctx.Err())
		time.Sleep(time.Millisecond)
	}
	m := moments{promoted: time.Since(added)}
	require.NoError(b, s.WaitServing(ctx))
	return m
}

// removeAgain takes the joiner out, so that the next one finds one voter.
func removeAgain(b *testing.B, c *etcdtest.Cluster, s *etcdtest.Server) {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	for {
		list, err := c.Client().MemberList(ctx)
		require.NoError(b, err)
		if len(list.Members) == 1 {
			break
		}
		for _, m := range list.Members {
			if slices.Contains(m.PeerURLs, s.PeerURL) {
				_, _ = c.Client().MemberRemove(ctx, m.ID) // refused for 5 s after a promotion
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	s.Kill()
	s.Wipe()
}
