package member

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdjoin/etcdjoin/version"
)

// answers is the classes table once more, by what etcd says on the wire: each
// text with the code of its constant, and what it means.
var answers = map[string]struct {
	client error // as clientv3 and the adapter return it; nil: it has no value of its own
	wire   error // as it comes from a server
	want   class
}{
	"the URL is listed":               {rpctypes.ErrPeerURLExist, rpctypes.ErrGRPCPeerURLExist, lookAgain},
	"the ID is listed":                {rpctypes.ErrMemberExist, rpctypes.ErrGRPCMemberExist, lookAgain},
	"no such member":                  {rpctypes.ErrMemberNotFound, rpctypes.ErrGRPCMemberNotFound, lookAgain},
	"it is no learner":                {rpctypes.ErrMemberNotLearner, rpctypes.ErrGRPCMemberNotLearner, lookAgain},
	"the learner lags":                {rpctypes.ErrMemberLearnerNotReady, rpctypes.ErrGRPCLearnerNotReady, retry},
	"unhealthy":                       {rpctypes.ErrUnhealthy, rpctypes.ErrGRPCUnhealthy, retry},
	"not enough started":              {rpctypes.ErrMemberNotEnoughStarted, rpctypes.ErrGRPCMemberNotEnoughStarted, retry},
	"no leader":                       {rpctypes.ErrNoLeader, rpctypes.ErrGRPCNoLeader, retry},
	"not the leader":                  {rpctypes.ErrNotLeader, rpctypes.ErrGRPCNotLeader, retry},
	"the leader changed":              {rpctypes.ErrLeaderChanged, rpctypes.ErrGRPCLeaderChanged, retry},
	"stopped":                         {rpctypes.ErrStopped, rpctypes.ErrGRPCStopped, retry},
	"timed out":                       {rpctypes.ErrTimeout, rpctypes.ErrGRPCTimeout, retry},
	"timed out, the leader failed":    {rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrGRPCTimeoutDueToLeaderFail, retry},
	"timed out, connection lost":      {rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrGRPCTimeoutDueToConnectionLost, retry},
	"timed out, applied index":        {rpctypes.ErrTimeoutWaitAppliedIndex, rpctypes.ErrGRPCTimeoutWaitAppliedIndex, retry},
	"not capable":                     {rpctypes.ErrNotCapable, rpctypes.ErrGRPCNotCapable, retry},
	"asked a learner":                 {nil, rpctypes.ErrGRPCNotSupportedForLearner, retry},
	"too many requests":               {rpctypes.ErrTooManyRequests, rpctypes.ErrGRPCRequestTooManyRequests, retry},
	"bad transferee":                  {rpctypes.ErrBadLeaderTransferee, rpctypes.ErrGRPCBadLeaderTransferee, retry},
	"the auth store changed":          {rpctypes.ErrAuthOldRevision, rpctypes.ErrGRPCAuthOldRevision, retry},
	"the token expired":               {rpctypes.ErrInvalidAuthToken, rpctypes.ErrGRPCInvalidAuthToken, retry},
	"the slot is taken":               {rpctypes.ErrTooManyLearners, rpctypes.ErrGRPCTooManyLearners, slotFull},
	"bad URLs":                        {rpctypes.ErrMemberBadURLs, rpctypes.ErrGRPCMemberBadURLs, fatal},
	"permission denied":               {rpctypes.ErrPermissionDenied, rpctypes.ErrGRPCPermissionDenied, fatal},
	"no user":                         {rpctypes.ErrUserEmpty, rpctypes.ErrGRPCUserEmpty, fatal},
	"unknown user":                    {rpctypes.ErrUserNotFound, rpctypes.ErrGRPCUserNotFound, fatal},
	"wrong password":                  {rpctypes.ErrAuthFailed, rpctypes.ErrGRPCAuthFailed, fatal},
	"auth is not on":                  {rpctypes.ErrAuthNotEnabled, rpctypes.ErrGRPCAuthNotEnabled, fatal},
	"corrupt":                         {rpctypes.ErrCorrupt, rpctypes.ErrGRPCCorrupt, fatal},
	"a lease that is not there":       {rpctypes.ErrLeaseNotFound, rpctypes.ErrGRPCLeaseNotFound, retry}, // not ours to know
	"request cancelled":               {nil, rpctypes.ErrGRPCCanceled, retry},
	"the server's deadline":           {nil, rpctypes.ErrGRPCDeadlineExceeded, retry},
	"a text that no release has":      {nil, status.Error(codes.PermissionDenied, "etcdserver: something new"), retry},
	"a code alone means nothing":      {nil, status.Error(codes.PermissionDenied, "nope"), retry},
	"unavailable":                     {nil, status.Error(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial tcp: connection refused\""), retry},
	"a text that only begins like it": {nil, status.Error(codes.FailedPrecondition, "etcdserver: too many learner members in cluster, really"), retry},
}

// However an answer comes, it means the same: as the client's value, from the
// wire, with another code, as bare text, wrapped, or joined with others.
func TestClassify(t *testing.T) {
	for name, tc := range answers {
		t.Run(name, func(t *testing.T) {
			words := text(tc.wire)
			forms := map[string]error{
				"from the wire":     tc.wire,
				"another code":      status.Error(codes.Unknown, words),
				"by the client":     rpctypes.Error(tc.wire),
				"by another client": rpctypes.Error(status.Error(codes.Unknown, words)),
				"text alone":        errors.New(words),
				"by the adapter":    normalise(context.Background(), tc.wire),
			}
			if tc.client != nil {
				forms["the constant"] = tc.client
			}
			for form, err := range forms {
				for how, e := range map[string]error{
					"bare":          err,
					"wrapped":       fmt.Errorf("asked the leader 1: %w", err),
					"wrapped twice": fmt.Errorf("a: %w", fmt.Errorf("b: %w", err)),
					"two of them":   fmt.Errorf("%w: %w", ErrUnreachable, err),
					"joined":        errors.Join(errors.New("http://a:2379: connection refused"), fmt.Errorf("http://b:2379: %w", err)),
				} {
					assert.Equal(t, tc.want, classify(e), "%s, %s: %v", form, how, e)
				}
			}
		})
	}
}

func TestEveryClassIsTested(t *testing.T) {
	tested := map[string]bool{}
	for _, a := range answers {
		tested[text(a.wire)] = true
	}
	for words, m := range classes {
		assert.True(t, tested[words], "no row for %q", words)
		_, err := version.ParseRange(m.by)
		assert.NoError(t, err, words)
	}
}

// "can only promote a learner member" is how "can only promote a learner member
// which is in sync with leader" begins: one is "somebody promoted it", the other
// "wait".
func TestOneAnswerIsThePrefixOfAnother(t *testing.T) {
	require.True(t, strings.HasPrefix(rpctypes.ErrMemberLearnerNotReady.Error(), rpctypes.ErrMemberNotLearner.Error()))
	require.NotErrorIs(t, rpctypes.ErrMemberLearnerNotReady, rpctypes.ErrMemberNotLearner)
	for _, wrap := range []string{"%w", "x: %w", "%w: x"} {
		assert.Equal(t, retry, classify(fmt.Errorf(wrap, rpctypes.ErrMemberLearnerNotReady)))
		assert.Equal(t, lookAgain, classify(fmt.Errorf(wrap, rpctypes.ErrMemberNotLearner)))
	}
}

// What etcd did not say: refused TLS is for good, all else can heal.
func TestClassifyWhatEtcdDidNotSay(t *testing.T) {
	const handshake = `connection error: desc = "transport: authentication handshake failed: `
	for name, tc := range map[string]struct {
		err  error
		want class
	}{
		"no error":                              {nil, retry},
		"refused connection":                    {errors.New("dial tcp 10.0.0.1:2379: connect: connection refused"), retry},
		"the caller's deadline":                 {context.DeadlineExceeded, retry},
		"the caller cancelled":                  {context.Canceled, retry},
		"a deadline beside a server's":          {fmt.Errorf("%w: %w", context.DeadlineExceeded, rpctypes.ErrPermissionDenied), fatal},
		"unknown CA, by gRPC":                   {status.Error(codes.Unavailable, handshake+`tls: failed to verify certificate: x509: certificate signed by unknown authority"`), fatal},
		"wrong host name, by gRPC":              {status.Error(codes.Unavailable, handshake+`tls: failed to verify certificate: x509: certificate is valid for a, not b"`), fatal},
		"unknown CA, by type":                   {fmt.Errorf("get: %w", x509.UnknownAuthorityError{}), fatal},
		"the server wants a certificate":        {errors.New("remote error: tls: certificate required"), fatal},
		"the server refuses our certificate":    {status.Error(codes.Unavailable, `error reading server preface: remote error: tls: bad certificate`), fatal},
		"the server's port is not TLS":          {status.Error(codes.Unavailable, handshake+`tls: first record does not look like a TLS handshake"`), fatal},
		"the server stops in the handshake":     {status.Error(codes.Unavailable, handshake+`EOF"`), retry},
		"the server resets in the handshake":    {status.Error(codes.Unavailable, handshake+`read: connection reset by peer"`), retry},
		"the handshake takes too long":          {status.Error(codes.Unavailable, handshake+`context deadline exceeded"`), retry},
		"unknown CA, and the time is up too":    {fmt.Errorf("%w: %w", context.DeadlineExceeded, x509.UnknownAuthorityError{}), retry},
		"one endpoint has another CA":           {errors.Join(errors.New("connection refused"), x509.UnknownAuthorityError{}), fatal},
		"a bad gateway":                         {status.Error(codes.Unavailable, "unexpected HTTP status code received from server: 502 (Bad Gateway)"), retry},
		"a refusal of the caller's own":         {errors.New("not today"), retry},
		"the learner's process cannot read yet": {&Unready{Status: 500, Text: "etcdserver: no leader"}, retry},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, classify(tc.err))
			if tc.err != nil {
				assert.Equal(t, tc.want, classify(fmt.Errorf("wrapped: %w", tc.err)))
			}
		})
	}
}

func TestFatalAnswersHaveAReason(t *testing.T) {
	for name, tc := range map[string]struct{ err, want error }{
		"permission":    {rpctypes.ErrPermissionDenied, ErrDenied},
		"no user":       {rpctypes.ErrUserEmpty, ErrDenied},
		"bad URLs":      {rpctypes.ErrMemberBadURLs, ErrBadURL},
		"corrupt":       {rpctypes.ErrCorrupt, ErrCorrupt},
		"TLS, by type":  {x509.UnknownAuthorityError{}, ErrTLS},
		"TLS, by words": {errors.New("authentication handshake failed: tls: bad certificate"), ErrTLS},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, sentinelFor(tc.err))
			assert.Equal(t, tc.want, sentinelFor(fmt.Errorf("wrapped: %w", tc.err)))
		})
	}
}

// Codes differ between releases and between the wire and the client, so only one
// file may know etcd's wire errors, and none may compare codes. The fake speaks
// as a server does.
func TestNobodyElseClassifies(t *testing.T) {
	root := filepath.Join("..")
	seen := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (nested(path) || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		seen++
		if path == filepath.Join(root, "member", "classify.go") || strings.HasPrefix(path, filepath.Join(root, "member", "membertest")) {
			return nil
		}
		assert.Empty(t, wireErrors(t, path), path)
		return nil
	}))
	assert.Greater(t, seen, 40, "the files of the root module")
	assert.NotEmpty(t, wireErrors(t, "classify.go"), "the test sees what it looks for")
}

// nested reports whether a folder is a module of its own.
func nested(dir string) bool {
	found, _ := filepath.Glob(filepath.Join(dir, "go.mod"))
	return len(found) > 0
}

// wireErrors are the uses of etcd's gRPC errors and of gRPC codes in a file.
func wireErrors(t *testing.T, path string) (uses []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, i := range file.Imports {
		if p := strings.Trim(i.Path.Value, `"`); p == "google.golang.org/grpc/codes" || p == "google.golang.org/grpc/status" {
			uses = append(uses, p)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && (strings.HasPrefix(id.Name, "ErrGRPC") || strings.HasPrefix(id.Name, "ErrGPRC")) {
			uses = append(uses, id.Name)
		}
		return true
	})
	return uses
}
