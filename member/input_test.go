package member_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/cluster/clustertest"
	"github.com/etcdjoin/etcdjoin/internal/decide"
	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

const firstURL = "http://10.0.0.1:2380"

// refusedInput holds an error to naming the field and the rule.
func refusedInput(t *testing.T, err error, field, rule string) {
	t.Helper()
	var input *member.InputError
	require.ErrorAs(t, err, &input)
	assert.Equal(t, field, input.Field)
	assert.Contains(t, input.Rule, rule)
	assert.Contains(t, err.Error(), field)
	assert.Contains(t, err.Error(), rule)
	assert.Equal(t, 1, strings.Count(err.Error(), field+" "), "said twice: %v", err)
}

// Every constructor refuses every wrong argument, before any call.
func TestBadArguments(t *testing.T) {
	for name, tc := range map[string]struct {
		name   string
		config member.Config
		field  string
		rule   string
	}{
		"no name":                       {"", member.Config{}, "name", "must not be empty"},
		"a name with an equals sign":    {"a=b", member.Config{}, "name", `must not contain "=" or ","`},
		"a name with a comma":           {"a,b", member.Config{}, "name", `must not contain "=" or ","`},
		"a name that ends with space":   {"a ", member.Config{}, "name", "must not begin or end with space"},
		"a name that begins with a tab": {"\ta", member.Config{}, "name", "must not begin or end with space"},
		"a name of space":               {" ", member.Config{}, "name", "must not begin or end with space"},
		"a name of two lines":           {"a\nb", member.Config{}, "name", "control characters"},
		"a name that is no text":        {"a\xff", member.Config{}, "name", "must be text"},
		"negative ReadWithin":           {"a", member.Config{ReadWithin: -1}, "Config.ReadWithin", "must not be negative"},
		"negative StallTimeout":         {"a", member.Config{StallTimeout: -time.Minute}, "Config.StallTimeout", "must not be negative"},
		"negative WriteTimeout":         {"a", member.Config{WriteTimeout: -1}, "Config.WriteTimeout", "must not be negative"},
		"unknown OnFailure":             {"a", member.Config{OnFailure: "panic"}, "Config.OnFailure", "none of the policies"},
		"unknown SameName":              {"a", member.Config{SameName: "replace"}, "Config.SameName", "none of the policies"},
		"unknown Slot":                  {"a", member.Config{Slot: "evict"}, "Config.Slot", "none of the policies"},
		"unknown ReturnAt":              {"a", member.Config{ReturnAt: "serving"}, "Config.ReturnAt", "none of the moments"},
		"a hazard that does not exist":  {"a", member.Config{AcceptHazards: []string{"inconsistent-index", "unsaved-member"}}, "Config.AcceptHazards", "is the name of no hazard"},
		"an empty hazard":               {"a", member.Config{AcceptHazards: []string{""}}, "Config.AcceptHazards", "is the name of no hazard"},
		"MetricsURL without a scheme":   {"a", member.Config{MetricsURL: "10.0.0.9:2381"}, "Config.MetricsURL", "must be an http or https URL"},
		"MetricsURL of another scheme":  {"a", member.Config{MetricsURL: "unix://m"}, "Config.MetricsURL", "must be an http or https URL"},
		"MetricsURL without a host":     {"a", member.Config{MetricsURL: "http://"}, "Config.MetricsURL", "must be an http or https URL"},
		"MetricsURL that is none":       {"a", member.Config{MetricsURL: "http://[::1"}, "Config.MetricsURL", "must be an http or https URL"},
		"the name is looked at first":   {"", member.Config{Slot: "evict"}, "name", "must not be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			c := clustertest.New(firstURL)
			_, err := learner.NewJoiner(c, tc.name, tc.config)
			refusedInput(t, err, tc.field, tc.rule)
			_, err = member.NewVotingJoiner(c, tc.name, tc.config)
			refusedInput(t, err, tc.field, tc.rule)
			_, err = member.New(c, tc.name, tc.config, decide.Voting{})
			refusedInput(t, err, tc.field, tc.rule)
			if tc.field != "name" && tc.field != "Config.OnFailure" {
				_, err = learner.Promote(t.Context(), c, 1, tc.config)
				refusedInput(t, err, tc.field, tc.rule)
				err = member.Remove(t.Context(), c, 1, tc.config)
				refusedInput(t, err, tc.field, tc.rule)
				err = member.Leave(t.Context(), c, 1, tc.config)
				refusedInput(t, err, tc.field, tc.rule)
			}
			assert.Empty(t, c.Calls())
		})
	}
}

func TestNoClient(t *testing.T) {
	for name, c := range map[string]cluster.Client{
		"nil":                  nil,
		"a nil *EtcdClient":    (*cluster.EtcdClient)(nil),
		"an EtcdClient of nil": cluster.NewClient(nil, cluster.ClientConfig{}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := learner.NewJoiner(c, "a", member.Config{})
			refusedInput(t, err, "client", "must not be nil")
			_, err = member.NewVotingJoiner(c, "a", member.Config{})
			refusedInput(t, err, "client", "must not be nil")
			_, err = learner.Promote(t.Context(), c, 1, member.Config{})
			refusedInput(t, err, "client", "must not be nil")
			err = member.Remove(t.Context(), c, 1, member.Config{})
			refusedInput(t, err, "client", "must not be nil")
		})
	}
	_, err := member.New(clustertest.New(firstURL), "a", member.Config{}, nil)
	refusedInput(t, err, "strategy", "must not be nil")
	cluster.NewClient(nil, cluster.ClientConfig{}).Close() // and does not panic
}

func TestNoID(t *testing.T) {
	c := clustertest.New(firstURL)
	_, err := learner.Promote(t.Context(), c, 0, member.Config{})
	refusedInput(t, err, "id", "must not be 0")
	refusedInput(t, member.Remove(t.Context(), c, 0, member.Config{}), "id", "must not be 0")
	refusedInput(t, member.Leave(t.Context(), c, 0, member.Config{}), "id", "must not be 0")
	assert.Empty(t, c.Calls())
}

// Every way into a joiner refuses every bad peer URL, before any call.
func TestBadPeerURLs(t *testing.T) {
	for name, tc := range map[string]struct{ url, rule string }{
		"no URL":                   {"", "must not be empty"},
		"only a comma":             {",", "must not be empty"},
		"a comma at the end":       {firstURL + ",", "must not be empty"},
		"no scheme":                {"10.0.0.9:2380", "must be a URL"},
		"only a host":              {"etcd-9", "scheme must be"},
		"ftp":                      {"ftp://10.0.0.9:2380", "scheme must be"},
		"no host":                  {"http://:2380", "host must be"},
		"no port":                  {"http://10.0.0.9", "port must be given"},
		"an empty port":            {"http://10.0.0.9:", "port must be given"},
		"port 0":                   {"http://10.0.0.9:0", "port must be given"},
		"a port too high":          {"http://10.0.0.9:65536", "port must be given"},
		"a port that is no number": {"http://10.0.0.9:peer", "must be a URL"},
		"a path":                   {"http://10.0.0.9:2380/etcd", "must not have a path"},
		"a slash":                  {"http://10.0.0.9:2380/", "must not have a path"},
		"a query":                  {"http://10.0.0.9:2380?x=1", "must not have a query"},
		"an empty query":           {"http://10.0.0.9:2380?", "must not have a query"},
		"a fragment":               {"http://10.0.0.9:2380#x", "must not have a fragment"},
		"a user":                   {"http://me:secret@10.0.0.9:2380", "must not name a user"},
		"IPv6 without brackets":    {"http://fd00::9:2380", "must be"},
		"an IPv4 address of three": {"http://10.0.9:2380", "host must be"},
		"space within":             {"http://10.0.0 .9:2380", "must be a URL"},
		"a control character":      {"http://10.0.0.9:2380\n\x00", "must be a URL"},
		"the same one twice":       {"http://10.0.0.9:2380,http://10.0.0.9:02380", "must not be listed twice"},
		"the second one is bad":    {"http://10.0.0.9:2380,10.0.0.8:2380", "must be a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			c := clustertest.New(firstURL)
			for way, j := range joiners(t, c, member.Config{}) {
				_, err := j.Join(t.Context(), tc.url)
				refusedPeerURL(t, err, tc.rule)
				_, err = j.Plan(t.Context(), tc.url)
				refusedPeerURL(t, err, tc.rule)
				_, err = j.Add(t.Context(), tc.url)
				refusedPeerURL(t, err, tc.rule)
				_, err = j.Step(t.Context(), tc.url, member.Memory{})
				refusedPeerURL(t, err, tc.rule)
				refusedPeerURL(t, j.Abort(t.Context(), tc.url), tc.rule)
				assert.Empty(t, c.Calls(), way)
			}
		})
	}
}

func refusedPeerURL(t *testing.T, err error, rule string) {
	t.Helper()
	refusedInput(t, err, "peerURL", rule)
	var join *member.JoinError
	require.ErrorAs(t, err, &join)
	assert.Equal(t, member.StepCheck, join.Step)
	assert.False(t, join.Changed)
	assert.NotContains(t, err.Error(), "secret")
}

func joiners(t *testing.T, c cluster.Client, config member.Config) map[string]*member.Engine {
	t.Helper()
	l, err := learner.NewJoiner(c, ourName, config)
	require.NoError(t, err)
	v, err := member.NewVotingJoiner(c, ourName, config)
	require.NoError(t, err)
	return map[string]*member.Engine{"learner": l.Engine, "voting": v.Engine}
}

// What only the other members' URLs can tell is refused before any write.
func TestPeerURLsThatDoNotFitTheOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		url  string
		want error // nil: an InputError
	}{
		"all addresses":                              {"http://0.0.0.0:2380", nil},
		"all IPv6 addresses":                         {"http://[::]:2380", nil},
		"loopback beside members on machines":        {"http://127.0.0.1:2380", nil},
		"localhost":                                  {"http://localhost:2380", nil},
		"another member's host and port":             {"https://10.0.0.1:2380", member.ErrURLTaken},
		"another member's, and one more":             {"http://10.0.0.1:2380,http://10.0.0.9:2380", member.ErrURLTaken},
		"another member's, mapped into IPv6":         {"http://[::ffff:10.0.0.1]:2380,http://10.0.0.9:2380", member.ErrURLTaken},
		"another member's name with a dot, capitals": {"http://M2.Example.:2380,http://10.0.0.9:2380", member.ErrURLTaken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(firstURL, "http://m2.example:2380", "http://10.0.0.3:2380")
				for way, j := range joiners(t, c, member.Config{}) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					_, err := j.Join(ctx, tc.url)
					if tc.want != nil {
						require.ErrorIs(t, err, tc.want, way)
					} else {
						var input *member.InputError
						require.ErrorAs(t, err, &input, way)
					}
					assert.Empty(t, c.Writes(), way)
				}
			})
		})
	}
}

// Nobody is asked anything once the caller has given up.
func TestContextsThatHaveEnded(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	for want, ctx := range map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: late} {
		c := clustertest.New(firstURL)
		for _, j := range joiners(t, c, member.Config{}) {
			_, err := j.Join(ctx, ourURL)
			require.ErrorIs(t, err, want)
			_, err = j.Plan(ctx, ourURL)
			require.ErrorIs(t, err, want)
			require.ErrorIs(t, j.Abort(ctx, ourURL), want)
		}
		assert.Empty(t, c.Calls())
	}
}

// Hooks may be missing, each of them: what they would tell is unknown then.
// Rejoin without a DataDir allows what never comes to pass.
func TestHooksThatAreMissing(t *testing.T) {
	for name, config := range map[string]member.Config{
		"all of them":                {},
		"DataDir, and may rejoin":    {Rejoin: true},
		"DataDir, and undo all":      {Rejoin: true, OnFailure: member.Undo},
		"all, and evict, replace":    {SameName: member.ReplaceIfDead, Slot: member.EvictStalled, UpdateAddress: true},
		"all, every hazard accepted": {AcceptHazards: []string{"inconsistent-index", "publish-panic-into-3.5"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(firstURL, "http://10.0.0.2:2380")
				all := joiners(t, c, config)
				for _, way := range []string{"learner", "voting"} {
					j := all[way]
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					_, err := j.Join(ctx, ourURL) // nobody starts it
					require.ErrorIs(t, err, context.DeadlineExceeded, way)
					require.ErrorIs(t, err, member.ErrNotLive, way)
					if err := j.Abort(t.Context(), ourURL); way == "voting" {
						require.ErrorIs(t, err, member.ErrVoter)
					} else {
						require.NoError(t, err)
					}
				}
			})
		})
	}
}

// A list may have space around its URLs, as etcd's flag may. What is sent,
// written and started is without it, and otherwise as it was given.
func TestSpaceAroundPeerURLs(t *testing.T) {
	for name, url := range map[string]string{
		"none":         "http://10.0.0.9:02380,http://b9:2380",
		"after commas": "http://10.0.0.9:02380, http://b9:2380",
		"all around":   " http://10.0.0.9:02380 ,\thttp://b9:2380 ",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(firstURL)
				var spec member.StartSpec
				j, err := learner.NewJoiner(c, ourName, member.Config{Start: func(ctx context.Context, s member.StartSpec) error {
					spec = s
					return c.Start(ctx, s)
				}})
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				r, err := j.Join(ctx, url)
				require.NoError(t, err)
				want := []string{"http://10.0.0.9:02380", "http://b9:2380"}
				assert.Equal(t, want, r.Member.PeerURLs)
				assert.Equal(t, want, spec.PeerURLs)
				assert.Equal(t, want, c.Writes()[0].URLs)
				assert.Contains(t, spec.InitialCluster, "new=http://10.0.0.9:02380,new=http://b9:2380")
				assert.NotContains(t, spec.InitialCluster, " ")
			})
		})
	}
}

// A member that somebody else listed under a URL that no joiner may have can be
// removed all the same.
func TestRemoveAMemberWhoseURLNobodyCanRead(t *testing.T) {
	for name, urls := range map[string][]string{"unreadable": {"::bad::"}, "a path": {"http://10.0.0.8:2380/x"}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(firstURL, "http://10.0.0.2:2380", "http://10.0.0.3:2380")
				id := c.AddRaw(cluster.Member{PeerURLs: urls, Learner: true})
				require.NoError(t, member.Remove(t.Context(), c, id, member.Config{}))
				_, found := c.Member(id)
				assert.False(t, found)
			})
		})
	}
}

// Whatever the arguments: no panic, nothing asked where they are refused, nothing
// written where they cannot be, and else a voter under the URLs that were given.
func FuzzJoin(f *testing.F) {
	f.Add("new", ourURL)
	f.Add("new", "https://[fd00::9]:2380,https://etcd-9.example:2380")
	f.Add("a=b", ourURL)
	f.Add("", "")
	f.Add("m1", ourURL)
	f.Add("new", "http://10.0.0.1:2380")
	f.Add("new", "unix:///run/etcd.sock")
	f.Add("new", " http://10.0.0.9:2380 , http://b:1")
	f.Add("n\x00", "http://\x00:1")
	f.Fuzz(func(t *testing.T, name, url string) {
		synctest.Test(t, func(t *testing.T) { fuzzed(t, name, url) })
	})
}

func fuzzed(t *testing.T, name, url string) {
	c := clustertest.New(firstURL)
	// Two servers of one host have one client URL in this cluster: none could be seen to serve.
	j, err := learner.NewJoiner(c, name, member.Config{Start: c.Start, ReturnAt: member.Promoted})
	if err != nil {
		var input *member.InputError
		require.ErrorAs(t, err, &input)
		assert.Empty(t, c.Calls())
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := j.Join(ctx, url)
	if err != nil {
		var join *member.JoinError
		require.ErrorAs(t, err, &join)
		require.False(t, join.Changed, "%v", err)
		assert.Empty(t, c.Writes())
		if _, wrong := peerurl.ParseList(url); wrong != nil {
			assert.Empty(t, c.Calls())
			return
		}
		var input *member.InputError
		require.True(t, errors.As(err, &input) || errors.Is(err, member.ErrURLTaken) || errors.Is(err, member.ErrNameTaken) || errors.Is(err, member.ErrOtherName), "%v", err)
		return
	}
	assert.False(t, r.Member.Learner)
	given := strings.Split(url, ",")
	for i := range given {
		given[i] = strings.TrimSpace(given[i])
	}
	assert.Equal(t, given, c.Writes()[0].URLs, "they are sent as they were given")
	assert.True(t, peerurl.SameSet(given, r.Member.PeerURLs), "etcd lists %v", r.Member.PeerURLs)
}
