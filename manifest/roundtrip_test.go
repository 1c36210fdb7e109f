package manifest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// everyVersion has each minor, and the patches around which names change.
var everyVersion = []string{
	"3.4.0", "3.4.13", "3.4.45", "3.5.0", "3.5.5", "3.5.10", "3.5.16", "3.5.35", "3.6.0", "3.6.16", "3.7.3", "3.8.0-alpha.0",
}

// nasty are texts that each form must carry through.
var nasty = []string{
	"plain", "with space", `"quoted"`, `it's`, `back\slash`, "$HOME", "$(POD_IP)", "$$", "`cmd`", "%n", "#no comment", "a: b",
	"- item", "{a: b}", "[x]", "*alias", "&anchor", "!tag", "| block", "null", "yes", "on", "1e3", "0x10", "007", "1.5", "12:30:45",
	"é", "日本", "a#b", "a;b", "=x", "--flag", "@at", "{\"maxsize\":100}", "~", "a\u00a0b", "2001-01-01",
}

func randomValue(rnd *rand.Rand, s spelling) string {
	if allowed := choices[s.name]; allowed != nil {
		return allowed[0].value
	}
	if s.name == "log-outputs" {
		return "stdout" // 3.4 takes one
	}
	switch s.kind {
	case number, number32:
		return fmt.Sprint(1 + rnd.IntN(1_000_000))
	case signed:
		return fmt.Sprint(rnd.IntN(2_000_000) - 1_000_000)
	case boolean:
		return fmt.Sprint(rnd.IntN(2) == 0)
	case duration:
		return fmt.Sprintf("%dms", 1+rnd.IntN(10_000_000))
	case urls, origins:
		return fmt.Sprintf("http://127.0.0.%d:%d", rnd.IntN(255), 1+rnd.IntN(60000))
	case commas, list:
		return fmt.Sprintf("w%d,v%d", rnd.IntN(10), rnd.IntN(10))
	}
	return nasty[rnd.IntN(len(nasty))]
}

// neverRandom are settings with rules of their own.
var neverRandom = []string{
	"force-new-cluster", "proxy", "discovery", "discovery-srv", "discovery-endpoints", "logger", "heartbeat-interval",
	"election-timeout", "tls-min-version", "tls-max-version", "cipher-suites", "enable-lease-checkpoint-persist",
}

func randomSpec(rnd *rand.Rand, v version.Version) Spec {
	s := Spec{
		Version:  v,
		Settings: map[string]string{},
		Pod:      Pod{Image: "registry.k8s.io/etcd:" + v.String()},
	}
	if rnd.IntN(2) == 0 {
		s.ClientTLS = TLS{CertFile: "/pki/etcd/server.crt", KeyFile: "/pki/etcd/server.key", TrustedCAFile: "/pki/etcd/ca.crt"}
		s.PeerTLS = TLS{CertFile: "/pki/peer/peer.crt", KeyFile: "/pki/peer/peer.key", TrustedCAFile: "/pki/etcd/ca.crt"}
	}
	if rnd.IntN(3) == 0 {
		s.WALDir = "/var/lib/wal " + nasty[rnd.IntN(3)]
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		rows := byName[name]
		_, has := spell(name, v)
		if fieldOf(name) == nil && has && rnd.IntN(3) == 0 && !slices.Contains(neverRandom, name) {
			s.Settings[name] = randomValue(rnd, rows[0])
		}
	}
	if rnd.IntN(2) == 0 {
		s.Pod = randomPod(rnd, s.Pod.Image)
	}
	for _, name := range []string{"some-flag", "x1"} {
		if rnd.IntN(3) == 0 {
			s.Unknown = map[string]string{name: nasty[rnd.IntN(len(nasty))]}
		}
	}
	return s
}

func randomPod(rnd *rand.Rand, image string) Pod {
	word := func() string { return nasty[rnd.IntN(len(nasty))] }
	number := rnd.IntN(1000)
	return Pod{
		Image:           image,
		ImagePullPolicy: "Always",
		Program:         "/usr/local/bin/etcd",
		Name:            "etcd-x",
		Namespace:       "etcd",
		Labels:          map[string]string{"x": []string{"y", "1e3", "null", "007", "a.b_c-d"}[rnd.IntN(5)]},
		Annotations:     map[string]string{"example.com/" + "y": word(), "z": word()},
		PriorityClass:   "high",
		Priority:        &number,
		Requests:        map[string]string{},
		Limits:          map[string]string{"cpu": "2", "memory": "2Gi"},
		Volumes: []Volume{
			{Name: "etcd-data", HostPath: "/mnt/disk 1", MountPath: "/var/lib/etcd"},
			{Name: "localtime", HostPath: "/etc/localtime", Type: "File", ReadOnly: true},
		},
		Env:            []EnvVar{{"GOGC", "50"}, {"X", word()}, {"EMPTY", ""}},
		StartupSeconds: 10 * (1 + number),
	}
}

func randomStart(rnd *rand.Rand) member.StartSpec {
	name := []string{"cp-2", "default", "höst", "a b", "null", "0x10", "it's"}[rnd.IntN(7)]
	own := []string{"http://10.0.0.2:2380"}
	if rnd.IntN(2) == 0 {
		own = []string{"http://[2001:db8::2]:2380", "http://10.0.0.2:2380"}
	}
	cluster, err := BuildInitialCluster(InitialMember{Name: name, PeerURLs: own}, []InitialMember{
		{Name: "cp-1", PeerURLs: []string{"http://10.0.0.1:2380"}}, {PeerURLs: []string{"https://cp-3:2380"}},
	})
	if err != nil {
		panic(err)
	}
	return member.StartSpec{Name: name, PeerURLs: own, InitialCluster: cluster.String()}
}

// readArgs is [Read] for the form that is no file.
func rereadAll(t *testing.T, s Spec) map[string]Reading {
	t.Helper()
	readings := map[string]Reading{}
	args, err := s.Args()
	require.NoError(t, err)
	readings["args"], err = ReadArgs(args)
	require.NoError(t, err)
	for _, form := range []Form{StaticPod, ConfigFile, Environment} {
		data, err := s.Render(form)
		if form == ConfigFile && err != nil {
			require.ErrorIs(t, err, ErrUnsupported)
			continue
		}
		require.NoError(t, err)
		again, err := s.Render(form)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
		readings[string(form)], err = Read(form, "", data)
		require.NoError(t, err, "%s", data)
	}
	return readings
}

func TestEveryFormSaysTheSame(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	files := 0
	for _, name := range everyVersion {
		v := version.MustParse(name)
		for range 25 {
			s, err := randomSpec(rnd, v).For(randomStart(rnd))
			require.NoError(t, err)
			want, err := s.Resolved()
			require.NoError(t, err)
			for form, r := range rereadAll(t, s) {
				files++
				unknown := s.Unknown
				if form == string(ConfigFile) || form == string(Environment) {
					// There etcd only ignores what it does not know, or warns of it.
					assert.Len(t, r.Unplaced, len(s.Unknown), form)
					unknown = nil
				} else {
					assert.Empty(t, r.Unplaced, form)
				}
				if form == string(StaticPod) {
					assert.Equal(t, v, r.Spec.Version)
					assert.Equal(t, s.Pod, r.Spec.Pod)
				}
				r.Spec.Version = v
				got, err := r.Spec.Resolved()
				require.NoError(t, err, form)
				require.Equal(t, want, asGiven(Form(form), v, s, got), "%s of %s", form, name)
				require.Equal(t, unknown, r.Spec.Unknown, form)
			}
		}
	}
	t.Logf("%d files read back", files)
}

// asGiven leaves out what only a config file has to say.
func asGiven(form Form, v version.Version, s Spec, settings []Setting) []Setting {
	if _, given := s.Settings[onlyFlagDefault]; given || form != ConfigFile || !onByFlag.Has(v) {
		return settings
	}
	return slices.DeleteFunc(settings, func(s Setting) bool { return s.Name == onlyFlagDefault })
}

func TestRenderedFilesSayNothingTheVersionRefuses(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, name := range everyVersion {
		v := version.MustParse(name)
		file := "testdata/servers/" + name + ".txt"
		if name == "3.4.0" || name == "3.4.45" || name == "3.5.5" {
			continue // no list was taken from these
		}
		server := registered(t, file)
		for range 25 {
			s := randomSpec(rnd, v)
			s.Unknown = nil
			s, err := s.For(randomStart(rnd))
			require.NoError(t, err)
			args, err := s.Args()
			require.NoError(t, err)
			for _, arg := range args {
				flag, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
				require.True(t, server["flag "+flag], "%s: %s", name, arg)
				if flag == featureGates {
					gates, err := parseGates(value)
					require.NoError(t, err)
					for _, g := range gates {
						require.True(t, server["gate "+g.name], "%s: %s", name, arg)
					}
				}
			}
		}
	}
}
