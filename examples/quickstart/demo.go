package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/learner"
	"github.com/etcdjoin/etcdjoin/member"
)

const (
	startWithin = time.Minute
	// finishWithin bounds the check and the table. A member that just got its
	// vote may take 7 s until it serves.
	finishWithin = 2 * time.Minute
)

// demo is one run, from the first member's start on.
type demo struct {
	cluster *servers
	client  *clientv3.Client // of the first member
	writers *writers
	screen  *screen
	stderr  io.Writer
}

// demonstrate runs it all and returns the exit code.
func demonstrate(ctx context.Context, o options, dir string, stdout, stderr io.Writer) int {
	d, err := begin(ctx, dir, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "quickstart:", err)
		return exitFailed
	}
	defer d.close()
	return d.finish(ctx, d.grow(ctx, o))
}

// begin starts the first member. No interrupt ends that: it takes a moment, and
// all that follows can then count on a cluster.
func begin(ctx context.Context, dir string, stdout, stderr io.Writer) (*demo, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startWithin)
	defer cancel()
	d := &demo{screen: newScreen(stdout), stderr: stderr}
	c, err := startCluster(ctx, dir, stderr)
	if err != nil {
		return nil, err
	}
	d.cluster = c
	if d.client, err = c.dial(c.nodes[0].clientURL); err != nil {
		c.close()
		return nil, err
	}
	d.writers = newWriters(d.client)
	d.screen.say("%s: serving: the cluster of one on %s", c.nodes[0].name, c.nodes[0].clientURL)
	return d, nil
}

func (d *demo) close() {
	d.writers.stop()
	d.client.Close()
	d.cluster.close()
}

// grow joins one member after the other, up to the number wanted.
func (d *demo) grow(ctx context.Context, o options) error {
	defer d.confirm(ctx)()
	if err := d.preload(ctx, o.mib); err != nil {
		return err
	}
	if err := d.writers.start(); err != nil {
		return err
	}
	for len(d.cluster.nodes) < o.voters {
		n, err := d.cluster.newNode(ctx)
		if err != nil {
			return err
		}
		if _, err := d.join(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// confirm has an interrupt shown at once, for the undo may take a moment. What it
// returns ends that, and no such line comes after.
func (d *demo) confirm(ctx context.Context) (end func()) {
	said := make(chan struct{})
	unregister := context.AfterFunc(ctx, func() {
		defer close(said)
		d.screen.say("interrupted: a join in flight is undone; another Ctrl-C ends at once")
	})
	return func() {
		if !unregister() {
			<-said
		}
	}
}

// join is how the library is used: a client of the running cluster, a joiner
// with the hooks that start and stop the new server, and one call. Undo has it
// remove its learner again if the join fails, even one that was started.
func (d *demo) join(ctx context.Context, n *node) (member.Result, error) {
	client := cluster.NewClient(d.client, cluster.ClientConfig{})
	defer client.Close()
	view := d.screen.newView(n, d.cluster.nodes[0])
	defer view.close()
	joiner, err := learner.NewJoiner(client, n.name, member.Config{
		Start:     n.Start,
		Stop:      n.Stop,
		Exited:    n.Exited,
		Observe:   view.observe,
		OnFailure: member.Undo,
	})
	if err != nil {
		return member.Result{}, err
	}
	return joiner.Join(ctx, n.peerURL)
}

// preload writes data before the joins.
func (d *demo) preload(ctx context.Context, mib int) error {
	if mib == 0 {
		return nil
	}
	began := time.Now()
	d.screen.say("%s: preloading %d MiB", d.cluster.nodes[0].name, mib)
	if err := preload(ctx, d.client, mib); err != nil {
		return fmt.Errorf("preload: %w", err)
	}
	d.screen.say("%s: preloaded %d MiB in %.1f s", d.cluster.nodes[0].name, mib, time.Since(began).Seconds())
	return nil
}

// finish checks the writes through every voter, prints the table and the last
// line, and decides the exit code. It runs after an interrupt too.
func (d *demo) finish(ctx context.Context, grown error) int {
	code := exitDone
	switch {
	case grown != nil && ctx.Err() != nil:
		code = exitInterrupted
	case grown != nil:
		code = d.failed(grown)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer cancel()
	d.writers.stop()
	table, err := look(ctx, d.client)
	if err != nil {
		return d.failed(fmt.Errorf("list the members: %w", err))
	}
	report, err := d.writers.check(ctx, table.voters())
	if err != nil {
		return d.failed(fmt.Errorf("read back what was written: %w", err))
	}
	d.screen.print("\n%s%s\n%s\n", table, report.pace(), report)
	if err := errors.Join(table.check(), report.check()); err != nil {
		return d.failed(err)
	}
	return code
}

// failed tells what went wrong and what the servers have logged of it.
func (d *demo) failed(err error) int {
	fmt.Fprintf(d.stderr, "quickstart: %v\n", err)
	if log := d.cluster.errors(); log != "" {
		fmt.Fprintf(d.stderr, "the last errors the servers logged:\n%s", log)
	}
	return exitFailed
}
