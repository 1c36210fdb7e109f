package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// largestFill is the quota that is still filled in a few seconds.
	largestFill = 256 << 20
	fillBytes   = 512 << 10
	fillTime    = time.Minute
)

// RaiseAlarm makes the cluster raise this alarm for s, pb.AlarmType_NOSPACE or
// pb.AlarmType_CORRUPT, without there being a reason: the request a server
// makes that has found one. It is in force when RaiseAlarm returns: with the
// first writes are refused, with the second reads too, and membership changes
// with neither. See [Cluster.ClearAlarms].
func (c *Cluster) RaiseAlarm(s *Server, alarm pb.AlarmType) {
	c.tb.Helper()
	c.alarm(&pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: s.MemberID(), Alarm: alarm})
}

// ClearAlarms ends all alarms. One of a full database is raised again by the
// next write, unless there is room by then.
func (c *Cluster) ClearAlarms() {
	c.tb.Helper()
	for _, a := range c.Alarms() {
		c.alarm(&pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: a.MemberID, Alarm: a.Alarm})
	}
}

// Alarms are the alarms in force, and which members they are for.
func (c *Cluster) Alarms() []*pb.AlarmMember {
	c.tb.Helper()
	return c.alarm(&pb.AlarmRequest{Action: pb.AlarmRequest_GET}).Alarms
}

// FillQuota writes until etcd refuses it with NOSPACE, which is then in force.
// The quota must be at most 256 MiB, see [WithQuota].
func (c *Cluster) FillQuota() {
	c.tb.Helper()
	if c.set.server.quota > largestFill {
		c.tb.Fatalf("etcdtest: a quota of %d MiB takes long to fill: start the cluster with WithQuota", c.set.server.quota>>20)
	}
	ctx, cancel := context.WithTimeout(c.tb.Context(), fillTime)
	defer cancel()
	value := strings.Repeat("x", fillBytes)
	for i := 0; ; i++ {
		_, err := c.Client().Put(ctx, fmt.Sprintf("etcdtest/fill/%d", i), value)
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return
		}
		if err != nil {
			c.tb.Fatalf("etcdtest: fill the quota: %v", err)
		}
	}
}

// alarm makes a request which the client has no call for.
func (c *Cluster) alarm(req *pb.AlarmRequest) *pb.AlarmResponse {
	c.tb.Helper()
	var resp *pb.AlarmResponse
	err := within(c.tb.Context(), memberWithin, func(ctx context.Context) (err error) {
		resp, err = clientv3.RetryMaintenanceClient(c.Client(), c.Client().ActiveConnection()).Alarm(ctx, req)
		return err
	})
	if err != nil {
		c.tb.Fatalf("etcdtest: alarm: %v", err)
	}
	return resp
}
