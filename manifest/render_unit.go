package manifest

import (
	"path"
	"strings"
)

const (
	defaultProgram         = "/usr/local/bin/etcd"
	defaultEnvironmentFile = "/etc/etcd/etcd.env"
)

// UnitFile is the systemd unit that starts etcd with the settings that
// [Spec.Render] wrote as [Environment]. The bytes depend on Spec.Unit only.
//
//   - Type=notify: etcd says when it serves, which a learner does late. So the
//     start has no time limit (systemd's 90 s would stop a learner that restores
//     a large snapshot), and whoever starts it should not wait: systemctl start
//     --no-block.
//   - Restart=on-failure: a member that was removed exits with status 0 and must
//     stay down; there is no start limit, because a joiner may exit until its
//     peers know of it.
func (s Spec) UnitFile() ([]byte, error) {
	var faults Faults
	u := s.Unit
	u.Program = orElse(u.Program, defaultProgram)
	u.EnvironmentFile = orElse(u.EnvironmentFile, defaultEnvironmentFile)
	checkUnitWord("Unit.Program", u.Program, true, &faults)
	checkUnitWord("Unit.EnvironmentFile", u.EnvironmentFile, true, &faults)
	checkUnitWord("Unit.User", u.User, false, &faults)
	checkUnitWord("Unit.Group", u.Group, false, &faults)
	if err := faults.err(); err != nil {
		return nil, err
	}
	return []byte(u.text()), nil
}

func (u Unit) text() string {
	lines := []string{
		"[Unit]",
		"Description=etcd",
		"Documentation=https://etcd.io/docs/",
		"Wants=network-online.target",
		"After=network-online.target",
		"# A joiner exits until its peers know of it: never give up.",
		"StartLimitIntervalSec=0",
		"",
		"[Service]",
		"Type=notify",
		"# etcd says that it serves only when it has caught up, which may take hours.",
		"TimeoutStartSec=infinity",
		"EnvironmentFile=" + u.EnvironmentFile,
		"ExecStart=" + u.Program,
	}
	if u.User != "" {
		lines = append(lines, "User="+u.User)
	}
	if u.Group != "" {
		lines = append(lines, "Group="+u.Group)
	}
	lines = append(lines,
		"# A removed member exits with 0 and must stay down.",
		"Restart=on-failure",
		"RestartSec=5s",
		"LimitNOFILE=65536",
		"",
		"[Install]",
		"WantedBy=multi-user.target",
		"")
	return strings.Join(lines, "\n")
}

// checkUnitWord keeps to words that systemd takes as they are: no spaces,
// quotes, % or $.
func checkUnitWord(field, word string, isPath bool, faults *Faults) {
	switch {
	case strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@+-") != "":
		faults.add(field, "must be letters, digits and _./:@+- only, which systemd takes as they are, not %q", word)
	case isPath && (!path.IsAbs(word) || path.Clean(word) != word):
		faults.add(field, "must be an absolute path without . or .., not %q", word)
	}
}
