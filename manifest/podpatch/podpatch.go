package podpatch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// A Type is how a patch is written.
type Type string

// The types, by kubeadm's names.
const (
	Strategic Type = "strategic" // Kubernetes' strategic merge: lists are merged by their keys
	Merge     Type = "merge"     // RFC 7386: lists are replaced
	JSON      Type = "json"      // RFC 6902: a list of operations
)

// A Patch is one change, in YAML or JSON.
type Patch struct {
	Type Type
	Data []byte
	// Name is for errors: a file's, say.
	Name string
}

// Patches are applied one after the other.
type Patches []Patch

// Apply is the pod, in YAML or JSON, with all patches applied, in YAML. It fits
// manifest.Pod's Patch. A document that is empty changes nothing.
func (p Patches) Apply(pod []byte) ([]byte, error) {
	doc, err := yaml.YAMLToJSON(pod)
	if err != nil {
		return nil, err
	}
	for _, patch := range p {
		if doc, err = patch.apply(doc); err != nil {
			return nil, fmt.Errorf("%s patch %s: %w", patch.Type, patch.Name, err)
		}
	}
	return yaml.JSONToYAML(doc)
}

// apply takes a patch of several documents one by one.
func (p Patch) apply(doc []byte) ([]byte, error) {
	docs, err := p.documents()
	for _, change := range docs {
		if err == nil {
			doc, err = p.Type.apply(doc, change)
		}
	}
	return doc, err
}

func (p Patch) documents() ([][]byte, error) {
	var all [][]byte
	reader := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(p.Data)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		change, err := yaml.YAMLToJSON(doc)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(bytes.TrimSpace(change), []byte("null")) {
			all = append(all, change)
		}
	}
}

func (t Type) apply(doc, change []byte) ([]byte, error) {
	switch t {
	case Strategic:
		return strategicpatch.StrategicMergePatch(doc, change, v1.Pod{})
	case Merge:
		return jsonpatch.MergePatch(doc, change)
	case JSON:
		operations, err := jsonpatch.DecodePatch(change)
		if err != nil {
			return nil, err
		}
		return operations.Apply(doc)
	}
	return nil, fmt.Errorf("must be %s, %s or %s, not %q", Strategic, Merge, JSON, t)
}
