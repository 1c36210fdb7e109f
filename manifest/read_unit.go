package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/etcdjoin/etcdjoin/version"
)

// unitDirs are where systemd looks for units and their drop-ins: of two files of
// one name it takes the one that comes first here.
var unitDirs = []string{"etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"}

// ReadUnit reads the systemd service at file, as systemd starts etcd from it: its
// drop-ins (NAME.d/*.conf beside it and in systemd's directories), ExecStart with
// its quotes and variables, Environment, EnvironmentFile, and etcd's config file,
// where it is told of one. The root is the host's, os.DirFS("/") for this one; file
// is a path in it, with a slash in front or without.
//
// The Spec has the settings, and in Unit the program, the environment file if there
// is just one, user and group. What else the service says is not looked at. Every
// error is a [*SourceError]: also for what only systemd knows, such as %H, and for
// a shell in front of etcd.
func ReadUnit(root fs.FS, file string) (Reading, error) {
	u := unitScan{root: root, env: map[string]found{}}
	file = inRoot(file)
	if err := u.read(file); err != nil {
		return Reading{}, inFile(asSource(err), "/"+file)
	}
	r, err := u.reading()
	if err != nil {
		return Reading{}, inFile(asSource(err), "/"+file)
	}
	return r, nil
}

func inRoot(file string) string { return strings.TrimPrefix(path.Clean("/"+file), "/") }

// A unitScan is a service as systemd puts it together.
type unitScan struct {
	root        fs.FS
	exec        []string // ExecStart lines
	environment []string // Environment lines
	envFiles    []string
	user, group string
	env         map[string]found // by name
}

// read takes the unit and its drop-ins, later ones last.
func (u *unitScan) read(file string) error {
	if err := u.take(file); err != nil {
		return err
	}
	for _, dropIn := range u.dropIns(file) {
		if err := u.take(dropIn); err != nil {
			return inFile(asSource(err), "/"+dropIn)
		}
	}
	return nil
}

// dropIns are sorted by name, whichever directory they are in; of two with one name
// the first directory's counts. An empty one hides the others.
func (u *unitScan) dropIns(file string) []string {
	byName := map[string]string{}
	name := path.Base(file) + ".d"
	for _, dir := range append([]string{path.Dir(file)}, unitDirs...) {
		all, _ := fs.Glob(u.root, path.Join(dir, name, "*.conf"))
		for _, f := range all {
			if _, hidden := byName[path.Base(f)]; !hidden {
				byName[path.Base(f)] = f
			}
		}
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		files = append(files, byName[name])
	}
	return files
}

func (u *unitScan) take(file string) error {
	data, err := fs.ReadFile(u.root, file)
	if err != nil {
		return err
	}
	options, err := unit.DeserializeOptions(strings.NewReader(withoutComments(string(data))))
	if err != nil {
		return err
	}
	for _, o := range options {
		if o.Section == "Service" {
			u.option(o.Name, joinLines(o.Value))
		}
	}
	return nil
}

// withoutComments is a unit without them: systemd skips one between the lines of a
// value, at which the library would end the value, and does not continue one behind
// a backslash, which the library would.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); !strings.HasPrefix(t, "#") && !strings.HasPrefix(t, ";") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// joinLines is a value over several lines, each but the last ending in a backslash,
// as one.
func joinLines(value string) string {
	return strings.TrimSpace(strings.ReplaceAll(value, "\\\n", " "))
}

// option is one line; an empty value takes back what was listed before.
func (u *unitScan) option(name, value string) {
	lists := map[string]*[]string{"ExecStart": &u.exec, "Environment": &u.environment, "EnvironmentFile": &u.envFiles}
	list := lists[name]
	switch {
	case name == "User":
		u.user = value
	case name == "Group":
		u.group = value
	case list == nil:
	case value == "":
		*list = nil
	default:
		*list = append(*list, value)
	}
}

func (u *unitScan) reading() (Reading, error) {
	if err := u.takeEnvironment(); err != nil {
		return Reading{}, err
	}
	program, args, err := u.command()
	if err != nil {
		return Reading{}, err
	}
	r, err := u.settings(args)
	if err != nil {
		return Reading{}, err
	}
	r.Spec.Unit = Unit{Program: program, User: u.user, Group: u.group}
	if len(u.envFiles) == 1 {
		r.Spec.Unit.EnvironmentFile = strings.TrimPrefix(u.envFiles[0], "-")
	}
	return r, nil
}

// settings are the config file's alone, if there is one: etcd then ignores all
// flags and variables.
func (u *unitScan) settings(args []string) (Reading, error) {
	words := make([]word, len(args))
	for i, arg := range args {
		words[i] = word{arg, 0}
	}
	if file := u.configFile(words); file != "" {
		data, err := fs.ReadFile(u.root, inRoot(file))
		if err != nil {
			return Reading{}, err
		}
		return Read(ConfigFile, file, data)
	}
	flags, err := parseFlags(words)
	if err != nil {
		return Reading{}, err
	}
	all := foundFlags(flags)
	var r Reading
	for _, name := range slices.Sorted(maps.Keys(u.env)) {
		switch f := u.env[name]; {
		case f.rows != nil || f.isGates():
			all = append(all, f)
		case strings.HasPrefix(name, "ETCD_") && !slices.Contains(notFlags, name):
			r.unplaced(0, name, "is no setting known here: etcd warns of it and goes on")
		default:
			r.unplaced(0, name, "is no setting of etcd's")
		}
	}
	return r, r.place(all, version.Version{})
}

// configFile is what etcd is told of one, by flag or variable.
func (u *unitScan) configFile(words []word) string {
	for i, w := range words {
		name, value, with := strings.Cut(strings.TrimLeft(w.text, "-"), "=")
		switch {
		case name != "config-file" || !strings.HasPrefix(w.text, "-"):
		case with:
			return value
		case i+1 < len(words):
			return words[i+1].text
		}
	}
	return u.env["ETCD_CONFIG_FILE"].value
}

// takeEnvironment: what files say counts more than Environment=, and the last one
// most, wherever the lines stand.
func (u *unitScan) takeEnvironment() error {
	for _, line := range u.environment {
		words, err := unitWords(line)
		if err != nil {
			return fault(0, "Environment= %v", err)
		}
		for _, w := range words {
			text, err := w.withoutSpecifiers()
			name, value, ok := strings.Cut(text, "=")
			if err == nil && (!ok || !envName.MatchString(name)) {
				err = fmt.Errorf("must be NAME=value, not %q", name)
			}
			if err != nil {
				return fault(0, "Environment= %v", err)
			}
			u.env[name] = foundVariable(name, value, 0)
		}
	}
	for _, file := range u.envFiles {
		if err := u.takeFile(file); err != nil {
			return err
		}
	}
	return nil
}

// takeFile reads an environment file; with a dash in front it may be missing.
func (u *unitScan) takeFile(file string) error {
	name, optional := strings.CutPrefix(file, "-")
	if strings.ContainsAny(name, "%*?[") {
		return fault(0, "EnvironmentFile= has %q, which only systemd can look up", name)
	}
	data, err := fs.ReadFile(u.root, inRoot(name))
	if errors.Is(err, fs.ErrNotExist) && optional {
		return nil
	}
	if err != nil {
		return err
	}
	all, err := scanEnv(data)
	if err != nil {
		return inFile(err, name)
	}
	for _, a := range all {
		u.env[a.label] = a.found
	}
	return nil
}

// command is the program and its arguments, with the variables put in.
func (u *unitScan) command() (program string, args []string, err error) {
	if len(u.exec) != 1 {
		return "", nil, fault(0, "must have one ExecStart, not %d", len(u.exec))
	}
	line := u.exec[0]
	prefix := line[:len(line)-len(strings.TrimLeft(line, "@-:+!|"))]
	words, err := unitWords(line[len(prefix):])
	if err != nil {
		return "", nil, fault(0, "ExecStart= %v", err)
	}
	all, err := u.expand(words, !strings.Contains(prefix, ":"))
	switch {
	case err != nil:
		return "", nil, fault(0, "ExecStart= %v", err)
	case len(all) == 0:
		return "", nil, fault(0, "ExecStart= has no program")
	}
	program, args = all[0], all[1:]
	if strings.Contains(prefix, "@") && len(args) > 0 {
		args = args[1:] // the name that the process is given
	}
	return program, args, checkServiceProgram(program)
}

func checkServiceProgram(program string) error {
	switch base := path.Base(program); base {
	case "etcd":
		return nil
	case "sh", "bash", "ash", "dash", "busybox", "env":
		f := fault(0, "ExecStart= starts etcd through %s: only that can tell its words apart", program)
		f.Err = ErrShell
		return f
	default:
		return fault(0, "ExecStart= starts %s, not etcd", program)
	}
}

// expand puts variables in: $NAME alone becomes the words of its value, ${NAME} in
// a word stays one, a variable that is not set is empty, and $$ is a dollar.
func (u *unitScan) expand(words []unitWord, variables bool) ([]string, error) {
	var all []string
	for i, w := range words {
		text, err := w.withoutSpecifiers()
		switch name, alone := strings.CutPrefix(text, "$"); {
		case err != nil:
			return nil, err
		case text == ";" && !w.quoted:
			return nil, errors.New("has two commands")
		case !variables || i == 0 || w.literal:
			all = append(all, text)
		case alone && envName.MatchString(name):
			more, err := unitWords(u.env[name].value)
			if err != nil {
				return nil, err
			}
			for _, m := range more {
				all = append(all, m.text)
			}
		default:
			all = append(all, u.expandWithin(text))
		}
	}
	return all, nil
}

func (u *unitScan) expandWithin(text string) string {
	var b strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			break
		}
		text = rest
		if more, dollar := strings.CutPrefix(rest, "$"); dollar {
			b.WriteByte('$')
			text = more
			continue
		}
		name, more, braces := strings.Cut(strings.TrimPrefix(rest, "{"), "}")
		if braces && strings.HasPrefix(rest, "{") && envName.MatchString(name) {
			b.WriteString(u.env[name].value)
			text = more
			continue
		}
		b.WriteByte('$')
	}
	return b.String()
}
