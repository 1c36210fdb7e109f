package manifest

import (
	"maps"
	"slices"
	"strings"
)

const environmentHeader = "# etcd's settings. Read by systemd (EnvironmentFile=).\n"

// environment is one line for each setting, sorted. Unknown variables only make
// etcd warn, but a variable beside the same flag makes it exit.
func (r *resolved) environment() []byte {
	flags := r.flags()
	lines := make([]string, 0, len(flags))
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		lines = append(lines, variable(name)+"="+envQuoted(flags[name])+"\n")
	}
	slices.Sort(lines)
	return []byte(environmentHeader + strings.Join(lines, ""))
}

// envQuoted is a value as systemd reads it (systemd.exec, EnvironmentFile=): in
// double quotes a backslash stands before what would end or change the text.
// Nothing is expanded there. Plain values need no quotes, so that other readers
// of such files take them too.
func envQuoted(value string) string {
	if strings.Trim(value, envPlain) == "" {
		return value
	}
	return `"` + envEscape.Replace(value) + `"`
}

const envPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,@%+-[]*"

var envEscape = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "`", "\\`", `$`, `\$`)
