package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
)

const (
	// settleWithin is how long a voter may take until it serves: 7 s after a
	// snapshot, and more on a slow machine.
	settleWithin = 20 * time.Second
	answerWithin = 2 * time.Second
)

// table is the cluster's members, each with what it says of itself.
type table []seat

// seat is one member of the list.
type seat struct {
	cluster.Member
	index   uint64 // raft's, as far as the member knows
	answers bool
}

// look reads the members, and again until every voter answers or it has been
// long enough.
func look(ctx context.Context, c *clientv3.Client) (table, error) {
	client := cluster.NewClient(c, cluster.ClientConfig{})
	defer client.Close()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(settleWithin); ; {
		t, err := lookOnce(ctx, client)
		if err == nil && len(t.silent()) == 0 || time.Now().After(deadline) {
			return t, err
		}
		select {
		case <-ctx.Done():
			return t, ctx.Err()
		case <-poll.C:
		}
	}
}

func lookOnce(ctx context.Context, client *cluster.EtcdClient) (table, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	list, err := client.List(ctx, cluster.Target{})
	if err != nil {
		return nil, err
	}
	t := make(table, len(list.Members))
	var wg sync.WaitGroup
	for i, m := range list.Members {
		wg.Go(func() { t[i] = ask(ctx, client, m) })
	}
	wg.Wait()
	slices.SortFunc(t, func(a, b seat) int { return strings.Compare(a.Name, b.Name) })
	return t, nil
}

func ask(ctx context.Context, client *cluster.EtcdClient, m cluster.Member) seat {
	if len(m.ClientURLs) == 0 {
		return seat{Member: m}
	}
	st, err := client.Status(ctx, cluster.Target{Member: m})
	if err != nil || st.ID != m.ID {
		return seat{Member: m}
	}
	return seat{Member: m, index: st.Index, answers: true}
}

func (t table) voters() []seat {
	var voters []seat
	for _, s := range t {
		if !s.Learner {
			voters = append(voters, s)
		}
	}
	return voters
}

// silent are the voters that do not answer.
func (t table) silent() []seat {
	var silent []seat
	for _, s := range t.voters() {
		if !s.answers {
			silent = append(silent, s)
		}
	}
	return silent
}

// check is that the program leaves voters only, whatever has become of a join.
func (t table) check() error {
	for _, s := range t {
		if s.Learner {
			return fmt.Errorf("%s is left over from its join", s.Member)
		}
	}
	return nil
}

func (t table) quorum() int { return len(t.voters())/2 + 1 }

// margin is how many of the voters that answer may fail before writes stop.
func (t table) margin() int { return len(t.voters()) - len(t.silent()) - t.quorum() }

// String is the table, and a line that says what the margin means.
func (t table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tROLE\tPEER URL\tRAFT INDEX\tQUORUM MARGIN")
	for _, s := range t {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, s.Name, s.Role(), strings.Join(s.PeerURLs, ","), s.indexText(), t.marginText(s))
	}
	w.Flush()
	fmt.Fprintf(&b, "%d of %d voters make a quorum, so %d may fail\n", t.quorum(), len(t.voters()), max(0, t.margin()))
	return b.String()
}

func (s seat) indexText() string {
	if !s.answers {
		return "silent"
	}
	return fmt.Sprint(s.index)
}

// marginText is the cluster's margin, which every voter is a part of and no
// learner is.
func (t table) marginText(s seat) string {
	if s.Learner {
		return "-"
	}
	return fmt.Sprint(t.margin())
}
