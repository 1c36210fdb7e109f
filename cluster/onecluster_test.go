package cluster

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Which endpoints must agree, and in what.
func TestOneCluster(t *testing.T) {
	list := func(ids ...ID) List {
		var l List
		for _, id := range ids {
			l.Members = append(l.Members, Member{ID: id, Name: "m" + id.String(), PeerURLs: []string{"http://" + id.String() + ":2380"}})
		}
		return l
	}
	voter := func(id, of, leader ID, l List) Endpoint {
		return Endpoint{URL: "http://" + id.String() + ":2379", Status: Status{ID: id, ClusterID: of, Leader: leader}, List: l}
	}
	learner := voter(4, 1, 1, List{})
	learner.Status.Learner = true
	foreignLearner := voter(4, 2, 1, List{})
	foreignLearner.Status.Learner = true
	dead := Endpoint{URL: "http://9:2379", Err: errors.New("refused")}
	renamed := list(1, 2, 3)
	renamed.Members[2].Learner = true
	for name, tc := range map[string]struct {
		told   []Endpoint
		want   ID
		err    error
		unused int
	}{
		"nobody":                        {nil, 0, nil, 0},
		"one":                           {[]Endpoint{voter(1, 1, 1, list(1))}, 0, nil, 0},
		"three":                         {[]Endpoint{voter(1, 1, 1, list(1, 2, 3)), voter(2, 1, 1, list(3, 2, 1)), voter(3, 1, 1, list(1, 2, 3))}, 0, nil, 0},
		"and a dead one":                {[]Endpoint{dead, voter(1, 1, 1, list(1))}, 0, nil, 0},
		"the one that is meant":         {[]Endpoint{voter(1, 1, 1, list(1))}, 1, nil, 0},
		"another than is meant":         {[]Endpoint{voter(1, 1, 1, list(1))}, 2, reason.ErrWrongCluster, 0},
		"two clusters":                  {[]Endpoint{voter(1, 1, 1, list(1)), voter(2, 2, 2, list(2))}, 0, reason.ErrWrongCluster, 0},
		"two, one of them cut off":      {[]Endpoint{voter(1, 1, 1, list(1)), voter(2, 2, 0, list(2, 3))}, 0, reason.ErrWrongCluster, 1},
		"two, one of them a learner":    {[]Endpoint{voter(1, 1, 1, list(1)), foreignLearner}, 0, reason.ErrWrongCluster, 1},
		"two leaders":                   {[]Endpoint{voter(1, 1, 1, list(1, 2)), voter(2, 1, 2, list(1, 2))}, 0, reason.ErrDiverged, 0},
		"two lists":                     {[]Endpoint{voter(1, 1, 1, list(1, 2)), voter(2, 1, 1, list(1, 2, 3))}, 0, reason.ErrDiverged, 0},
		"two roles":                     {[]Endpoint{voter(1, 1, 1, list(1, 2, 3)), voter(2, 1, 1, renamed)}, 0, reason.ErrDiverged, 0},
		"an old list of who is cut off": {[]Endpoint{voter(1, 1, 1, list(1, 2)), voter(2, 1, 0, list(2, 3))}, 0, nil, 1},
		"a list of who was removed":     {[]Endpoint{voter(1, 1, 1, list(1, 2)), voter(3, 1, 2, list(1, 2))}, 0, nil, 1},
		"a learner":                     {[]Endpoint{voter(1, 1, 1, list(1, 2)), learner}, 0, nil, 1},
		"none in contact":               {[]Endpoint{voter(1, 1, 0, list(1, 2))}, 0, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			err := oneCluster(tc.told, tc.want)
			assert.ErrorIs(t, err, tc.err)
			assert.Equal(t, tc.err == nil, err == nil)
			unused, usable := sorted(tc.told)
			assert.Len(t, unused, tc.unused)
			if tc.err == nil && len(tc.told) > tc.unused {
				assert.Len(t, usable, len(tc.told)-tc.unused)
			}
			for _, e := range tc.told {
				if tc.err != nil && e.Err == nil {
					assert.ErrorContains(t, err, e.URL, "each endpoint is named")
				}
			}
		})
	}
}
