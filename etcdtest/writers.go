package etcdtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// writeWithin bounds one write. It is longer than etcd's own limit of 7 s, so
	// that a write that stalls and is then done counts as a stall.
	writeWithin = 10 * time.Second
	// failurePause keeps writers from spinning while nothing can be reached.
	failurePause = 10 * time.Millisecond
	// readPage is how many keys one read of the check asks for.
	readPage = 10_000
)

// Writers are clients that write to the voters all the time, each key once, and
// remember what was acknowledged.
type Writers struct {
	c      *Cluster
	prefix string
	began  time.Time
	pause  time.Duration
	ctx    context.Context // ends with the test, after which no answer matters
	stop   chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
	done   [][]Write // by writer; written by it alone until it ends
}

// A Write is one write of one of the [Writers], as it looked from outside. One
// with an error may have been done all the same.
type Write struct {
	Key        string
	Begin, End time.Duration // since the writers started
	Err        error
}

// A WriteReport sums up what became of the writes.
type WriteReport struct {
	Acknowledged int
	Failed       int // answered with an error; such a write may be there or not
	Lost         int // acknowledged and not there
	// LongestStall is the longest time any one writer went without an
	// acknowledgement, from its start to its last write.
	LongestStall time.Duration
}

// String is the report in one line.
func (r WriteReport) String() string {
	return fmt.Sprintf("%d writes acknowledged, %d failed, %d lost, longest stall %v",
		r.Acknowledged, r.Failed, r.Lost, r.LongestStall.Round(time.Millisecond))
}

// Writers starts n clients that write as fast as they are answered, to the
// voters the cluster was started with, until [Writers.Stop] or the end of the
// test.
func (c *Cluster) Writers(n int) *Writers {
	c.tb.Helper()
	return c.WritersEvery(n, 0)
}

// WritersEvery is the same with a pause after each write, for a load that
// leaves the machine to others.
func (c *Cluster) WritersEvery(n int, pause time.Duration) *Writers {
	c.tb.Helper()
	// Not the test's own context, which ends before its cleanups.
	ctx, cancel := context.WithCancel(context.Background())
	w := &Writers{
		c: c, ctx: ctx, prefix: "etcdtest/writers/" + rand.Text() + "/",
		began: time.Now(), pause: pause,
		stop: make(chan struct{}), done: make([][]Write, n),
	}
	for i := range n {
		cli := c.ClientFor(c.voters...)
		w.wg.Go(func() { w.write(i, cli) })
	}
	c.tb.Cleanup(func() { // before the cluster's own, which was registered earlier
		cancel()
		w.Stop()
	})
	return w
}

func (w *Writers) write(i int, cli *clientv3.Client) {
	defer cli.Close()
	for n := 0; ; n++ {
		op := w.put(cli, w.key(i, n))
		w.done[i] = append(w.done[i], op)
		pause := w.pause
		if op.Err != nil {
			pause = max(pause, failurePause)
		}
		if w.stopped(pause) {
			return
		}
	}
}

func (w *Writers) put(cli *clientv3.Client, key string) Write {
	ctx, cancel := context.WithTimeout(w.ctx, writeWithin)
	defer cancel()
	op := Write{Key: key, Begin: time.Since(w.began)}
	_, op.Err = cli.Put(ctx, key, "v")
	op.End = time.Since(w.began)
	return op
}

func (w *Writers) key(writer, n int) string { return fmt.Sprintf("%s%03d/%d", w.prefix, writer, n) }

// stopped waits for d and says whether the writers are to end.
func (w *Writers) stopped(d time.Duration) bool {
	if d == 0 {
		select {
		case <-w.stop:
			return true
		default:
			return false
		}
	}
	select {
	case <-w.stop:
		return true
	case <-time.After(d):
		return false
	}
}

// Stop ends the writers and returns when the last write was answered, which
// takes ten seconds at most. It may be called again.
func (w *Writers) Stop() {
	w.once.Do(func() { close(w.stop) })
	w.wg.Wait()
}

// History is every write of all writers, in the order of their begin. It stops
// the writers.
func (w *Writers) History() []Write {
	w.Stop()
	all := slices.Concat(w.done...)
	slices.SortStableFunc(all, func(a, b Write) int { return int(a.Begin - b.Begin) })
	return all
}

// Check stops the writers, reads back what they wrote, linearizably and through
// the voters, and reports. The error says that reading failed, or how many
// acknowledged writes are lost; the report holds as far as it got.
func (w *Writers) Check(ctx context.Context) (WriteReport, error) {
	w.Stop()
	var r WriteReport
	for _, ops := range w.done {
		r.add(ops)
	}
	found, err := w.found(ctx)
	if err != nil {
		return r, fmt.Errorf("etcdtest: read back what was written: %w", err)
	}
	var lost []string
	for _, op := range w.History() {
		if _, ok := found[op.Key]; op.Err == nil && !ok {
			lost = append(lost, op.Key)
		}
	}
	if r.Lost = len(lost); r.Lost > 0 {
		return r, fmt.Errorf("etcdtest: %d acknowledged writes are lost, the first is %s", r.Lost, lost[0])
	}
	return r, nil
}

// add counts the writes of one writer.
func (r *WriteReport) add(ops []Write) {
	var last time.Duration
	for _, op := range ops {
		r.LongestStall = max(r.LongestStall, op.End-last)
		if op.Err != nil {
			r.Failed++
			continue
		}
		r.Acknowledged++
		last = op.End
	}
}

// found is every key of the writers that the cluster has.
func (w *Writers) found(ctx context.Context) (map[string]struct{}, error) {
	found := map[string]struct{}{}
	from, end := w.prefix, clientv3.GetPrefixRangeEnd(w.prefix)
	for {
		var resp *clientv3.GetResponse
		err := poll(ctx, func(ctx context.Context) (err error) {
			resp, err = w.c.Client().Get(ctx, from, clientv3.WithRange(end), clientv3.WithKeysOnly(), clientv3.WithLimit(readPage))
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, kv := range resp.Kvs {
			found[string(kv.Key)] = struct{}{}
		}
		if !resp.More {
			return found, nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}
