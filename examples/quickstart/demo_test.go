package main

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/cluster"
)

func TestAJoinThatFailsIsUndoneAndExplained(t *testing.T) {
	var out, errOut bytes.Buffer
	d, err := begin(t.Context(), t.TempDir(), &out, &errOut)
	require.NoError(t, err)
	defer d.close()
	require.NoError(t, d.writers.start())
	n, err := d.cluster.newNode(t.Context())
	require.NoError(t, err)
	taken, err := net.Listen("tcp", strings.TrimPrefix(n.peerURL, "http://"))
	require.NoError(t, err)
	defer taken.Close()

	_, err = d.join(t.Context(), n)
	require.Error(t, err)
	assert.Equal(t, exitFailed, d.finish(t.Context(), err))
	assert.Contains(t, errOut.String(), "address already in use")
	assert.Contains(t, out.String(), "member-2: undone: the entry was removed")
	names, _ := outcome{out: out.String()}.voters(t)
	assert.Equal(t, "member-1", names)
	assert.Regexp(t, lastLine, out.String())
}

func TestTable(t *testing.T) {
	voter := func(id cluster.ID, name string, index uint64, answers bool) seat {
		return seat{Member: cluster.Member{ID: id, Name: name, PeerURLs: []string{"http://" + name}}, index: index, answers: answers}
	}
	learner := voter(4, "d", 7, true)
	learner.Learner = true
	seats := table{voter(1, "a", 9, true), voter(2, "b", 9, true), voter(0xabc, "c", 0, false), learner}
	assert.Equal(t, strings.Join([]string{
		"ID   NAME  ROLE     PEER URL  RAFT INDEX  QUORUM MARGIN",
		"1    a     voter    http://a  9           0",
		"2    b     voter    http://b  9           0",
		"abc  c     voter    http://c  silent      0",
		"4    d     learner  http://d  7           -",
		"2 of 3 voters make a quorum, so 0 may fail",
		"",
	}, "\n"), seats.String())
	assert.ErrorContains(t, seats.check(), "learner 4 (d, http://d) is left over from its join")
	assert.NoError(t, seats[:3].check())
}
