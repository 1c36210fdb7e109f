package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Endpoint is what one endpoint of the caller's own client has told.
type Endpoint struct {
	URL    string
	Status Status
	List   List  // as it holds it itself; a learner shows none
	Err    error // it did not answer, and nothing above counts
}

// Endpoints implements [Client].
func (e *EtcdClient) Endpoints(ctx context.Context) ([]Endpoint, error) {
	urls := e.endpoints(Target{})
	told := make([]Endpoint, len(urls))
	var wg sync.WaitGroup
	for i, url := range urls {
		wg.Go(func() { told[i] = e.endpoint(ctx, url) })
	}
	wg.Wait()
	return told, nil
}

func (e *EtcdClient) endpoint(ctx context.Context, url string) Endpoint {
	st, err := e.statusFrom(ctx, url)
	if err != nil {
		return Endpoint{URL: url, Err: err}
	}
	list, err := e.listFrom(ctx, url, false)
	if err != nil && !st.Learner {
		return Endpoint{URL: url, Err: err}
	}
	return Endpoint{URL: url, Status: st, List: list}
}

// standing is why an endpoint is not used; empty: it is in contact with a leader, and
// what it says of the cluster counts.
func (e Endpoint) standing() string {
	self, listed := Member{}, false
	for _, m := range e.List.Members {
		if m.ID == e.Status.ID {
			self, listed = m, true
		}
	}
	switch {
	case e.Status.Learner || self.Learner:
		return "is a learner"
	case !listed:
		return "is not in its own list: it was removed"
	case e.Status.Leader == 0:
		return "knows no leader: it is cut off from its peers, or just starting"
	}
	return ""
}

// String names the endpoint with the cluster and the list that it shows.
func (e Endpoint) String() string {
	return fmt.Sprintf("%s shows cluster %s led by %s with %s", reason.Shown(e.URL), e.Status.ClusterID, e.Status.Leader, digest(e.List))
}

// oneCluster holds what the endpoints have told to being of one cluster: those that
// answer have one cluster ID, and those in contact with a leader the same leader and
// the same list. Two leaders, or two lists, may be a change under way; if they stay,
// they are two histories of one cluster, as after a reset of one member with
// --force-new-cluster while the others ran on. Who is cut off, learns or was removed
// has no say.
func oneCluster(told []Endpoint, want ID) error {
	var all, counts []Endpoint
	for _, e := range told {
		switch {
		case e.Err != nil:
		case e.standing() == "":
			counts = append(counts, e)
			fallthrough
		default:
			all = append(all, e)
		}
	}
	for _, e := range all {
		if id := e.Status.ClusterID; id != all[0].Status.ClusterID || want != 0 && id != want {
			return &EndpointsError{Endpoints: all, Want: want, why: reason.ErrWrongCluster}
		}
	}
	for _, e := range counts {
		if e.Status.Leader != counts[0].Status.Leader || digest(e.List) != digest(counts[0].List) {
			return &EndpointsError{Endpoints: counts, why: reason.ErrDiverged}
		}
	}
	return nil
}

// EndpointsError says that the caller's endpoints are not of one cluster, and which
// shows what. It is [ErrWrongCluster] where they have several cluster IDs, or another
// than ClientConfig.ClusterID; [ErrDiverged] where they have one, and several leaders or
// lists.
type EndpointsError struct {
	Endpoints []Endpoint
	Want      ID // of ClientConfig.ClusterID; 0: it was not given
	why       error
}

func (e *EndpointsError) Error() string {
	texts := make([]string, len(e.Endpoints))
	for i, told := range e.Endpoints {
		texts[i] = told.String()
	}
	what := "the endpoints are not of one cluster"
	if e.Want != 0 {
		what = "the endpoints are not of cluster " + e.Want.String()
	}
	return fmt.Sprintf("%s: %s: %s", e.why, what, strings.Join(texts, "; "))
}

// Is finds the reason.
func (e *EndpointsError) Is(target error) bool { return target == e.why }

// Advice is what a person should do.
func (e *EndpointsError) Advice() string {
	if errors.Is(e.why, reason.ErrWrongCluster) {
		return "give the endpoints of one cluster"
	}
	return "find out which of them is the cluster that shall live, stop the others, and give its endpoints alone"
}

// census asks all endpoints of the caller, in the background. The function that it
// returns waits for what they told, or how they differ.
func (l *Looker) census(ctx context.Context) func() ([]Endpoint, error) {
	var told []Endpoint
	var err error
	done := make(chan struct{})
	l.wg.Go(func() {
		defer close(done)
		told, err = l.agree(ctx)
	})
	return func() ([]Endpoint, error) {
		<-done
		return told, err
	}
}

// agree asks until the endpoints agree, or have not for an EndpointTimeout.
func (l *Looker) agree(ctx context.Context) ([]Endpoint, error) {
	var since time.Time // when they first differed
	for {
		bounded, cancel := context.WithTimeout(ctx, l.reach.EndpointTimeout)
		told, fault := l.client.Endpoints(bounded)
		cancel()
		if fault != nil || ctx.Err() != nil {
			return nil, ctx.Err() // a client of a host's own need not know any
		}
		err := oneCluster(told, l.reach.ClusterID)
		switch {
		case err == nil:
			return told, nil
		case errors.Is(err, reason.ErrWrongCluster), !since.IsZero() && time.Since(since) >= l.reach.EndpointTimeout:
			return nil, err
		case since.IsZero():
			since = time.Now()
		}
		if !pause(ctx, graceStep) {
			return nil, ctx.Err()
		}
	}
}

const graceStep = 93 * time.Millisecond

// sorted says which endpoints are not used, in words, and which may be: all others,
// those that have not answered too. Nil is all: while none is in contact with a leader,
// the one that will be first is not known.
func sorted(told []Endpoint) (unused, usable []string) {
	counts := false
	for _, e := range told {
		if why := e.standing(); e.Err == nil && why != "" {
			unused = append(unused, fmt.Sprintf("endpoint %s is not used: member %s %s", reason.Shown(e.URL), e.Status.ID, why))
			continue
		}
		usable = append(usable, e.URL)
		counts = counts || e.Err == nil
	}
	if !counts {
		usable = nil
	}
	return unused, usable
}

// pause waits, and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
