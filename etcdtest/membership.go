package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// memberWithin bounds a raw membership change. The longest thing it waits for
// is that voters have been connected for five seconds.
const memberWithin = 30 * time.Second

// AddLearner adds s to the member list as a learner, as etcdctl would and
// without any of the care a joiner should take, and returns its member ID. It
// waits while voters refuse because they have not been connected for five
// seconds yet; any other error fails the test. It does not start s.
func (c *Cluster) AddLearner(s *Server) uint64 {
	c.tb.Helper()
	var id uint64
	c.change("add learner "+s.Name, rpctypes.ErrUnhealthy, func(ctx context.Context) error {
		resp, err := c.Client().MemberAddAsLearner(ctx, s.PeerURLs())
		if err == nil {
			id = resp.Member.ID
		}
		return err
	})
	return id
}

// AddVoter is the same for a voter: the old way, which counts s in the quorum
// before it runs.
func (c *Cluster) AddVoter(s *Server) uint64 {
	c.tb.Helper()
	var id uint64
	c.change("add voter "+s.Name, rpctypes.ErrUnhealthy, func(ctx context.Context) error {
		resp, err := c.Client().MemberAdd(ctx, s.PeerURLs())
		if err == nil {
			id = resp.Member.ID
		}
		return err
	})
	return id
}

// Promote makes the learner with this ID a voter as soon as etcd allows it; any
// error but "not in sync yet" fails the test.
func (c *Cluster) Promote(id uint64) {
	c.tb.Helper()
	c.change(fmt.Sprintf("promote %x", id), rpctypes.ErrMemberLearnerNotReady, func(ctx context.Context) error {
		_, err := c.Client().MemberPromote(ctx, id)
		return err
	})
}

// change makes a membership change, again for as long as the answer is wait.
func (c *Cluster) change(what string, wait error, do func(context.Context) error) {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(c.tb.Context(), memberWithin)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return
		}
		if !errors.Is(err, wait) || ctx.Err() != nil {
			c.tb.Fatalf("etcdtest: %s: %v", what, err)
		}
		time.Sleep(pollEvery)
	}
}

// InitialCluster is what to start s with now: every member of the list as the
// cluster has it, and s under its own name. A member that has not started has
// no name in the list and gets one from its ID; etcd compares only URLs. It
// works without a quorum too, which a voter that was added and does not run yet
// may have taken; the list is then what one voter knows.
func (c *Cluster) InitialCluster(s *Server) string {
	c.tb.Helper()
	list, err := c.members()
	if err != nil {
		c.tb.Fatalf("etcdtest: list members: %v", err)
	}
	var entries []string
	for _, m := range list {
		name := m.Name
		switch {
		case s.isAt(m.PeerURLs):
			name = s.Name
		case name == "" || name == s.Name:
			name = fmt.Sprintf("member-%x", m.ID)
		}
		entries = append(entries, entry(name, m.PeerURLs))
	}
	return strings.Join(entries, ",")
}

// MemberID is the ID of the server's entry in the member list. It fails the
// test if there is none.
func (s *Server) MemberID() uint64 {
	s.c.tb.Helper()
	list, err := s.c.members()
	if err != nil {
		s.c.tb.Fatalf("etcdtest: list members: %v", err)
	}
	for _, m := range list {
		if s.isAt(m.PeerURLs) {
			return m.ID
		}
	}
	s.c.tb.Fatalf("etcdtest: %s is not in the member list", s.Name)
	return 0
}

// isAt says whether one of these peer URLs is the server's.
func (s *Server) isAt(urls []string) bool {
	own := s.PeerURLs()
	return slices.ContainsFunc(urls, func(u string) bool { return slices.Contains(own, u) })
}

func (c *Cluster) members() ([]*pb.Member, error) {
	var errs []error
	for _, opts := range [][]clientv3.OpOption{nil, {clientv3.WithSerializable()}} {
		var resp *clientv3.MemberListResponse
		err := within(c.tb.Context(), pollWithin, func(ctx context.Context) (err error) {
			resp, err = c.Client().MemberList(ctx, opts...)
			return err
		})
		if err == nil {
			return resp.Members, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Leader is the server of the cluster that leads it, a joiner perhaps. It
// waits until there is one.
func (c *Cluster) Leader() *Server {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(c.tb.Context(), memberWithin)
	defer cancel()
	var leader *Server
	err := poll(ctx, func(ctx context.Context) (err error) {
		leader, err = c.leader(ctx)
		return err
	})
	if err != nil {
		c.tb.Fatalf("etcdtest: leader: %v", err)
	}
	return leader
}

func (c *Cluster) leader(ctx context.Context) (*Server, error) {
	c.mu.Lock()
	servers := slices.Clone(c.servers)
	c.mu.Unlock()
	var errs []error
	for _, s := range servers {
		if !s.Running() {
			continue
		}
		leads, err := s.leads(ctx)
		if leads {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(append(errs, errors.New("no server says that it leads"))...)
}

// leads asks one server with a client of its own, so that a silent one costs
// no other its time.
func (s *Server) leads(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, pollWithin/4)
	defer cancel()
	cli, err := s.dial()
	if err != nil {
		return false, err
	}
	defer cli.Close()
	status, err := cli.Status(ctx, s.ClientURL)
	return err == nil && status.Leader != 0 && status.Leader == status.Header.MemberId, err
}
