package manifest

// A Form is a file that etcd is started from. [Spec.Render] writes it, [Read]
// reads it, [Edit] and [Migrate] change one that is there.
type Form string

// The forms. A fourth, the argument list, is no file: [Spec.Args].
const (
	StaticPod   Form = "static pod"  // a Kubernetes Pod in YAML (or JSON), started by the kubelet
	ConfigFile  Form = "config file" // for etcd's --config-file
	Environment Form = "environment" // ETCD_NAME=value lines, as systemd's EnvironmentFile takes them
)

// Render is the file that starts etcd as this Spec says: the same Spec, the same
// bytes. Every form tells etcd the same, or there is an error: a setting that
// the version cannot be told in this form is one, naming both.
func (s Spec) Render(form Form) ([]byte, error) {
	r, faults := s.resolve()
	switch form {
	case StaticPod:
		r.checkPod(&faults)
	case ConfigFile:
		r.checkFile(&faults)
	case Environment:
	default:
		faults.add("form", "must be StaticPod, ConfigFile or Environment, not %q", form)
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	switch form {
	case StaticPod:
		return r.patched(podTree(&r).bytes())
	case ConfigFile:
		return r.fileTree().bytes(), nil
	}
	return r.environment(), nil
}
