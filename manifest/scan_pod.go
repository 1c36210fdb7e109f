package manifest

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etcdjoin/etcdjoin/version"
)

// A podScan is a static pod with the etcd container and its flags found.
type podScan struct {
	*yamlDoc
	container *yaml.Node
	nodes     []*yaml.Node // the words of command and args
	words     []word
	program   int // how many words stand before the flags
	flags     []flagUse
	env       []envUse
	loose     []flagUse // flags whose value only the kubelet can tell
	port      string    // that the Spec's probes would ask
}

// envUse is a setting in the container's environment.
type envUse struct {
	found
	node *yaml.Node // its value
}

// scanPod finds the one etcd container of a pod. Errors are [*SourceError].
func scanPod(data []byte) (*podScan, error) {
	doc, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	p := &podScan{yamlDoc: doc}
	if err := p.checkKind(); err != nil {
		return nil, err
	}
	if err := checkPodTypes(doc.root); err != nil {
		return nil, err
	}
	if p.container, err = etcdContainer(doc.root); err != nil {
		return nil, err
	}
	if err := p.takeWords(); err != nil {
		return nil, err
	}
	if err := p.takeFlags(); err != nil {
		return nil, err
	}
	return p, p.takeEnv()
}

func (p *podScan) checkKind() error {
	root := followed(p.root)
	if root.Kind != yaml.MappingNode {
		return fault(root.Line, "is not a pod but %s", describe(root))
	}
	if kind := child(root, "kind"); scalar(kind) != "Pod" {
		return fault(lineOf(kind, root), "is not a pod: kind is %q", scalar(kind))
	}
	if v := child(root, "apiVersion"); scalar(v) != "v1" {
		return fault(lineOf(v, root), "is not a pod: apiVersion is %q, not v1", scalar(v))
	}
	return nil
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	if n.Tag == "!!null" {
		return "nothing"
	}
	return "a single value"
}

func lineOf(n, otherwise *yaml.Node) int {
	if n == nil {
		return otherwise.Line
	}
	return n.Line
}

// etcdContainer is the container that runs an etcd server: by its program, or,
// where none does, by its name, by the shell that starts etcd in it, or by etcd's
// settings among its variables.
func etcdContainer(root *yaml.Node) (*yaml.Node, error) {
	containers := child(child(root, "spec"), "containers")
	all := items(containers)
	if len(all) == 0 {
		return nil, fault(lineOf(containers, root), "is not a pod: it has no containers")
	}
	for _, isEtcd := range []func(*yaml.Node) bool{runsEtcd, isNamedEtcd, wrapsEtcd, hasSettings} {
		switch running := filter(all, isEtcd); len(running) {
		case 0:
		case 1:
			return running[0], nil
		default:
			return nil, fault(running[1].Line, "has two etcd containers, %q and %q, the first in line %d",
				scalar(child(running[0], "name")), scalar(child(running[1], "name")), running[0].Line)
		}
	}
	return nil, fault(containers.Line, "has no etcd container")
}

func isNamedEtcd(container *yaml.Node) bool { return scalar(child(container, "name")) == podName }

// wrapsEtcd: a shell, or a program that starts another, with etcd in its words.
func wrapsEtcd(container *yaml.Node) bool {
	words := commandWords(container)
	return len(words) > 1 && isWrapper(scalar(words[0])) && slices.ContainsFunc(words[1:], func(n *yaml.Node) bool {
		return etcdWord.MatchString(scalar(n))
	})
}

// etcdWord is etcd as a program of its own in a script: not etcdctl, nor a
// directory of that name.
var etcdWord = regexp.MustCompile(`(^|[\s;&|/])etcd($|[\s;&|])`)

func hasSettings(container *yaml.Node) bool {
	return len(commandWords(container)) == 0 && slices.ContainsFunc(items(child(container, "env")), isSettingVariable)
}

func isSettingVariable(item *yaml.Node) bool {
	f := foundVariable(scalar(child(item, "name")), "", 0)
	return f.rows != nil || f.isGates()
}

// isWrapper reports whether a program starts another one that its words name.
func isWrapper(program string) bool {
	return slices.Contains(wrappers, path.Base(program))
}

var wrappers = []string{
	"sh", "bash", "ash", "dash", "ksh", "zsh", "busybox", "env", "nice", "ionice", "nohup", "timeout", "taskset", "numactl", "setpriv",
	"chroot", "su-exec", "gosu", "tini", "dumb-init", "catatonit", "exec", "flock", "kube-log-runner", "go-runner", "systemd-cat",
}

func filter(nodes []*yaml.Node, keep func(*yaml.Node) bool) []*yaml.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *yaml.Node) bool { return !keep(n) })
}

// runsEtcd: etcd's other programs, its proxy and gateway, are no servers.
func runsEtcd(container *yaml.Node) bool {
	words := commandWords(container)
	if len(words) == 0 || path.Base(scalar(words[0])) != "etcd" {
		return false
	}
	return len(words) < 2 || !slices.Contains([]string{"gateway", "grpc-proxy"}, scalar(words[1]))
}

func commandWords(container *yaml.Node) []*yaml.Node {
	return append(slices.Clone(items(child(container, "command"))), items(child(container, "args"))...)
}

// takeWords is the command line as the container runtime puts it together.
func (p *podScan) takeWords() error {
	p.nodes = commandWords(p.container)
	if len(p.nodes) == 0 {
		if hasSettings(p.container) {
			return nil // the image starts etcd, and the variables tell it all
		}
		return fault(p.container.Line, "has no command: etcd would start with its image's settings")
	}
	for _, n := range p.nodes {
		if s := followed(n); s.Kind != yaml.ScalarNode {
			return fault(n.Line, "has %s in the command", describe(s))
		}
		p.words = append(p.words, word{scalar(n), n.Line})
	}
	if len(items(child(p.container, "command"))) > 0 || !strings.HasPrefix(p.words[0].text, "-") {
		p.program = 1
	}
	return p.checkProgram()
}

// checkProgram refuses what starts etcd in a way of its own.
func (p *podScan) checkProgram() error {
	if p.program == 0 {
		return nil
	}
	first := p.words[0]
	switch base := path.Base(first.text); {
	case base == "etcd":
		return nil
	case isWrapper(base):
		f := fault(first.line, "starts etcd through %s: only that can tell its words apart; name etcd itself as the command", first.text)
		f.Err = ErrShell
		return f
	default:
		return fault(first.line, "container %q starts %s, not etcd%s", scalar(child(p.container, "name")), first.text, unexpanded(first.text))
	}
}

// takeFlags reads the flags. What the kubelet expands, as $(POD_IP), stays apart.
func (p *podScan) takeFlags() error {
	flags, err := parseFlags(p.words[p.program:])
	if err != nil {
		return err
	}
	for _, f := range flags {
		f.at += p.program
		value, known := unescapeExpansion(f.value)
		f.value = value
		if known {
			p.flags = append(p.flags, f)
			continue
		}
		p.loose = append(p.loose, f)
	}
	return nil
}

// unescapeExpansion undoes escapeExpansion. It is not known where the text has a
// reference, which only the kubelet can look up.
func unescapeExpansion(text string) (value string, known bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '$' && i+1 < len(text) {
			switch {
			case text[i+1] == '$':
				i++
			case text[i+1] == '(' && strings.IndexByte(text[i:], ')') > 0:
				return text, false
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), true
}

// takeEnv reads the settings among the container's variables.
func (p *podScan) takeEnv() error {
	for _, item := range items(child(p.container, "env")) {
		name := scalar(child(item, "name"))
		if name == "ETCD_CONFIG_FILE" {
			return fault(item.Line, "%s makes etcd ignore all flags: read that file instead", name)
		}
		f := foundVariable(name, scalar(child(item, "value")), item.Line)
		if f.rows == nil && !f.isGates() {
			continue
		}
		value := child(item, "value")
		text, known := unescapeExpansion(f.value)
		f.value, f.none = text, text == "" && child(item, "valueFrom") == nil
		if value == nil && !f.none || !known {
			p.loose = append(p.loose, flagUse{found: f, at: -1})
			continue
		}
		p.env = append(p.env, envUse{f, value})
	}
	return checkTwice(append(p.found(), foundFlags(p.loose)...))
}

// version is the etcd that the pod runs, zero where its image does not tell or
// tells one that nobody here knows.
func (p *podScan) version() version.Version {
	if v := imageVersion(scalar(child(p.container, "image"))); inTables(v) {
		return v
	}
	return version.Version{}
}

// found is every setting of the container.
func (p *podScan) found() []found {
	all := foundFlags(p.flags)
	for _, e := range p.env {
		all = append(all, e.found)
	}
	return all
}

// foundVariable is a setting told by a variable.
func foundVariable(name, value string, line int) found {
	f := found{label: name, value: value, line: line}
	if rest, ok := strings.CutPrefix(name, "ETCD_"); ok {
		f.name = strings.ToLower(strings.ReplaceAll(rest, "_", "-"))
		if variable(f.name) == name {
			f.rows = byFlag[f.name]
		}
	}
	return f
}
