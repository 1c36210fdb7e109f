package learner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

// Secrets as they come into a join: in URLs that somebody gave us or listed, and in
// what servers and dialers say.
const (
	secretUser  = "joe-the-admin"
	secretPass  = "hunter2/%41#" // with what a URL does not allow
	secretToken = "eyJhbGciOiJ.c2VjcmV0.token"
)

// overheard is everything that a join lets out.
type overheard struct{ bytes.Buffer }

func (o *overheard) config(c member.Config) member.Config {
	c.Logger = slog.New(slog.NewJSONHandler(&o.Buffer, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.Observe = func(e member.Event) {
		raw, err := json.Marshal(e)
		fmt.Fprintf(o, "%s %v %+v\n", raw, err, e)
		if e.Member != nil {
			fmt.Fprintf(o, "%+v %s\n", *e.Member, e.Member)
		}
	}
	return c
}

func (o *overheard) err(err error) {
	if err == nil {
		return
	}
	raw, _ := json.Marshal(err)
	fmt.Fprintf(o, "%v %+v %q %s\n", err, err, err.Error(), raw)
}

func (o *overheard) holdsNoSecret(t *testing.T) {
	t.Helper()
	assert.NotEmpty(t, o.String())
	for _, secret := range []string{secretUser, "hunter2", secretToken} {
		assert.NotContains(t, o.String(), secret)
	}
}

// verbs are all that can be asked of a joiner.
var verbs = map[string]func(context.Context, *learner.LearnerJoiner, string) error{
	"join": func(ctx context.Context, j *learner.LearnerJoiner, url string) error {
		_, err := j.Join(ctx, url)
		return err
	},
	"step": func(ctx context.Context, j *learner.LearnerJoiner, url string) error {
		_, err := j.Step(ctx, url, member.Memory{})
		return err
	},
	"plan": func(ctx context.Context, j *learner.LearnerJoiner, url string) error {
		p, err := j.Plan(ctx, url)
		if err == nil {
			err = fmt.Errorf("%s: %w", p, p.Why)
		}
		return err
	},
	"add": func(ctx context.Context, j *learner.LearnerJoiner, url string) error {
		_, err := j.Add(ctx, url)
		return err
	},
	"abort": func(ctx context.Context, j *learner.LearnerJoiner, url string) error { return j.Abort(ctx, url) },
}

func TestAPasswordInAURLIsRefusedAndNotRepeated(t *testing.T) {
	for name, url := range map[string]string{
		"a user and a password": "http://" + secretUser + ":hunter2@d:2380",
		"a user":                "http://" + secretUser + "@d:2380",
		"one that is no URL":    "http://" + secretUser + ":" + secretPass + "@d:2380",
		"without a scheme":      secretUser + ":hunter2@d:2380",
		"a token":               "http://d:2380?token=" + secretToken,
		"the second":            "http://d:2380,http://" + secretUser + ":hunter2@d2:2380",
	} {
		for verb, do := range verbs {
			t.Run(name+"/"+verb, func(t *testing.T) {
				var heard overheard
				fake := clustertest.New(a, b, c)
				j, err := learner.NewJoiner(fake, "new", heard.config(member.Config{}))
				assert.NoError(t, err)
				err = do(t.Context(), j, url)
				assert.Error(t, err)
				heard.err(err)
				heard.holdsNoSecret(t)
				assert.Empty(t, fake.Calls())
			})
		}
	}
}

func TestAPasswordInAMetricsURLIsRefusedAndNotRepeated(t *testing.T) {
	for _, url := range []string{
		"http://" + secretUser + ":hunter2@d:2381", "http://" + secretUser + ":" + secretPass + "@d:2381", "http://d:2381/?token=" + secretToken,
	} {
		_, err := learner.NewJoiner(clustertest.New(a), "new", member.Config{MetricsURL: url})
		assert.Error(t, err)
		var heard overheard
		heard.err(err)
		heard.holdsNoSecret(t)
	}
}

// Somebody else's tool has listed members with passwords in their URLs, and dialers
// quote the URLs that they fail at.
func TestSecretsInTheListAreNotRepeated(t *testing.T) {
	secret := "http://" + secretUser + ":hunter2@"
	for name, prepare := range map[string]func(*clustertest.Cluster){
		"of a learner that holds the slot": func(c *clustertest.Cluster) {
			c.AddRaw(cluster.Member{PeerURLs: []string{secret + "x:2380"}, ClientURLs: []string{secret + "x:2379"}, Learner: true})
		},
		"of a member with our name": func(c *clustertest.Cluster) {
			c.AddRaw(cluster.Member{Name: "new", PeerURLs: []string{secret + "x:2380"}, ClientURLs: []string{secret + "x:2379"}})
		},
		"of diverging lists": func(c *clustertest.Cluster) {
			c.AddRaw(cluster.Member{Name: "x", PeerURLs: []string{secret + "x:2380"}})
			c.DivergeList(2, c.Members()[:2])
		},
		"of all endpoints": func(c *clustertest.Cluster) { c.OwnEndpoints(secret+"x:2379", secret+"y:2379") },
		"in what a server says": func(c *clustertest.Cluster) {
			c.Deny(clustertest.OpAdd, fmt.Errorf("proxy %sx:2379 refuses", secret))
		},
	} {
		for verb, do := range verbs {
			t.Run(name+"/"+verb, func(t *testing.T) {
				var heard overheard
				synctest.Test(t, func(t *testing.T) {
					fake := clustertest.New(a, b, c)
					prepare(fake)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					host := fake.Host(d)
					j, err := learner.NewJoiner(fake, "new", heard.config(member.Config{Start: host.Start, Stop: host.Stop, DataDir: host}))
					assert.NoError(t, err)
					heard.err(do(ctx, j, d))
				})
				if heard.Len() > 0 {
					heard.holdsNoSecret(t)
				}
			})
		}
	}
}
