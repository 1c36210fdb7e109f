package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/version"
)

// asKubelet is what the kubelet does with a static pod's file before it starts
// it (pkg/kubelet/config/common.go): decode, default, validate.
func asKubelet(data []byte) error {
	json, err := utilyaml.ToJSON(data)
	if err != nil {
		return err
	}
	obj, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), json)
	if err != nil {
		return err
	}
	pod, ok := obj.(*core.Pod)
	if !ok {
		return fmt.Errorf("it is no pod: %T", obj)
	}
	if pod.Name == "" {
		return fmt.Errorf("name is needed for the pod")
	}
	if pod.Namespace == "" {
		pod.Namespace = "default"
	}
	opts := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
	if errs := validation.ValidatePodCreate(pod, opts); len(errs) > 0 {
		return errs.ToAggregate()
	}
	return nil
}

func TestRenderedPodsAreWhatTheKubeletTakes(t *testing.T) {
	files, err := filepath.Glob("../manifest/testdata/render/*.pod.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NoError(t, asKubelet(data), file)
	}
}

// TestPodsReadRenderToWhatTheKubeletTakes: what the kubelet refuses to decode is
// refused by us, and what we read of a file renders to a pod that it takes,
// or does not render.
func TestPodsReadRenderToWhatTheKubeletTakes(t *testing.T) {
	files, err := filepath.Glob("../manifest/testdata/files/pod-*.txt")
	require.NoError(t, err)
	rendered := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, rest, _ := strings.Cut(string(text), "-- in --\n")
		in, _, _ := strings.Cut(rest, "-- out --\n")
		reading, err := manifest.Read(manifest.StaticPod, file, []byte(in))
		if why := asKubelet([]byte(in)); err == nil && why != nil {
			assert.NotContains(t, why.Error(), "json:", file)
		}
		if err != nil {
			continue
		}
		spec := reading.Spec
		if spec.Version.IsZero() {
			spec.Version = version.MustParse("3.6.16")
		}
		spec.Pod.Image = orElse(spec.Pod.Image, "etcd:"+spec.Version.String())
		spec.InitialClusterState = "existing"
		if data, err := spec.Render(manifest.StaticPod); err == nil {
			rendered++
			assert.NoError(t, asKubelet(data), "%s:\n%s", file, data)
		}
	}
	assert.Greater(t, rendered, 15)
}

func orElse(v, otherwise string) string {
	if v == "" {
		return otherwise
	}
	return v
}

// TestOddPodsAreRefusedAsByTheKubelet: each of these pods is a fault of the Spec
// exactly if the kubelet refuses it; those that we refuse beyond that say why.
func TestOddPodsAreRefusedAsByTheKubelet(t *testing.T) {
	long := strings.Repeat("a", 64)
	priority := func(n int) func(*manifest.Pod) {
		return func(p *manifest.Pod) { p.PriorityClass, p.Priority = "high", &n }
	}
	volumes := func(all ...manifest.Volume) func(*manifest.Pod) {
		return func(p *manifest.Pod) { p.Volumes = all }
	}
	for name, tc := range map[string]struct {
		set    func(*manifest.Pod)
		beyond string
	}{
		"as it is":                        {func(*manifest.Pod) {}, ""},
		"a name with dots":                {func(p *manifest.Pod) { p.Name = "etcd.node-1.example" }, ""},
		"a long name":                     {func(p *manifest.Pod) { p.Name = strings.Repeat("a", 253) }, ""},
		"a name that is too long":         {func(p *manifest.Pod) { p.Name = strings.Repeat("a", 254) }, ""},
		"a name with a capital":           {func(p *manifest.Pod) { p.Name = "Etcd" }, ""},
		"a name that ends in a dot":       {func(p *manifest.Pod) { p.Name = "etcd." }, ""},
		"a namespace with dots":           {func(p *manifest.Pod) { p.Namespace = "a.b" }, ""},
		"a label with a space":            {func(p *manifest.Pod) { p.Labels = map[string]string{"a": "b c"} }, ""},
		"an empty label":                  {func(p *manifest.Pod) { p.Labels = map[string]string{"a": ""} }, ""},
		"a long label":                    {func(p *manifest.Pod) { p.Labels = map[string]string{"a": long} }, ""},
		"a label's key with a prefix":     {func(p *manifest.Pod) { p.Labels = map[string]string{"example.com/a": "b"} }, ""},
		"a label's key with two":          {func(p *manifest.Pod) { p.Labels = map[string]string{"a/b/c": "b"} }, ""},
		"a label's key with a space":      {func(p *manifest.Pod) { p.Labels = map[string]string{"a b": "b"} }, ""},
		"an annotation with spaces":       {func(p *manifest.Pod) { p.Annotations = map[string]string{"a": "b c, {d}"} }, ""},
		"an annotation's key":             {func(p *manifest.Pod) { p.Annotations = map[string]string{"a b": "c"} }, ""},
		"an annotation's key in capitals": {func(p *manifest.Pod) { p.Annotations = map[string]string{"Example.com/A": "c"} }, ""},
		"more requested than allowed": {func(p *manifest.Pod) {
			p.Requests, p.Limits = map[string]string{"memory": "2Gi"}, map[string]string{"memory": "1Gi"}
		}, ""},
		"the default above a limit": {func(p *manifest.Pod) { p.Limits = map[string]string{"memory": "50Mi"} }, ""},
		"as much as allowed": {func(p *manifest.Pod) {
			p.Requests, p.Limits = map[string]string{"memory": "1024Mi"}, map[string]string{"memory": "1Gi"}
		}, ""},
		"a resource nobody knows": {func(p *manifest.Pod) { p.Requests = map[string]string{"memry": "1Gi"} }, ""},
		"a resource with a prefix": {func(p *manifest.Pod) {
			p.Requests, p.Limits = map[string]string{"example.com/x": "1"}, map[string]string{"example.com/x": "1"}
		}, ""},
		"half a byte":                  {func(p *manifest.Pod) { p.Requests = map[string]string{"memory": "0.5"} }, ""},
		"a quantity with a sign":       {func(p *manifest.Pod) { p.Requests = map[string]string{"cpu": "-1"} }, ""},
		"a high priority":              {priority(1000000000), ""},
		"too high a priority":          {priority(1 << 31), ""},
		"a class with a capital":       {func(p *manifest.Pod) { p.PriorityClass = "High" }, ""},
		"a pull policy":                {func(p *manifest.Pod) { p.ImagePullPolicy = "Sometimes" }, ""},
		"a variable with a dash":       {func(p *manifest.Pod) { p.Env = []manifest.EnvVar{{Name: "A-B", Value: "c"}} }, "a shell could not say it"},
		"a variable that etcd ignores": {func(p *manifest.Pod) { p.Env = []manifest.EnvVar{{Name: "ETCD_UNSUPPORTED_ARCH", Value: "arm64"}} }, ""},
		"a variable of etcd's":         {func(p *manifest.Pod) { p.Env = []manifest.EnvVar{{Name: "ETCD_NAME", Value: "a"}} }, "etcd exits"},
		"one volume mounted twice":     {volumes(manifest.Volume{Name: "a", HostPath: "/a"}, manifest.Volume{Name: "a", HostPath: "/a", MountPath: "/b"}), ""},
		"two volumes of one name":      {volumes(manifest.Volume{Name: "a", HostPath: "/a"}, manifest.Volume{Name: "a", HostPath: "/b"}), ""},
		"two volumes at one path":      {volumes(manifest.Volume{Name: "a", HostPath: "/a"}, manifest.Volume{Name: "b", HostPath: "/b", MountPath: "/a"}), ""},
		"a path with a slash":          {volumes(manifest.Volume{Name: "a", HostPath: "/a/", MountPath: "/b/"}), ""},
		"one path, with a slash":       {volumes(manifest.Volume{Name: "a", HostPath: "/a"}, manifest.Volume{Name: "b", HostPath: "/b", MountPath: "/a/"}), "the kubelet compares texts, and mounts one over the other"},
		"a path with a colon":          {volumes(manifest.Volume{Name: "a", HostPath: "/a:b"}), ""},
		"a path with dots":             {volumes(manifest.Volume{Name: "a", HostPath: "/a/../b"}), ""},
		"a path that is relative":      {volumes(manifest.Volume{Name: "a", HostPath: "a"}), "the kubelet takes it for one in its own directory"},
		"the data's own volume":        {volumes(manifest.Volume{Name: "own", HostPath: "/mnt/etcd", MountPath: "/var/lib/etcd"}), ""},
		"the data's parent":            {volumes(manifest.Volume{Name: "own", HostPath: "/mnt", MountPath: "/var/lib"}), ""},
		"the data's name elsewhere":    {volumes(manifest.Volume{Name: "etcd-data", HostPath: "/mnt", MountPath: "/elsewhere"}), "the data would be gone with the container"},
		"the certificates' name":       {volumes(manifest.Volume{Name: "etcd-certs", HostPath: "/mnt"}), ""},
		"no type":                      {volumes(manifest.Volume{Name: "a", HostPath: "/a", Type: manifest.UntypedHostPath}), ""},
		"a type nobody knows":          {volumes(manifest.Volume{Name: "a", HostPath: "/a", Type: "Folder"}), ""},
		"a volume's name with a dot":   {volumes(manifest.Volume{Name: "a.b", HostPath: "/a"}), ""},
		"an image with a space":        {func(p *manifest.Pod) { p.Image = "etcd: 3.7.3" }, ""},
		"a start of years":             {func(p *manifest.Pod) { p.StartupSeconds = 1 << 40 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specFor(t, nodes["IPv4"], "registry.k8s.io/etcd:3.7.3-0")
			tc.set(&spec.Pod)
			data, err := spec.Render(manifest.StaticPod)
			if err != nil && tc.beyond != "" {
				t.Logf("%v: %s", err, tc.beyond)
				return
			}
			assert.Empty(t, tc.beyond, "it is refused no more")
			if err == nil {
				assert.NoError(t, asKubelet(data), "%s", data)
				return
			}
			t.Log(err)
			t.Log("the kubelet is not asked: it would have to be rendered")
		})
	}
}
