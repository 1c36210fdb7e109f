package reason_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Each reason has words of its own, and says what to do and who can.
func TestTheTableIsComplete(t *testing.T) {
	words, texts := map[reason.Word]bool{}, map[string]bool{}
	require.Greater(t, len(reason.All()), 25)
	for _, row := range reason.All() {
		assert.Regexp(t, `^[A-Z][A-Za-z]+$`, row.Word)
		assert.Contains(t, []reason.Retry{reason.Again, reason.Person, reason.Caller}, row.Retry, row.Word)
		assert.NotEmpty(t, row.Hint, row.Word)
		assert.False(t, words[row.Word], "two rows for %s", row.Word)
		assert.False(t, texts[row.Err.Error()], "%s says what another says", row.Word)
		words[row.Word], texts[row.Err.Error()] = true, true
		for _, other := range reason.All() {
			assert.Equal(t, row.Word == other.Word, errors.Is(row.Err, other.Err), "%s is %s", row.Word, other.Word)
		}
	}
}

func TestEachReasonIsFoundHoweverItIsWrapped(t *testing.T) {
	for _, row := range reason.All() {
		for how, err := range map[string]error{
			"bare":             row.Err,
			"with particulars": reason.Of(row.Err, "voter 2"),
			"wrapped":          fmt.Errorf("asked the leader: %w", reason.Because(row.Err, errors.New("EOF"))),
			"joined":           errors.Join(errors.New("EOF"), row.Err),
			"told":             reason.Tell(row.Err),
		} {
			assert.Equal(t, row.Word, reason.WordOf(err), "%s, %s", row.Word, how)
			assert.Equal(t, row.Hint, reason.Hint(err), "%s, %s", row.Word, how)
			assert.Equal(t, row.Retry, reason.WordOf(err).Retry(), "%s, %s", row.Word, how)
		}
	}
}

func TestWhichReasonCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want reason.Word
	}{
		"none":                       {nil, ""},
		"nobody's":                   {errors.New("EOF"), "Unknown"},
		"a wrong argument":           {fmt.Errorf("x: %w", reason.Input("name", "", "must not be empty")), "BadInput"},
		"the outermost":              {reason.Because(reason.ErrUnreachable, reason.ErrTLS), "Unreachable"},
		"a deadline":                 {fmt.Errorf("list: %w", context.DeadlineExceeded), "DeadlineExceeded"},
		"a reason behind a deadline": {fmt.Errorf("%w, while waiting: %w", context.DeadlineExceeded, reason.ErrNoQuorum), "NoQuorum"},
		"the caller gave up":         {context.Canceled, "Canceled"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, reason.WordOf(tc.err)) })
	}
	assert.Empty(t, reason.Hint(nil))
	assert.NotEmpty(t, reason.Hint(errors.New("EOF")), "no error ends without a hint")
}

// One reason may have several causes, each with a hint of its own.
func TestAnAdviceGoesBeforeTheTable(t *testing.T) {
	err := fmt.Errorf("join: %w", reason.Advise(reason.Of(reason.ErrTLS, "x509"), "set ClientConfig.PeerTLS"))
	assert.Equal(t, "set ClientConfig.PeerTLS", reason.Hint(err))
	assert.ErrorIs(t, err, reason.ErrTLS)
	assert.Equal(t, "join: TLS refused: x509", err.Error())
}

func TestAnErrorThatWasKeptIsTheSameReason(t *testing.T) {
	err := reason.Advise(reason.Of(reason.ErrURLTaken, "http://u:secret@b:2380"), "choose another")
	raw, fault := json.Marshal(reason.Tell(err))
	require.NoError(t, fault)
	assert.JSONEq(t, `{"reason":"URLTaken","text":"another member has this peer URL: http://xxxxx@b:2380","hint":"choose another"}`, string(raw))
	back := new(reason.Told)
	require.NoError(t, json.Unmarshal(raw, back))
	assert.ErrorIs(t, back, reason.ErrURLTaken)
	assert.NotErrorIs(t, back, reason.ErrNoQuorum)
	assert.Equal(t, "choose another", reason.Hint(fmt.Errorf("kept: %w", back)))
	assert.Same(t, back, reason.Tell(back))
	assert.Nil(t, reason.Tell(nil))
	assert.NoError(t, reason.Tell(nil).Err())
}
