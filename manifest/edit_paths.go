package manifest

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A mount is one of the etcd container, with the volume behind it.
type mount struct {
	at       string // cleaned
	name     string
	readOnly bool
	path     *yaml.Node // where it is mounted
	host     *yaml.Node // the host's path; nil for another kind of volume
}

func (e *podEdit) mounts() []mount {
	host := map[string]*yaml.Node{}
	for _, v := range items(child(child(e.root, "spec"), "volumes")) {
		host[scalar(child(v, "name"))] = child(child(v, "hostPath"), "path")
	}
	var all []mount
	for _, m := range items(child(e.scan.container, "volumeMounts")) {
		name, at := scalar(child(m, "name")), child(m, "mountPath")
		all = append(all, mount{path.Clean(scalar(at)), name, isTrue(child(m, "readOnly")), at, host[name]})
	}
	return all
}

func innermostMount(all []mount, p string) *mount {
	var best *mount
	for i := range all {
		if m := &all[i]; path.IsAbs(p) && below(path.Clean(p), m.at) && (best == nil || len(m.at) > len(best.at)) {
			best = m
		}
	}
	return best
}

// pathSettings are what must be on the host: what etcd writes, and the files it
// is given.
var pathSettings = func() []string {
	names := []string{"data-dir", "wal-dir", "client-crl-file", "peer-crl-file"}
	for _, f := range fields {
		if strings.HasSuffix(f.name, "-file") {
			names = append(names, f.name)
		}
	}
	return names
}()

// followPaths has the volume of a directory move with it, and refuses a path
// that would be in no volume where the former one was: etcd would write into the
// container's own layer, which is gone at its next start.
func (e *podEdit) followPaths(values map[string]string) error {
	for _, name := range pathSettings {
		now, given := values[name]
		if !given || now == e.value(name) {
			continue
		}
		if err := e.followPath(name, now, values); err != nil {
			return err
		}
	}
	return nil
}

func (e *podEdit) followPath(name, now string, values map[string]string) error {
	all := e.mounts()
	writes := strings.HasSuffix(name, "-dir")
	if m := innermostMount(all, now); m != nil {
		if writes && m.readOnly {
			return fault(m.path.Line, "mounts %s read-only, where %s would be", m.at, name)
		}
		return nil
	}
	former := e.value(name)
	if former == "" && name == "wal-dir" {
		former = e.value("data-dir")
	}
	m := innermostMount(all, former)
	switch {
	case m == nil && (former != "" || len(all) == 0):
		return nil // it is no worse than before
	case m != nil && writes && former == e.value(name) && e.movable(*m, name, former, values):
		return e.moveVolume(*m, now)
	}
	return fault(e.scan.container.Line, "has no volume for %s %s, which would be in the container's own layer and gone with it: mount one first", name, now)
}

// movable: the volume is this directory, at the same path on the host, and
// nobody else's.
func (e *podEdit) movable(m mount, name, former string, values map[string]string) bool {
	if m.host == nil || m.at != path.Clean(former) || path.Clean(scalar(m.host)) != m.at || e.timesMounted(m.name) != 1 {
		return false
	}
	return !slices.ContainsFunc(pathSettings, func(other string) bool {
		p := orElse(values[other], e.value(other))
		return other != name && path.IsAbs(p) && below(path.Clean(p), m.at)
	})
}

func (e *podEdit) timesMounted(volume string) int {
	n := 0
	for _, kind := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for _, c := range items(child(child(e.root, "spec"), kind)) {
			for _, m := range items(child(c, "volumeMounts")) {
				if scalar(child(m, "name")) == volume {
					n++
				}
			}
		}
	}
	return n
}

func (e *podEdit) moveVolume(m mount, now string) error {
	for _, n := range []*yaml.Node{m.path, m.host} {
		e.touched[n] = true
		if err := e.setScalar(n, path.Clean(now), "the volume of "+m.at); err != nil {
			return err
		}
	}
	return nil
}
