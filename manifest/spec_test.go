package manifest

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/member"
	"github.com/etcdjoin/etcdjoin/version"
)

// minimal is the least an installer has to say.
func minimal(v string) Spec { return Spec{Version: version.MustParse(v)} }

var startPlain = member.StartSpec{
	Name:           "cp-2",
	PeerURLs:       []string{"http://10.0.0.2:2380"},
	InitialCluster: "cp-1=http://10.0.0.1:2380,cp-2=http://10.0.0.2:2380",
}

func settingsMap(t *testing.T, s Spec) map[string]string {
	t.Helper()
	all, err := s.Resolved()
	require.NoError(t, err)
	m := map[string]string{}
	for _, one := range all {
		m[one.Name] = one.Value
	}
	return m
}

func TestDefaults(t *testing.T) {
	s, err := minimal("3.7.3").For(startPlain)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"name":                           "cp-2",
		"data-dir":                       "/var/lib/etcd",
		"initial-advertise-peer-urls":    "http://10.0.0.2:2380",
		"listen-peer-urls":               "http://10.0.0.2:2380",
		"advertise-client-urls":          "http://10.0.0.2:2379",
		"listen-client-urls":             "http://127.0.0.1:2379,http://10.0.0.2:2379",
		"listen-metrics-urls":            "http://127.0.0.1:2381",
		"initial-cluster":                startPlain.InitialCluster,
		"initial-cluster-state":          "existing",
		"initial-corrupt-check":          "true",
		"snapshot-count":                 "10000",
		"watch-progress-notify-interval": "5s",
	}, settingsMap(t, s))

	s.Without = []string{"snapshot-count", "listen-metrics-urls"}
	s.Settings = map[string]string{"initial-corrupt-check": "false"}
	m := settingsMap(t, s)
	assert.NotContains(t, m, "snapshot-count")
	assert.NotContains(t, m, "listen-metrics-urls")
	assert.Equal(t, "false", m["initial-corrupt-check"])
}

func TestDefaultsFollowTheVersion(t *testing.T) {
	for v, want := range map[string]map[string]bool{
		"3.4.10": {"pre-vote": true, "watch-progress-notify-interval": false, "initial-corrupt-check": true},
		"3.4.11": {"pre-vote": true, "watch-progress-notify-interval": true},
		"3.5.0":  {"pre-vote": false, "watch-progress-notify-interval": true},
	} {
		s, err := minimal(v).For(startPlain)
		require.NoError(t, err)
		m := settingsMap(t, s)
		for name, has := range want {
			_, got := m[name]
			assert.Equal(t, has, got, "%s %s", v, name)
		}
	}
}

func TestEveryDefaultIsASettingWithAReason(t *testing.T) {
	for _, d := range Defaults() {
		require.NotNil(t, byName[d.Name], d.Name)
		normal, err := normalValue(d.Name, byName[d.Name][0].kind, d.Value)
		require.NoError(t, err)
		assert.Equal(t, normal, d.Value)
		assert.NotEmpty(t, d.Why)
	}
}

func TestIPv6(t *testing.T) {
	s, err := minimal("3.6.16").For(member.StartSpec{
		Name: "a", PeerURLs: []string{"http://[2001:db8::1]:2380"}, InitialCluster: "a=http://[2001:db8::1]:2380",
	})
	require.NoError(t, err)
	m := settingsMap(t, s)
	assert.Equal(t, "http://[::1]:2379,http://[2001:db8::1]:2379", m["listen-client-urls"])
	assert.Equal(t, "http://[::1]:2381", m["listen-metrics-urls"])
}

func TestForTakesTheStart(t *testing.T) {
	s := minimal("3.6.16")
	s.Name, s.AdvertisePeerURLs = "cp-2", startPlain.PeerURLs
	s.InitialCluster, s.InitialClusterState = "stale=http://10.0.0.9:2380", "new" // as read from an old file
	got, err := s.For(startPlain)
	require.NoError(t, err)
	assert.Equal(t, startPlain.InitialCluster, got.InitialCluster)
	assert.Equal(t, existing, got.InitialClusterState)

	s.Name, s.AdvertisePeerURLs = "other", []string{"http://10.0.0.3:2380"}
	_, err = s.For(startPlain)
	assert.ErrorContains(t, err, `Name: must be the member's, "cp-2", not "other"`)
	assert.ErrorContains(t, err, "AdvertisePeerURLs: must be the member's")
}

// TestFaults: one field wrong, one fault, and it names the field.
func TestFaults(t *testing.T) {
	setting := func(name, value string) func(*Spec) {
		return func(s *Spec) { s.Settings = map[string]string{name: value} }
	}
	for name, tc := range map[string]struct {
		change func(*Spec)
		field  string
		rule   string
	}{
		"no version":                {func(s *Spec) { s.Version = version.Version{} }, "Version", "must be set"},
		"a version before learners": {func(s *Spec) { s.Version = version.MustParse("3.3.27") }, "Version", "must be 3.4.0 or newer"},
		"a future version":          {func(s *Spec) { s.Version = version.MustParse("3.9.0") }, "Version", "TreatAs must say"},
		"a future version treated":  {func(s *Spec) { s.Version, s.TreatAs = version.MustParse("3.9.0"), version.MustParse("4.0.0") }, "TreatAs", "TreatAs must say"},
		"a name with a comma":       {func(s *Spec) { s.Name = "a,b" }, "Name", "must not contain"},
		"a name with a break":       {func(s *Spec) { s.Name = "a\nb" }, "Name", "control characters"},
		"not in the cluster":        {func(s *Spec) { s.Name = "x" }, "InitialCluster", `must have an entry for "x"`},
		"a state that is new":       {func(s *Spec) { s.InitialClusterState = "new" }, "InitialClusterState", `must be "existing"`},
		"a state that is none":      {func(s *Spec) { s.InitialClusterState = "old" }, "InitialClusterState", "must be one of"},
		"a melting cluster": {func(s *Spec) { s.InitialCluster += ",cp-2=http://10.0.0.3:2380" }, "InitialCluster",
			"merges entries of one name"},
		"another URL in the cluster": {func(s *Spec) { s.InitialCluster = "cp-2=http://10.0.0.3:2380" }, "InitialCluster", "etcd exits if they differ"},
		"one URL for two members":    {func(s *Spec) { s.InitialCluster += ",x=http://10.0.0.1:2380" }, "InitialCluster", "twice"},
		"a cluster without URLs":     {func(s *Spec) { s.InitialCluster = "cp-2" }, "InitialCluster", "cp-2"},
		"a URL without a port":       {func(s *Spec) { s.ListenPeerURLs = []string{"http://10.0.0.2"} }, "ListenPeerURLs", "port must be given"},
		"a URL twice":                {func(s *Spec) { s.ListenPeerURLs = []string{"http://10.0.0.2:1", "http://10.0.0.2:1"} }, "ListenPeerURLs", "twice"},
		"listening on a name":        {func(s *Spec) { s.ListenPeerURLs = []string{"http://cp-2:2380"} }, "ListenPeerURLs[0]", "not the name"},
		"advertising any address":    {func(s *Spec) { s.AdvertiseClientURLs = []string{"http://0.0.0.0:2379"} }, "AdvertiseClientURLs[0]", "others can dial"},
		"https without certificate":  {func(s *Spec) { s.ListenClientURLs = []string{"https://10.0.0.2:2379"} }, "ListenClientURLs[0]", "needs a certificate"},
		"a certificate without key":  {func(s *Spec) { s.PeerTLS.CertFile = "/a" }, "PeerTLS", "CertFile and KeyFile, or neither"},
		"half a client certificate": {func(s *Spec) { s.PeerTLS = TLS{CertFile: "/a", KeyFile: "/b", ClientCertFile: "/c"} }, "PeerTLS",
			"ClientCertFile and ClientKeyFile"},
		"auth without authority":   {func(s *Spec) { s.PeerTLS = TLS{CertFile: "/a", KeyFile: "/b", ClientCertAuth: true} }, "PeerTLS", "TrustedCAFile"},
		"log in the data":          {func(s *Spec) { s.WALDir = "/var/lib/etcd" }, "WALDir", "must not be DataDir"},
		"an unknown setting":       {setting("no-such", "1"), `Settings["no-such"]`, "put it into Unknown"},
		"a former name":            {setting("experimental-corrupt-check-time", "1s"), `Settings["experimental-corrupt-check-time"]`, "use corrupt-check-time"},
		"a gate's name":            {setting("InitialCorruptCheck", "true"), `Settings["InitialCorruptCheck"]`, "use initial-corrupt-check"},
		"an identity setting":      {setting("initial-cluster", "x"), `Settings["initial-cluster"]`, "OverrideIdentity"},
		"a shared metrics address": {setting("listen-metrics-urls", "http://10.0.0.9:2381"), `Settings["listen-metrics-urls"]`, "use MetricsURLs"},
		"a field's setting":        {setting("data-dir", "/x"), `Settings["data-dir"]`, "use DataDir"},
		"too new a setting":        {func(s *Spec) { s.Version = version.MustParse("3.5.35"); setting("max-learners", "2")(s) }, `Settings["max-learners"]`, "etcd 3.5.35 has no max-learners"},
		"too old a setting":        {setting("enable-v2", "false"), `Settings["enable-v2"]`, "etcd 3.7.3 has no enable-v2: it is in 3.4 to 3.5"},
		"a patch too old":          {func(s *Spec) { s.Version = version.MustParse("3.5.7"); setting("tls-min-version", "TLS1.2")(s) }, `Settings["tls-min-version"]`, "3.5.8+"},
		"a value too old":          {setting("logger", "capnslog"), `Settings["logger"]`, "for 3.4"},
		"not a number":             {setting("max-wals", "-1"), `Settings["max-wals"]`, "whole number"},
		"not a duration":           {setting("corrupt-check-time", "5"), `Settings["corrupt-check-time"]`, "duration"},
		"nothing":                  {setting("cors", ""), `Settings["cors"]`, "must not be empty"},
		"space":                    {setting("auth-token", " simple"), `Settings["auth-token"]`, "space around"},
		"not text":                 {setting("auth-token", "\xff"), `Settings["auth-token"]`, "UTF-8"},
		"a separator":              {setting("auth-token", "a\u2028b"), `Settings["auth-token"]`, "line breaks"},
		"no choice":                {setting("log-level", "loud"), `Settings["log-level"]`, "must be one of debug"},
		"an empty word":            {setting("host-whitelist", "a,,b"), `Settings["host-whitelist"]`, "empty entry"},
		"a bad gate":               {setting("feature-gates", "InitialCorruptCheck"), `Settings["feature-gates"]`, "Name=true"},
		"an unknown gate":          {setting("feature-gates", "New=true"), `Settings["feature-gates"]`, "knows no gate New"},
		"a gate and its setting": {func(s *Spec) {
			s.Settings = map[string]string{"feature-gates": "CompactHashCheck=true", "compact-hash-check-enabled": "true"}
		}, `Settings["compact-hash-check-enabled"]`, "also given as gate"},
		"a cluster of its own": {setting("force-new-cluster", "true"), `Settings["force-new-cluster"]`, "must not be set"},
		"discovery":            {setting("discovery-srv", "example.com"), `Settings["discovery-srv"]`, "two ways"},
		"a slow heartbeat":     {setting("heartbeat-interval", "500"), `Settings["election-timeout"]`, "at least 5"},
		"no heartbeat":         {setting("heartbeat-interval", "0"), `Settings["heartbeat-interval"]`, "over 0"},
		"a long election":      {setting("election-timeout", "60000"), `Settings["election-timeout"]`, "at most 50000"},
		"no time":              {setting("compact-hash-check-time", "0s"), `Settings["compact-hash-check-time"]`, "over 0"},
		"half a checkpoint":    {setting("enable-lease-checkpoint-persist", "true"), `Settings["enable-lease-checkpoint-persist"]`, "needs enable-lease-checkpoint"},
		"ciphers for TLS 1.3":  {func(s *Spec) { s.Settings = map[string]string{"tls-min-version": "TLS1.3", "cipher-suites": "X"} }, `Settings["cipher-suites"]`, "Go chooses"},
		"TLS upside down": {func(s *Spec) {
			s.Settings = map[string]string{"tls-min-version": "TLS1.3", "tls-max-version": "TLS1.2"}
		}, `Settings["tls-max-version"]`, "below"},
		"a known unknown":          {func(s *Spec) { s.Unknown = map[string]string{"max-learners": "1"} }, `Unknown["max-learners"]`, `use Settings["max-learners"]`},
		"an unknown with a field":  {func(s *Spec) { s.Unknown = map[string]string{"name": "1"} }, `Unknown["name"]`, "use Name"},
		"a config file":            {func(s *Spec) { s.Unknown = map[string]string{"config-file": "/x"} }, `Unknown["config-file"]`, "no setting"},
		"an unknown that is none":  {func(s *Spec) { s.Unknown = map[string]string{"A b": "1"} }, `Unknown["A b"]`, "a flag's name"},
		"an unknown without value": {func(s *Spec) { s.Unknown = map[string]string{"a": ""} }, `Unknown["a"]`, "must not be empty"},
		"a known unknown gate":     {func(s *Spec) { s.Unknown = map[string]string{"feature-gates": "CompactHashCheck=true"} }, `Unknown["feature-gates"]`, "is known"},
		"a gate before there were": {func(s *Spec) {
			s.Version = version.MustParse("3.5.35")
			s.Unknown = map[string]string{"feature-gates": "A=true"}
		}, `Unknown["feature-gates"]`, "came with 3.6.0"},
		"an unknown default": {func(s *Spec) { s.Without = []string{"no-such"} }, "Without", "no-such"},
		"a proxy":            {func(s *Spec) { s.Version = version.MustParse("3.5.35"); setting("proxy", "on")(s) }, `Settings["proxy"]`, "no member"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := minimal("3.7.3").For(startPlain)
			require.NoError(t, err)
			tc.change(&s)
			err = s.Validate()
			var faults Faults
			require.ErrorAs(t, err, &faults)
			require.Len(t, faults, 1, "%v", err)
			if name == "an unknown default" {
				assert.Contains(t, faults[0].Rule, "has such a setting")
			} else {
				assert.Contains(t, faults[0].Rule, tc.rule)
			}
			assert.Equal(t, tc.field, faults[0].Field)
			for _, form := range []Form{StaticPod, ConfigFile, Environment} {
				_, err := s.Render(form)
				assert.ErrorAs(t, err, new(*FieldError), form)
			}
			_, err = s.Args()
			assert.Error(t, err)
			_, err = s.Resolved()
			assert.Error(t, err)
		})
	}
}

func TestAllFaultsComeAtOnce(t *testing.T) {
	s := Spec{Name: "a,b", Settings: map[string]string{"max-wals": "x", "no-such": "1"}, PeerTLS: TLS{KeyFile: "/k"}}
	err := s.Validate()
	var faults Faults
	require.ErrorAs(t, err, &faults)
	var fields []string
	for _, f := range faults {
		fields = append(fields, f.Field)
	}
	assert.Equal(t, []string{
		"Version", `Settings["max-wals"]`, `Settings["no-such"]`, "AdvertisePeerURLs", "ListenPeerURLs", "AdvertiseClientURLs",
		"ListenClientURLs", "InitialCluster", "Name", "PeerTLS",
	}, fields)
	assert.Equal(t, len(faults)-1, strings.Count(err.Error(), "; "))
}

func TestFaultsAreFound(t *testing.T) {
	s, err := minimal("3.5.35").For(startPlain)
	require.NoError(t, err)
	s.Settings = map[string]string{"max-learners": "2"}
	require.ErrorIs(t, s.Validate(), ErrUnsupported)
	s = minimal("3.9.0")
	require.ErrorIs(t, s.Validate(), ErrUnknownVersion)
	require.False(t, errors.Is(s.Validate(), ErrUnsupported))
}

func TestTreatAs(t *testing.T) {
	s := minimal("3.9.0")
	s.TreatAs = version.MustParse("3.7.3")
	s.Settings = map[string]string{"corrupt-check-time": "1m"}
	s, err := s.For(startPlain)
	require.NoError(t, err)
	args, err := s.Args()
	require.NoError(t, err)
	assert.Contains(t, args, "--corrupt-check-time=1m")
	assert.Contains(t, args, "--feature-gates=InitialCorruptCheck=true")
}

func TestOverrideIdentity(t *testing.T) {
	s, err := minimal("3.7.3").For(startPlain)
	require.NoError(t, err)
	s.OverrideIdentity = true
	s.Settings = map[string]string{"listen-peer-urls": "http://0.0.0.0:2380", "listen-metrics-urls": "http://0.0.0.0:2381"}
	before := maps.Clone(s.Settings)
	m := settingsMap(t, s)
	assert.Equal(t, "http://0.0.0.0:2380", m["listen-peer-urls"])
	assert.Equal(t, "http://0.0.0.0:2381", m["listen-metrics-urls"])
	assert.Equal(t, before, s.Settings, "the caller's map stays as it is")
}

func TestConfigFileCannotSayEverything(t *testing.T) {
	s, err := minimal("3.7.3").For(startPlain)
	require.NoError(t, err)
	s.Settings = map[string]string{"raft-read-timeout": "10s"}
	_, err = s.Render(ConfigFile)
	require.ErrorIs(t, err, ErrUnsupported)
	assert.ErrorContains(t, err, `Settings["raft-read-timeout"]: the config file of etcd 3.7.3 has no raft-read-timeout`)
	_, err = s.Render(Environment)
	require.NoError(t, err)
}

func TestPodFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Spec)
		field  string
		rule   string
	}{
		"no image":            {func(s *Spec) { s.Pod.Image = "" }, "Pod.Image", "must be set"},
		"another image":       {func(s *Spec) { s.Pod.Image = "etcd:3.5.1" }, "Pod.Image", "is etcd 3.5.1 by its tag, but Version is 3.7.3"},
		"metrics on a socket": {func(s *Spec) { s.MetricsURLs = []string{"unix://m:1"} }, "MetricsURLs[0]", "http or https"},
		"metrics that ask for certificates": {func(s *Spec) {
			s.ClientTLS = TLS{CertFile: "/pki/a", KeyFile: "/pki/b", TrustedCAFile: "/pki/c"}
			s.MetricsURLs = []string{"https://10.0.0.2:2381"}
		}, "MetricsURLs[0]", "bring none"},
		"a relative directory":   {func(s *Spec) { s.DataDir = "data" }, "DataDir", "absolute"},
		"a file in the root":     {func(s *Spec) { s.ClientTLS = TLS{CertFile: "/a", KeyFile: "/pki/b"} }, "ClientTLS.CertFile", "root directory"},
		"a bad name":             {func(s *Spec) { s.Pod.Name = "Etcd" }, "Pod.Name", "small letters"},
		"a bad pull policy":      {func(s *Spec) { s.Pod.ImagePullPolicy = "Sometimes" }, "Pod.ImagePullPolicy", "must be"},
		"kubeadm's label":        {func(s *Spec) { s.Pod.Labels = map[string]string{"tier": "x"} }, `Pod.Labels["tier"]`, "kubeadm"},
		"a label of two lines":   {func(s *Spec) { s.Pod.Labels = map[string]string{"a": "b\nc"} }, `Pod.Labels["a"]`, "at most 63 letters"},
		"a bad quantity":         {func(s *Spec) { s.Pod.Limits = map[string]string{"cpu": "two"} }, `Pod.Limits["cpu"]`, "quantity"},
		"a wrong priority":       {func(s *Spec) { one := 1; s.Pod.Priority = &one }, "Pod.Priority", "2000001000"},
		"a bad volume":           {func(s *Spec) { s.Pod.Volumes = []Volume{{Name: "a b", HostPath: "/x"}} }, "Pod.Volumes[0].Name", "small letters"},
		"a relative volume":      {func(s *Spec) { s.Pod.Volumes = []Volume{{Name: "a", HostPath: "/x", MountPath: "y"}} }, "Pod.Volumes[0].MountPath", "absolute"},
		"two volumes in a place": {func(s *Spec) { s.Pod.Volumes = []Volume{{Name: "a", HostPath: "/x"}, {Name: "b", HostPath: "/x"}} }, "Pod.Volumes[1].MountPath", "another volume's"},
		"etcd's variable":        {func(s *Spec) { s.Pod.Env = []EnvVar{{"ETCD_NAME", "x"}} }, "Pod.Env[0].Name", "use Settings"},
		"a bad variable":         {func(s *Spec) { s.Pod.Env = []EnvVar{{"A-B", "x"}} }, "Pod.Env[0].Name", "letters"},
		"a variable of lines":    {func(s *Spec) { s.Pod.Env = []EnvVar{{"A", "x\ny"}} }, "Pod.Env[0].Value", "one line"},
		"a negative time":        {func(s *Spec) { s.Pod.StartupSeconds = -1 }, "Pod.StartupSeconds", "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			s := minimal("3.7.3")
			s.Pod.Image = "etcd:v3.7.1"
			s, err := s.For(startPlain)
			require.NoError(t, err)
			tc.change(&s)
			_, err = s.Render(StaticPod)
			var faults Faults
			require.ErrorAs(t, err, &faults)
			require.Len(t, faults, 1, "%v", err)
			assert.Equal(t, tc.field, faults[0].Field)
			assert.Contains(t, faults[0].Rule, tc.rule)
		})
	}
}

func TestUnitFaults(t *testing.T) {
	for field, u := range map[string]Unit{
		"Unit.Program":         {Program: "etcd"},
		"Unit.EnvironmentFile": {EnvironmentFile: "/etc/a b"},
		"Unit.User":            {User: "root %n"},
		"Unit.Group":           {Group: "a\nb"},
	} {
		_, err := Spec{Unit: u}.UnitFile()
		assert.ErrorContains(t, err, field+": must be")
	}
}

func TestSettingNames(t *testing.T) {
	names := SettingNames()
	assert.Contains(t, names, "max-learners")
	assert.Contains(t, names, "initial-corrupt-check")
	assert.NotContains(t, names, "name")
	for _, name := range names {
		assert.False(t, strings.HasPrefix(name, "experimental-"), name)
	}
}

func TestInitialCluster(t *testing.T) {
	c, err := BuildInitialCluster(
		InitialMember{Name: "b", PeerURLs: []string{"http://10.0.0.2:2380", "http://10.1.0.2:2380"}},
		[]InitialMember{{Name: "b", PeerURLs: []string{"http://10.0.0.1:2380"}}},
	)
	require.NoError(t, err)
	back, err := ParseInitialCluster(c.String())
	require.NoError(t, err)
	assert.Equal(t, c, back)
	assert.Len(t, back, 2)
	_, err = ParseInitialCluster("a=nonsense")
	assert.Error(t, err)
}
