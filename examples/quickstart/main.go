// Quickstart runs the library's main job on this machine: it starts an etcd
// cluster of one member, joins more to it as learners while clients write all
// the time, and then reads back, through every member, all that was
// acknowledged.
//
//	go run ./examples/quickstart [-size MiB] [-voters N]
//
// It shows each join as it happens, with a bar where the output is a terminal,
// then a table of the members, and last the line
//
//	writes: N acknowledged, 0 lost
//
// Ctrl-C undoes the join in flight and leaves the members that are in; a second
// Ctrl-C ends at once. All data is in a temporary directory that goes with the
// program, and the servers listen on the loopback interface only.
//
// The exit code is 0 if every member joined and no write is lost, 1 if not, 2
// for wrong flags, and 130 if an interrupt ended the joining and no write is
// lost. (The go command itself answers 1 for all of them but 0.)
//
// Read join in demo.go for how the library is used. The servers, which an
// installer would start by other means, are in cluster.go and server.go, the
// writers and the check in writers.go, what is shown in show.go and table.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as a shell counts a SIGINT
)

const (
	// mostVoters is etcd's own advice: seven members survive three failures, and
	// each further one makes every write slower.
	mostVoters = 7
	// mostMiB keeps a wrong number from filling the disk: each member holds the
	// data in its log and in its database.
	mostMiB = 2048
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program but for its process: the end of ctx is the first Ctrl-C.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		fmt.Fprintln(stderr, "quickstart:", err)
		return exitUsage
	}
	dir, err := os.MkdirTemp("", "etcdjoin-quickstart-")
	if err != nil {
		fmt.Fprintln(stderr, "quickstart:", err)
		return exitFailed
	}
	defer os.RemoveAll(dir)
	ctx, stop := interruptible(ctx, func() {
		os.RemoveAll(dir)
		os.Exit(exitInterrupted)
	})
	defer stop()
	return demonstrate(ctx, o, dir, stdout, stderr)
}

// options are what the flags say.
type options struct {
	voters int // to end with
	mib    int // to preload
}

// parse reads the flags. The flag package reports what it refuses by itself, so
// an error of parse is what it says in one line.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&o.voters, "voters", 3, "how many members to end with, 1 to 7; an even number survives no more failures than the odd one below it")
	flags.IntVar(&o.mib, "size", 0, "how many MiB to write before the joins, so that a catch-up is worth watching")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(flags, stderr)
		return o, err
	case err != nil:
		return o, err
	case flags.NArg() > 0:
		return o, fmt.Errorf("there are no arguments but flags, and %q is none", flags.Arg(0))
	}
	return o, o.check()
}

func usage(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprintln(w, "Joins members to a small etcd cluster under load, as learners. Flags:")
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// check names the flag and the rule it breaks.
func (o options) check() error {
	switch {
	case o.voters < 1:
		return fmt.Errorf("-voters %d: a cluster has at least one member", o.voters)
	case o.voters > mostVoters:
		return fmt.Errorf("-voters %d: etcd advises against more than %d, for each one makes every write slower", o.voters, mostVoters)
	case o.mib < 0:
		return fmt.Errorf("-size %d: must not be negative", o.mib)
	case o.mib > mostMiB:
		return fmt.Errorf("-size %d: at most %d MiB, for each member keeps them twice on this disk", o.mib, mostMiB)
	}
	return nil
}

// interruptible ends the context it returns at the first SIGINT or SIGTERM, and
// calls force at the second.
func interruptible(parent context.Context, force func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	done := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for _, act := range []func(){cancel, force} {
			select {
			case <-signals:
				act()
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
