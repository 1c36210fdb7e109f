package etcdtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	preloaders = 8
	txnKeys    = 128 // the most operations etcd takes in one transaction
	bigValue   = 16 << 10
)

// PutIndex makes small writes until the raft index is at least index. Above
// about 5000 a joiner takes a snapshot instead of the log, with releases that
// keep no more: 3.6 and later, and older ones after 100,000 entries.
func (c *Cluster) PutIndex(index uint64) {
	c.tb.Helper()
	ctx := c.tb.Context()
	status, err := c.Client().Status(ctx, c.Endpoints()[0])
	if err != nil {
		c.tb.Fatalf("etcdtest: raft index: %v", err)
	}
	if status.RaftIndex >= index {
		return
	}
	c.preload("raise the index", int(index-status.RaftIndex), func(cli *clientv3.Client, _ int) error {
		_, err := cli.Put(ctx, "etcdtest/index", "v")
		return err
	})
}

// PutSmall writes this many keys of a byte each, rounded up to whole
// transactions: little data that takes a joiner long to apply.
func (c *Cluster) PutSmall(keys int) {
	c.tb.Helper()
	ctx := c.tb.Context()
	c.preload("put small keys", (keys+txnKeys-1)/txnKeys, func(cli *clientv3.Client, i int) error {
		ops := make([]clientv3.Op, txnKeys)
		for j := range ops {
			ops[j] = clientv3.OpPut(fmt.Sprintf("etcdtest/small/%d/%d", i, j), "v")
		}
		_, err := cli.Txn(ctx).Then(ops...).Commit()
		return err
	})
}

// PutMiB writes this many MiB in values of 16 KiB: much data that takes a
// joiner long to receive. The values do not compress.
func (c *Cluster) PutMiB(mib int) {
	c.tb.Helper()
	ctx := c.tb.Context()
	c.preload("put big values", mib<<20/bigValue, func(cli *clientv3.Client, i int) error {
		value := make([]byte, bigValue)
		_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}).Read(value)
		_, err := cli.Put(ctx, fmt.Sprintf("etcdtest/big/%d", i), string(value))
		return err
	})
}

// preload calls put n times, by several workers with a client each.
func (c *Cluster) preload(what string, n int, put func(cli *clientv3.Client, i int) error) {
	c.tb.Helper()
	errs := make([]error, preloaders)
	var wg sync.WaitGroup
	for w := range preloaders {
		cli := c.ClientFor(c.voters...)
		wg.Go(func() {
			defer cli.Close()
			for i := w; i < n && errs[w] == nil; i += preloaders {
				errs[w] = put(cli, i)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		c.tb.Fatalf("etcdtest: %s: %v", what, err)
	}
}
