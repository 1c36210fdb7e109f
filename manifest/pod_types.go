package manifest

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// podTypes are the fields of a pod that are read here and what they must be. The
// kubelet refuses the whole pod for one of another type. "[]" is each element,
// "*" each key.
var podTypes = map[string]podType{
	"metadata":                      aMapping,
	"metadata.name":                 aText,
	"metadata.namespace":            aText,
	"metadata.labels":               aMapping,
	"metadata.labels.*":             aText,
	"metadata.annotations":          aMapping,
	"metadata.annotations.*":        aText,
	"spec":                          aMapping,
	"spec.hostNetwork":              aTruth,
	"spec.priority":                 aNumber,
	"spec.priorityClassName":        aText,
	"spec.containers":               aList,
	"spec.containers[]":             aMapping,
	"spec.containers[].name":        aText,
	"spec.containers[].image":       aText,
	"spec.containers[].command":     aList,
	"spec.containers[].command[]":   aText,
	"spec.containers[].args":        aList,
	"spec.containers[].args[]":      aText,
	"spec.containers[].env":         aList,
	"spec.containers[].env[]":       aMapping,
	"spec.containers[].env[].name":  aText,
	"spec.containers[].env[].value": aText,
	"spec.containers[].ports":       aList,

	"spec.containers[].volumeMounts":             aList,
	"spec.containers[].volumeMounts[]":           aMapping,
	"spec.containers[].volumeMounts[].name":      aText,
	"spec.containers[].volumeMounts[].mountPath": aText,
	"spec.containers[].volumeMounts[].readOnly":  aTruth,

	"spec.volumes":                 aList,
	"spec.volumes[]":               aMapping,
	"spec.volumes[].name":          aText,
	"spec.volumes[].hostPath":      aMapping,
	"spec.volumes[].hostPath.path": aText,
	"spec.volumes[].hostPath.type": aText,
}

type podType int

const (
	anyType podType = iota
	aText
	aTruth
	aNumber
	aList
	aMapping
)

// checkPodTypes finds the first field that is of another type.
func checkPodTypes(root *yaml.Node) error { return checkPodType("", "", root, 0) }

// checkPodType goes down where podTypes do; an anchor may hold itself.
func checkPodType(general, path string, n *yaml.Node, depth int) error {
	n = followed(n)
	if n == nil || isNull(n) || depth > 10 {
		return nil
	}
	if err := podTypes[general].check(path, n); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if err := checkPodType(general+"[]", path+"[]", item, depth+1); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			below := strings.TrimPrefix(general+"."+key, ".")
			if podTypes[general+".*"] != anyType {
				below = general + ".*"
			}
			if below != "metadata" && below != "spec" && podTypes[below] == anyType {
				continue
			}
			if err := checkPodType(below, strings.TrimPrefix(path+"."+key, "."), n.Content[i+1], depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t podType) check(path string, n *yaml.Node) error {
	s := as11(n)
	is := func(kind type11) bool { return n.Kind == yaml.ScalarNode && s.kind == kind }
	switch {
	case t == aText && n.Kind == yaml.ScalarNode && s.kind != text11:
		return fault(n.Line, "%s must have quotes around %s, which reads as another type: the kubelet refuses the pod", path, n.Value)
	case t == aText && n.Kind != yaml.ScalarNode:
		return fault(n.Line, "has %s in %s, where a text must be", describe(n), path)
	case t == aTruth && !is(bool11):
		return fault(n.Line, "%s must be true or false without quotes: the kubelet refuses the pod", path)
	case t == aNumber && !is(number11):
		return fault(n.Line, "%s must be a number without quotes: the kubelet refuses the pod", path)
	case t == aList && n.Kind != yaml.SequenceNode:
		return fault(n.Line, "%s must be a list, not %s: the kubelet refuses the pod", path, describe(n))
	case t == aMapping && n.Kind != yaml.MappingNode:
		return fault(n.Line, "%s must be a mapping, not %s: the kubelet refuses the pod", path, describe(n))
	}
	return nil
}
