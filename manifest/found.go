package manifest

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/member"
)

// ErrJoinPending is why no cluster is founded where a join is under way.
var ErrJoinPending = errors.New("a join of this host is pending: finish or abort it")

// Pending says whether a join of this host was begun and not finished. Whatever
// notes intents before a join's writes can offer it.
type Pending interface {
	Pending(context.Context) (bool, error)
}

// Founding is the first member of a cluster.
type Founding struct {
	// Name and PeerURLs are the member's. Required.
	Name     string
	PeerURLs []string
	// Pending is asked before a cluster is founded. Nil: nobody knows of a join.
	Pending Pending
}

// Found is for the one host whose member is to be the first of a cluster, and the
// only way to an initial-cluster-state of "new". Which of them it is depends on the
// data directory:
//
//   - empty, and no join is pending: the Spec says "new", and etcd founds the
//     cluster when it is started;
//   - of the cluster that this host founded: "existing", and etcd starts with its
//     data. So an installer may be run again;
//   - of another cluster, or damaged: refused, as [member.ErrForeignData] or
//     [member.ErrDataDamaged].
//
// Which cluster that is needs no memory: etcd makes its ID from the first
// member's peer URLs and from initial-cluster-token. Hosts that may be founded anew
// at the same address should have a token of their own, or two clusters have one ID.
//
// The Spec and the StartSpec go to one of the start hooks, that of
// [Spec.StaticPod] for one. Call both again once the member serves: the file then
// says "existing", and if the disk is wiped later, etcd that is started from it
// founds nothing, but refuses to start. Nor does Found then: a hook never writes
// "new" over a file that says "existing" ([member.ErrDataLost]). [Spec.FoundOn] is
// all of this in one call.
func (s Spec) Found(ctx context.Context, f Founding) (Spec, member.StartSpec, error) {
	start, err := s.founder(f)
	if err != nil {
		return Spec{}, member.StartSpec{}, err
	}
	info, err := s.dataDir().Inspect(ctx)
	if err != nil {
		return Spec{}, member.StartSpec{}, err
	}
	switch {
	case info.Kind == cluster.DataEmpty:
		s.founds = true
		err = f.nothingPending(ctx)
	case info.Kind == cluster.DataMember && info.ClusterID == start.ClusterID:
		start.MemberID, start.Restart = info.MemberID, true // it may have been removed and joined again
	case info.Kind == cluster.DataMember:
		err = fmt.Errorf("%w: %s holds member %s of cluster %s, this host founds cluster %s (other peer URLs or another initial-cluster-token?)",
			member.ErrForeignData, s.dataDir().Dir, info.MemberID, info.ClusterID, start.ClusterID)
	default:
		err = fmt.Errorf("%w: %s: %s", member.ErrDataDamaged, s.dataDir().Dir, info.Reason)
	}
	if err != nil {
		return Spec{}, member.StartSpec{}, err
	}
	_, err = s.For(start)
	return s, start, err
}

func (f Founding) nothingPending(ctx context.Context) error {
	if f.Pending == nil {
		return nil
	}
	pending, err := f.Pending.Pending(ctx)
	if err == nil && pending {
		err = ErrJoinPending
	}
	return err
}

// FoundOn founds the cluster and returns once its member serves and its file says
// "existing". The host is one of the config methods: func(s Spec) member.Config {
// return s.StaticPod(path) }. That the member serves is asked at the config's
// MetricsURL.
//
// Where the file changes from "new" to "existing", whoever watches it restarts etcd
// once. Call it again after any failure, a crash included, and whenever an
// installer is run again: on a host that was founded it makes sure that etcd runs.
func (s Spec) FoundOn(ctx context.Context, f Founding, host func(Spec) member.Config) error {
	for {
		founder, start, err := s.Found(ctx, f)
		if err != nil {
			return err
		}
		config := host(founder)
		if err := config.Start(ctx, start); err != nil {
			return err
		}
		if err := serves(ctx, config); err != nil {
			return fmt.Errorf("found cluster %s: member %s does not serve: %w", start.ClusterID, start.MemberID, err)
		}
		if !founder.founds {
			return nil
		}
	}
}

// serves waits until a linearizable read works, which also means that all that a
// restart needs is on disk, and asks the directory too: another etcd might answer.
func serves(ctx context.Context, config member.Config) error {
	if config.MetricsURL == "" {
		return errors.New("nobody can say whether it does: set MetricsURLs, or use Found")
	}
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := healthy(ctx, &client, config.MetricsURL+"/health")
		if err == nil {
			if info, _ := config.DataDir.Inspect(ctx); info.Kind == cluster.DataMember {
				return nil
			}
		}
		if config.Exited != nil {
			if exit := config.Exited(ctx); exit != nil {
				return exit
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-again.C:
		}
	}
}

func healthy(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return errors.Join(err, resp.Body.Close())
}

// founder is the start of the first member.
func (s Spec) founder(f Founding) (member.StartSpec, error) {
	own := InitialMember{Name: f.Name, PeerURLs: f.PeerURLs}
	all, err := BuildInitialCluster(own, nil)
	if err != nil {
		return member.StartSpec{}, err
	}
	memberID, clusterID := foundedIDs(f.PeerURLs, s.Settings["initial-cluster-token"])
	return member.StartSpec{
		Name: f.Name, PeerURLs: slices.Clone(f.PeerURLs), InitialCluster: all.String(),
		MemberID: memberID, ClusterID: clusterID, ServerVersion: s.Version,
	}, nil
}

// foundedIDs are the IDs that etcd gives to a first member and its cluster
// (3.4 to 3.8, server/etcdserver/api/membership: NewMember and genID): the
// beginning of a SHA-1 of the sorted peer URLs and the token, and of the member ID.
func foundedIDs(peerURLs []string, token string) (memberID, clusterID cluster.ID) {
	urls := slices.Clone(peerURLs)
	for i, raw := range urls {
		if u, err := url.Parse(raw); err == nil {
			urls[i] = u.String()
		}
	}
	slices.Sort(urls)
	sum := sha1.Sum([]byte(strings.Join(urls, "") + orElse(token, "etcd-cluster")))
	memberID = cluster.ID(binary.BigEndian.Uint64(sum[:]))
	sum = sha1.Sum(sum[:8])
	return memberID, cluster.ID(binary.BigEndian.Uint64(sum[:]))
}

// refuseAnew keeps a file that says "existing" from saying "new" again: with an
// empty directory, its host has lost the data of a member.
func (s Spec) refuseAnew(form Form, path string) error {
	if !s.founds {
		return nil
	}
	old, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	reading, err := Read(form, path, old)
	if err == nil && reading.Spec.InitialClusterState == "new" {
		return nil
	}
	return fmt.Errorf("%w: %s says that this host has been a member, and %s is empty: join the cluster or restore the data; "+
		"to found another cluster, remove that file", member.ErrDataLost, path, s.dataDir().Dir)
}

// state is what etcd is told of the cluster it starts in.
func (s Spec) state() string {
	if s.founds {
		return "new"
	}
	return existing
}
