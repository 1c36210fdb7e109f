package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etcdjoin/etcdjoin/version"
)

// pod migrates what a static pod has beside the settings.
func (m *migrator) pod(e *podEdit, to Migration) error {
	if err := m.image(e, to); err != nil {
		return err
	}
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if err := m.probe(e, name, name == "readinessProbe"); err != nil {
			return err
		}
	}
	return nil
}

// image changes the image, which must be the version's in the end: another etcd
// that starts with these settings exits, or does not do what they say.
func (m *migrator) image(e *podEdit, to Migration) error {
	n := child(e.scan.container, "image")
	line, old := lineOf(n, e.scan.container), scalar(n)
	is := imageVersion(orElse(to.Image, old))
	switch {
	case to.KeepImage && to.Image != "":
		return fault(line, "cannot have its image kept and replaced: the migration needs Image or KeepImage")
	case to.KeepImage:
		return nil
	case to.Image == "" && (is.IsZero() || !toldAlike(is, m.to)):
		return fault(line, "has image %q, which would start with the settings of etcd %s: the migration needs an Image, or KeepImage", old, m.to)
	case !is.IsZero() && !toldAlike(is, m.to):
		return fault(line, "cannot have image %s for etcd %s%s", to.Image, m.to, firstDifference(is, m.to))
	case to.Image == "" || to.Image == old:
		return nil
	}
	m.changes = append(m.changes, Change{Kind: Reimaged, Setting: "image", From: old, To: to.Image, Why: "the etcd that will run"})
	return e.setImage(to.Image)
}

// probe has a probe ask what the version answers: /livez and /readyz came with
// patches. The other way round nothing is to be done, for newer versions answer
// /health, too.
func (m *migrator) probe(e *podEdit, name string, ready bool) error {
	probe := followed(child(e.scan.container, name))
	n := child(child(probe, "httpGet"), "path")
	path := scalar(n)
	if !asksNewPath(path) || m.to.Can(version.LivezReadyz) {
		return nil
	}
	now := livePath(m.to)
	if ready {
		now = readyPath(m.to)
	}
	if now == "" {
		return m.probePort(e, name, path, probe)
	}
	m.noteProbe(name, path, now)
	return e.followTo(n, now)
}

// asksNewPath: also one check of several, and what is left out of them.
func asksNewPath(path string) bool {
	for _, p := range []string{"/livez", "/readyz"} {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/' || rest[0] == '?') {
			return true
		}
	}
	return false
}

func (m *migrator) noteProbe(name, from, to string) {
	m.changes = append(m.changes, Change{Kind: Probed, Setting: name, From: from, To: to, Why: "etcd " + m.to.String() + " does not answer " + from})
}

// probePort has a probe ask whether the peer port is open, where no path of the
// version is decided by the process alone.
func (m *migrator) probePort(e *podEdit, name, path string, probe *yaml.Node) error {
	u := firstURL(splitList(e.value("listen-peer-urls")))
	if u == nil {
		return fault(probe.Line, "%s asks %s, which etcd %s does not answer, and there is no listen-peer-urls whose port it could ask: edit it by hand", name, path, m.to)
	}
	at := targetAt(u, "")
	m.noteProbe(name, path, "port "+strconv.Itoa(at.port))
	host := doubleQuoted(at.host)
	text := `tcpSocket: {"host": ` + host + `, "port": ` + strconv.Itoa(at.port) + "}"
	if e.isJSON {
		text = `"tcpSocket": {"host": ` + host + `, "port": ` + strconv.Itoa(at.port) + "}"
	}
	e.touched[probe] = true
	return e.replaceField(probe, "httpGet", text, name)
}
