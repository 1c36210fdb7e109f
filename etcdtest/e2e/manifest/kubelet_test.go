package manifest_test

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A startedPod is what the kubelet starts etcd's container from.
type startedPod struct {
	Kind string
	Spec struct {
		Containers []struct {
			Name          string
			Command, Args []string
			Env           []struct{ Name, Value string }
		}
	}
}

// asKubelet is the command line and the variables of a pod's etcd, as the
// kubelet's own YAML reader has them, $(NAME) expanded.
func asKubelet(data []byte) (question, error) {
	var pod startedPod
	plain, err := yaml.YAMLToJSON(data) // without a target: the kubelet makes no texts of numbers
	if err == nil {
		err = json.Unmarshal(plain, &pod)
	}
	if err != nil {
		return question{}, err
	}
	for _, c := range pod.Spec.Containers {
		words := append(c.Command, c.Args...)
		bySettings := len(words) == 0 && len(c.Env) > 0
		if c.Name != "etcd" && !bySettings && (len(words) == 0 || path.Base(words[0]) != "etcd") {
			continue
		}
		if len(c.Command) > 0 && path.Base(words[0]) != "etcd" {
			return question{}, fmt.Errorf("it starts %s", words[0])
		}
		var q question
		env := map[string]string{}
		for _, v := range c.Env {
			env[v.Name] = expanded(v.Value, env)
			q.Env = append(q.Env, v.Name+"="+env[v.Name])
		}
		for i, word := range words {
			if i > 0 || strings.HasPrefix(word, "-") {
				q.Args = append(q.Args, expanded(word, env))
			}
		}
		return q, nil
	}
	return question{}, fmt.Errorf("no container starts etcd")
}

var reference = regexp.MustCompile(`\$\$|\$\([^)]*\)`)

func expanded(text string, env map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, ok := env[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}

// asSystemd is an environment file's variables: ours reads it by systemd's rules,
// which the golden of package manifest and a real systemd in CI hold it to; here
// the shell reads what both take alike.
func asSystemd(t *testing.T, data []byte) []string {
	t.Helper()
	var env []string
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(name, "#") && !strings.HasPrefix(name, ";") {
			env = append(env, strings.TrimSpace(name)+"="+unquoted(strings.TrimSpace(value)))
		}
	}
	return env
}

func unquoted(value string) string {
	if len(value) > 1 && value[0] == value[len(value)-1] && (value[0] == '"' || value[0] == '\'') {
		value = value[1 : len(value)-1]
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, `$`, "\\`", "`").Replace(value)
}
