package manifest

import (
	"context"
	"os"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/member"
)

// memberKey is the annotation, or the word in a comment, that carries the ID of
// the member a file was written for. So another member's file is another file,
// and what watches files restarts etcd for it, if all else is the same.
const memberKey = "etcdjoin/member-id"

// fileFor is the file that starts etcd as this member, with its ID in it.
func (s Spec) fileFor(ctx context.Context, form Form, path string, start member.StartSpec) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := s.For(s.settled(ctx, form, path, start))
	if err != nil {
		return nil, err
	}
	if err := s.refuseAnew(form, path); err != nil {
		return nil, err
	}
	if form == StaticPod {
		s.Pod = s.Pod.annotated(memberKey, start.MemberID.String())
		return s.Render(form)
	}
	data, err := s.Render(form)
	return append([]byte("# "+memberKey+": "+start.MemberID.String()+"\n"), data...), err
}

// settled is start with the initial cluster that the file at path has, once the
// member has its data: etcd reads the initial cluster only before that, and a
// later one, with whoever has joined since, is no reason to restart it.
func (s Spec) settled(ctx context.Context, form Form, path string, start member.StartSpec) member.StartSpec {
	info, err := s.dataDir().Inspect(ctx)
	if err != nil || info.Kind != cluster.DataMember || info.MemberID != start.MemberID {
		return start
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return start
	}
	if reading, err := Read(form, path, old); err == nil && reading.Spec.InitialCluster != "" {
		start.InitialCluster = reading.Spec.InitialCluster
	}
	return start
}

// dataDir is where etcd keeps its data.
func (s Spec) dataDir() DataDir {
	s = s.withDefaults()
	return DataDir{Dir: s.DataDir, WALDir: s.WALDir}
}
