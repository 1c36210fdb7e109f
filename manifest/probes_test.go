package manifest

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/etcdjoin/etcdjoin/version"
)

// kubeletProbe is a probe as the kubelet runs it: one failure more than allowed
// in a row restarts the container (pkg/kubelet/prober, worker.go).
type kubeletProbe struct {
	path                                     string // "" is TCP
	delay, period, timeout, failureThreshold int
}

// etcdAt is what a path answers so many seconds after the container started.
type etcdAt func(path string, second int) bool

// kubelet runs a container's probes for so many seconds and counts restarts. As
// the kubelet does, it asks nothing but the startup probe until that succeeded
// once, and starts over after a restart.
func kubelet(startup, liveness kubeletProbe, answers etcdAt, seconds int) (restarts int) {
	began, started := 0, false
	failures := map[string]int{}
	for now := 0; now < seconds; now++ {
		age := now - began
		name, probe := "startup", startup
		if started {
			name, probe = "liveness", liveness
		}
		if age < probe.delay || (age-probe.delay)%probe.period != 0 {
			continue
		}
		if answers(probe.path, age) {
			failures[name] = 0
			started = true
			continue
		}
		if failures[name]++; failures[name] >= probe.failureThreshold {
			restarts++
			began, started, failures = now, false, map[string]int{}
		}
	}
	return restarts
}

// probesOf reads the probes out of a pod.
func probesOf(t *testing.T, data []byte) (startup, liveness kubeletProbe) {
	t.Helper()
	p, err := scanPod(data)
	require.NoError(t, err)
	return probeOf(child(p.container, "startupProbe")), probeOf(child(p.container, "livenessProbe"))
}

func probeOf(n *yaml.Node) kubeletProbe {
	number := func(key string) int {
		v, _ := strconv.Atoi(scalar(child(n, key)))
		return v
	}
	return kubeletProbe{
		path:  scalar(child(child(n, "httpGet"), "path")),
		delay: number("initialDelaySeconds"), period: number("periodSeconds"),
		timeout: number("timeoutSeconds"), failureThreshold: number("failureThreshold"),
	}
}

// learner is an etcd that opens its ports after so many seconds and stays a
// learner: /readyz fails on it from 3.5.19 on. A linearizable /health hangs while
// it catches up; the serializable one and /livez answer.
func learner(opens int) etcdAt {
	return func(path string, second int) bool {
		switch path {
		case "/readyz", "/health", "/health?exclude=NOSPACE":
			return false
		}
		return second >= opens
	}
}

// kubeadmProbes are kubeadm's since 1.31 (util/staticpod, 4 minutes by default).
var kubeadmStartup = kubeletProbe{path: "/readyz", delay: 10, period: 10, timeout: 15, failureThreshold: 24}
var kubeadmLiveness = kubeletProbe{path: "/livez", delay: 10, period: 10, timeout: 15, failureThreshold: 8}

func TestALearnerIsNotRestarted(t *testing.T) {
	const hour = 3600
	for _, v := range everyVersion {
		s := kubeadmLike(v)
		s, err := s.For(startCP2)
		require.NoError(t, err)
		data, err := s.Render(StaticPod)
		require.NoError(t, err)
		startup, liveness := probesOf(t, data)
		for opens, what := range map[int]string{2: "at once", 15 * 60: "after a quarter of an hour", 30 * 60: "after half an hour"} {
			assert.Zero(t, kubelet(startup, liveness, learner(opens), hour), "%s, its ports open %s", v, what)
		}
		assert.Zero(t, kubelet(startup, liveness, learner(2), 24*hour), v)
	}
	assert.Equal(t, 14, kubelet(kubeadmStartup, kubeadmLiveness, learner(2), hour), "kubeadm's numbers restart it every four minutes")
}

// TestADeadProcessIsRestarted: patience with a learner is not patience with a
// process that hangs after it has started.
func TestADeadProcessIsRestarted(t *testing.T) {
	s := kubeadmLike("3.7.3")
	s, err := s.For(startCP2)
	require.NoError(t, err)
	data, err := s.Render(StaticPod)
	require.NoError(t, err)
	startup, liveness := probesOf(t, data)
	hangs := func(_ string, second int) bool { return second > 5 && second < 600 }
	assert.Positive(t, kubelet(startup, liveness, hangs, 900))
}

func TestStartupSeconds(t *testing.T) {
	s := kubeadmLike("3.7.3")
	s.Pod.StartupSeconds = 95
	s, err := s.For(startCP2)
	require.NoError(t, err)
	data, err := s.Render(StaticPod)
	require.NoError(t, err)
	startup, _ := probesOf(t, data)
	assert.Equal(t, 10, startup.failureThreshold)

	slow := learner(3 * 3600)
	for within, restarted := range map[int]bool{0: true, 3 * 3600: false} {
		s.Pod.StartupSeconds = within
		data, err := s.Render(StaticPod)
		require.NoError(t, err)
		startup, liveness := probesOf(t, data)
		assert.Equal(t, restarted, kubelet(startup, liveness, slow, 4*3600) > 0, "a start that takes three hours, within %d", within)
	}
}

func TestProbesByVersion(t *testing.T) {
	for v, want := range map[string][2]string{
		"3.4.13":        {"", "/health"},
		"3.4.16":        {"", "/health?exclude=NOSPACE"},
		"3.4.29":        {"/livez", "/readyz"},
		"3.5.2":         {"", "/health?exclude=NOSPACE"},
		"3.5.3":         {"/health?exclude=NOSPACE&exclude=CORRUPT&serializable=true", "/health?exclude=NOSPACE"},
		"3.5.10":        {"/health?exclude=NOSPACE&exclude=CORRUPT&serializable=true", "/health?exclude=NOSPACE"},
		"3.5.11":        {"/livez", "/readyz"},
		"3.6.0":         {"/livez", "/readyz"},
		"3.8.0-alpha.0": {"/livez", "/readyz"},
	} {
		assert.Equal(t, want, [2]string{livePath(version.MustParse(v)), readyPath(version.MustParse(v))}, v)
	}
}

func TestProbesFollowTheMetricsURL(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Spec)
		want   target // of liveness
	}{
		"default":          {func(*Spec) {}, target{"127.0.0.1", "HTTP", "/livez", 2381}},
		"another port":     {func(s *Spec) { s.MetricsURLs = []string{"http://10.0.0.2:9000", "http://127.0.0.1:2381"} }, target{"10.0.0.2", "HTTP", "/livez", 9000}},
		"any address":      {func(s *Spec) { s.MetricsURLs = []string{"http://0.0.0.0:2381"} }, target{"127.0.0.1", "HTTP", "/livez", 2381}},
		"any IPv6 address": {func(s *Spec) { s.MetricsURLs = []string{"http://[::]:2381"} }, target{"::1", "HTTP", "/livez", 2381}},
		"https":            {func(s *Spec) { s.MetricsURLs = []string{"https://10.0.0.2:2381"} }, target{"10.0.0.2", "HTTPS", "/livez", 2381}},
		"no metrics":       {func(s *Spec) { s.Without = []string{"listen-metrics-urls"} }, target{"10.0.0.2", "", "", 2380}},
		"no metrics, all peers": {func(s *Spec) {
			s.Without, s.ListenPeerURLs = []string{"listen-metrics-urls"}, []string{"http://0.0.0.0:2390"}
		}, target{"127.0.0.1", "", "", 2390}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := minimal("3.7.3").For(startPlain)
			require.NoError(t, err)
			tc.change(&s)
			r, _ := s.resolve()
			assert.Equal(t, tc.want, r.probesFor().live)
			pod := podTree(&r).bytes()
			assert.Equal(t, tc.want.path == "", !bytes.Contains(pod, []byte("readinessProbe")))
		})
	}
}
