package manifest

import (
	"context"
	"maps"

	"github.com/etcdjoin/etcdjoin/member"
)

// StaticPodStart is a start hook for [member.Config]: it writes the static pod
// of spec to path, a file in the directory that the kubelet watches, and leaves
// the rest to the kubelet.
//
// The file is spec's: what was changed in it by hand is written over (see [Edit]
// for files that people keep). A file that says the same already is not written,
// so that the kubelet restarts nothing; it does for another member, whose ID
// stands in an annotation. The initial cluster of a member that has its data is
// not renewed.
func StaticPodStart(path string, spec Spec) func(context.Context, member.StartSpec) error {
	return func(ctx context.Context, start member.StartSpec) error {
		data, err := spec.fileFor(ctx, StaticPod, path, start)
		if err != nil {
			return err
		}
		_, err = WriteFile(path, data)
		return err
	}
}

// StaticPodStop is the stop hook that belongs to [StaticPodStart]: it removes
// the file, and the kubelet stops the pod soon after. It does not wait for that;
// [DataDir.Archive] does. A file that is missing is no error.
func StaticPodStop(path string) func(context.Context) error {
	return func(context.Context) error { return removeFile(path) }
}

// annotated is the pod with one more annotation.
func (p Pod) annotated(key, value string) Pod {
	all := maps.Clone(p.Annotations)
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	p.Annotations = all
	return p
}
