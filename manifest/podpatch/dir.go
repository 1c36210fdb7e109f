package podpatch

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// fileName is kubeadm's rule: the target, whatever but a dot and a plus, perhaps a
// plus and the type, and in the end .yaml or .json.
var fileName = regexp.MustCompile(`^etcd[^.+\n]*(\+(strategic|merge|json)?)?.*\.(yaml|json)$`)

// Dir reads the patches for etcd in a directory of kubeadm's --patches: files named
// etcd[SUFFIX][+strategic|+merge|+json].yaml or .json, strategic if they do not say,
// in the order of their names, several documents in one or not. Files for other
// targets and of other names are left alone, and so are empty ones. Files in
// directories below count too, as they do for kubeadm. Every error names the file.
func Dir(dir string) (Patches, error) {
	if info, err := os.Lstat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s: is no directory", dir)
	}
	var all Patches
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		patch, err := fromFile(path)
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(patch.Data)) > 0 {
			all = append(all, patch)
		}
		return nil
	})
	return all, err
}

// fromFile is the patch in a file, one without data where it is none for etcd.
func fromFile(path string) (Patch, error) {
	parts := fileName.FindStringSubmatch(filepath.Base(path))
	if parts == nil {
		return Patch{}, nil
	}
	patch := Patch{Type: Strategic, Name: path}
	switch {
	case parts[2] != "":
		patch.Type = Type(parts[2])
	case parts[1] != "":
		return Patch{}, fmt.Errorf("%s: must have a type behind the plus: strategic, merge or json", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Patch{}, err
	}
	patch.Data = data
	if _, err := patch.documents(); err != nil {
		return Patch{}, fmt.Errorf("%s: %w", path, err)
	}
	return patch, nil
}
