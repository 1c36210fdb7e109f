package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

const (
	writerCount = 8
	// writePause keeps the raft index below 5000 for the first seconds: a joiner
	// of a cluster that is further takes a snapshot, and etcd 3.6 and 3.7 then
	// open its client port only after 7 s.
	writePause = 12 * time.Millisecond
	// writeWithin is longer than etcd's own limit of 7 s, so that a write that
	// stalls and is then done counts as a slow one.
	writeWithin = 10 * time.Second
	writePrefix = "quickstart/writes/"
	readPage    = 10_000
)

// writers are clients that write all the time, each key once, and remember what
// was acknowledged.
type writers struct {
	kv   clientv3.KV
	quit chan struct{}
	once sync.Once
	wg   sync.WaitGroup
	each []writer
}

// writer is what became of one writer's writes; its own until it ends.
type writer struct {
	acknowledged []string // keys
	failed       int      // answered with an error: there or not, nobody knows
	slowest      time.Duration
}

func newWriters(kv clientv3.KV) *writers {
	return &writers{kv: kv, quit: make(chan struct{}), each: make([]writer, writerCount)}
}

// start returns when the first write is acknowledged.
func (w *writers) start() error {
	if err := w.each[0].put(w.kv, writePrefix+"first"); err != nil {
		return fmt.Errorf("the first write: %w", err)
	}
	for i := range w.each {
		w.wg.Go(func() { w.write(i) })
	}
	return nil
}

func (w *writers) write(i int) {
	pause := time.NewTicker(writePause)
	defer pause.Stop()
	for n := 0; ; n++ {
		_ = w.each[i].put(w.kv, fmt.Sprintf("%s%d/%d", writePrefix, i, n))
		select {
		case <-w.quit:
			return
		case <-pause.C:
		}
	}
}

// put makes one write. Its context is its own: an interrupt must not leave a
// write behind of which nobody knows whether it was done.
func (w *writer) put(kv clientv3.KV, key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
	defer cancel()
	began := time.Now()
	_, err := kv.Put(ctx, key, key)
	w.slowest = max(w.slowest, time.Since(began))
	if err != nil {
		w.failed++
		return err
	}
	w.acknowledged = append(w.acknowledged, key)
	return nil
}

// stop returns when the last write was answered.
func (w *writers) stop() {
	w.once.Do(func() { close(w.quit) })
	w.wg.Wait()
}

// report is what became of all writes.
type report struct {
	acknowledged, failed, lost int
	slowest                    time.Duration
}

// String is the program's last line.
func (r report) String() string {
	return fmt.Sprintf("writes: %d acknowledged, %d lost", r.acknowledged, r.lost)
}

// pace is what the joins meant to the clients.
func (r report) pace() string {
	return fmt.Sprintf("the slowest write took %d ms, %d were answered with an error", r.slowest.Milliseconds(), r.failed)
}

func (r report) check() error {
	if r.lost > 0 {
		return fmt.Errorf("%d acknowledged writes are lost", r.lost)
	}
	return nil
}

// check stops the writers and reads back all they wrote, through each of the
// members alone. A write is lost if any of them does not have it.
func (w *writers) check(ctx context.Context, through []seat) (report, error) {
	w.stop()
	r := w.summary()
	lost := make(map[string]bool)
	for _, s := range through {
		found, err := readThrough(ctx, s.ClientURLs)
		if err != nil {
			return r, fmt.Errorf("through %s: %w", s.Name, err)
		}
		w.missing(found, lost)
	}
	r.lost = len(lost)
	return r, nil
}

func (w *writers) summary() report {
	var r report
	for _, one := range w.each {
		r.acknowledged += len(one.acknowledged)
		r.failed += one.failed
		r.slowest = max(r.slowest, one.slowest)
	}
	return r
}

// missing notes what was acknowledged and is not there, or not as it was written.
func (w *writers) missing(found map[string]string, lost map[string]bool) {
	for _, one := range w.each {
		for _, key := range one.acknowledged {
			if found[key] != key {
				lost[key] = true
			}
		}
	}
}

// readThrough reads all that the writers wrote through one member, linearizably.
func readThrough(ctx context.Context, clientURLs []string) (map[string]string, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: clientURLs, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	found := make(map[string]string)
	from, end := writePrefix, clientv3.GetPrefixRangeEnd(writePrefix)
	for {
		resp, err := client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(readPage))
		if err != nil {
			return nil, err
		}
		for _, kv := range resp.Kvs {
			found[string(kv.Key)] = string(kv.Value)
		}
		if !resp.More {
			return found, nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

// preload writes this many MiB in values of 16 KiB that do not compress.
func preload(ctx context.Context, kv clientv3.KV, mib int) error {
	const size = 16 << 10
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writerCount)
	for i := range mib << 20 / size {
		group.Go(func() error {
			if err := ctx.Err(); err != nil { // another one failed, or an interrupt
				return err
			}
			value := make([]byte, size)
			_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}).Read(value) // never fails
			_, err := kv.Put(ctx, "quickstart/preload/"+strconv.Itoa(i), string(value))
			return err
		})
	}
	return group.Wait()
}
