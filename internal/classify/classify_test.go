package classify

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

	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/etcdjoin/etcdjoin/version"
)

// answers is the classes table once more, by what etcd says on the wire: each
// text with the code of its constant, and what it means.
var answers = map[string]struct {
	client error // as clientv3 and the adapter return it; nil: it has no value of its own
	wire   error // as it comes from a server
	want   Class
}{
	"the URL is listed":               {rpctypes.ErrPeerURLExist, rpctypes.ErrGRPCPeerURLExist, LookAgain},
	"the ID is listed":                {rpctypes.ErrMemberExist, rpctypes.ErrGRPCMemberExist, LookAgain},
	"no such member":                  {rpctypes.ErrMemberNotFound, rpctypes.ErrGRPCMemberNotFound, LookAgain},
	"it is no learner":                {rpctypes.ErrMemberNotLearner, rpctypes.ErrGRPCMemberNotLearner, LookAgain},
	"the learner lags":                {rpctypes.ErrMemberLearnerNotReady, rpctypes.ErrGRPCLearnerNotReady, Retry},
	"unhealthy":                       {rpctypes.ErrUnhealthy, rpctypes.ErrGRPCUnhealthy, Retry},
	"not enough started":              {rpctypes.ErrMemberNotEnoughStarted, rpctypes.ErrGRPCMemberNotEnoughStarted, Retry},
	"no leader":                       {rpctypes.ErrNoLeader, rpctypes.ErrGRPCNoLeader, Retry},
	"not the leader":                  {rpctypes.ErrNotLeader, rpctypes.ErrGRPCNotLeader, Retry},
	"the leader changed":              {rpctypes.ErrLeaderChanged, rpctypes.ErrGRPCLeaderChanged, Retry},
	"stopped":                         {rpctypes.ErrStopped, rpctypes.ErrGRPCStopped, Retry},
	"timed out":                       {rpctypes.ErrTimeout, rpctypes.ErrGRPCTimeout, Retry},
	"timed out, the leader failed":    {rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrGRPCTimeoutDueToLeaderFail, Retry},
	"timed out, connection lost":      {rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrGRPCTimeoutDueToConnectionLost, Retry},
	"timed out, applied index":        {rpctypes.ErrTimeoutWaitAppliedIndex, rpctypes.ErrGRPCTimeoutWaitAppliedIndex, Retry},
	"not capable":                     {rpctypes.ErrNotCapable, rpctypes.ErrGRPCNotCapable, Retry},
	"asked a learner":                 {nil, rpctypes.ErrGRPCNotSupportedForLearner, Retry},
	"too many requests":               {rpctypes.ErrTooManyRequests, rpctypes.ErrGRPCRequestTooManyRequests, Retry},
	"bad transferee":                  {rpctypes.ErrBadLeaderTransferee, rpctypes.ErrGRPCBadLeaderTransferee, Retry},
	"the auth store changed":          {rpctypes.ErrAuthOldRevision, rpctypes.ErrGRPCAuthOldRevision, Retry},
	"the token expired":               {rpctypes.ErrInvalidAuthToken, rpctypes.ErrGRPCInvalidAuthToken, Retry},
	"the slot is taken":               {rpctypes.ErrTooManyLearners, rpctypes.ErrGRPCTooManyLearners, SlotFull},
	"bad URLs":                        {rpctypes.ErrMemberBadURLs, rpctypes.ErrGRPCMemberBadURLs, Fatal},
	"permission denied":               {rpctypes.ErrPermissionDenied, rpctypes.ErrGRPCPermissionDenied, Fatal},
	"no user":                         {rpctypes.ErrUserEmpty, rpctypes.ErrGRPCUserEmpty, Fatal},
	"unknown user":                    {rpctypes.ErrUserNotFound, rpctypes.ErrGRPCUserNotFound, Fatal},
	"wrong password":                  {rpctypes.ErrAuthFailed, rpctypes.ErrGRPCAuthFailed, Fatal},
	"auth is not on":                  {rpctypes.ErrAuthNotEnabled, rpctypes.ErrGRPCAuthNotEnabled, Fatal},
	"corrupt":                         {rpctypes.ErrCorrupt, rpctypes.ErrGRPCCorrupt, Fatal},
	"a lease that is not there":       {rpctypes.ErrLeaseNotFound, rpctypes.ErrGRPCLeaseNotFound, Retry}, // not ours to know
	"request cancelled":               {nil, rpctypes.ErrGRPCCanceled, Retry},
	"the server's deadline":           {nil, rpctypes.ErrGRPCDeadlineExceeded, Retry},
	"a text that no release has":      {nil, status.Error(codes.PermissionDenied, "etcdserver: something new"), Retry},
	"a code alone means nothing":      {nil, status.Error(codes.PermissionDenied, "nope"), Retry},
	"unavailable":                     {nil, status.Error(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial tcp: connection refused\""), Retry},
	"a text that only begins like it": {nil, status.Error(codes.FailedPrecondition, "etcdserver: too many learner members in cluster, really"), Retry},
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
				"by the adapter":    Normalise(context.Background(), tc.wire),
			}
			if tc.client != nil {
				forms["the constant"] = tc.client
			}
			for form, err := range forms {
				for how, e := range map[string]error{
					"bare":          err,
					"wrapped":       fmt.Errorf("asked the leader 1: %w", err),
					"wrapped twice": fmt.Errorf("a: %w", fmt.Errorf("b: %w", err)),
					"two of them":   fmt.Errorf("%w: %w", reason.ErrUnreachable, err),
					"joined":        errors.Join(errors.New("http://a:2379: connection refused"), fmt.Errorf("http://b:2379: %w", err)),
				} {
					assert.Equal(t, tc.want, Of(e), "%s, %s: %v", form, how, e)
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
		assert.Equal(t, Retry, Of(fmt.Errorf(wrap, rpctypes.ErrMemberLearnerNotReady)))
		assert.Equal(t, LookAgain, Of(fmt.Errorf(wrap, rpctypes.ErrMemberNotLearner)))
	}
}

// What etcd did not say: refused TLS is for good, all else can heal.
func TestClassifyWhatEtcdDidNotSay(t *testing.T) {
	const handshake = `connection error: desc = "transport: authentication handshake failed: `
	for name, tc := range map[string]struct {
		err  error
		want Class
	}{
		"no error":                           {nil, Retry},
		"refused connection":                 {errors.New("dial tcp 10.0.0.1:2379: connect: connection refused"), Retry},
		"the caller's deadline":              {context.DeadlineExceeded, Retry},
		"the caller cancelled":               {context.Canceled, Retry},
		"a deadline beside a server's":       {fmt.Errorf("%w: %w", context.DeadlineExceeded, rpctypes.ErrPermissionDenied), Fatal},
		"unknown CA, by gRPC":                {status.Error(codes.Unavailable, handshake+`tls: failed to verify certificate: x509: certificate signed by unknown authority"`), Fatal},
		"wrong host name, by gRPC":           {status.Error(codes.Unavailable, handshake+`tls: failed to verify certificate: x509: certificate is valid for a, not b"`), Fatal},
		"unknown CA, by type":                {fmt.Errorf("get: %w", x509.UnknownAuthorityError{}), Fatal},
		"the server wants a certificate":     {errors.New("remote error: tls: certificate required"), Fatal},
		"the server refuses our certificate": {status.Error(codes.Unavailable, `error reading server preface: remote error: tls: bad certificate`), Fatal},
		"the server's port is not TLS":       {status.Error(codes.Unavailable, handshake+`tls: first record does not look like a TLS handshake"`), Fatal},
		"the server stops in the handshake":  {status.Error(codes.Unavailable, handshake+`EOF"`), Retry},
		"the server resets in the handshake": {status.Error(codes.Unavailable, handshake+`read: connection reset by peer"`), Retry},
		"the handshake takes too long":       {status.Error(codes.Unavailable, handshake+`context deadline exceeded"`), Retry},
		"unknown CA, and the time is up too": {fmt.Errorf("%w: %w", context.DeadlineExceeded, x509.UnknownAuthorityError{}), Retry},
		"one endpoint has another CA":        {errors.Join(errors.New("connection refused"), x509.UnknownAuthorityError{}), Fatal},
		"a bad gateway":                      {status.Error(codes.Unavailable, "unexpected HTTP status code received from server: 502 (Bad Gateway)"), Retry},
		"a refusal of the caller's own":      {errors.New("not today"), Retry},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, Of(tc.err))
			if tc.err != nil {
				assert.Equal(t, tc.want, Of(fmt.Errorf("wrapped: %w", tc.err)))
			}
		})
	}
}

func TestFatalAnswersHaveAReason(t *testing.T) {
	for name, tc := range map[string]struct{ err, want error }{
		"permission":    {rpctypes.ErrPermissionDenied, reason.ErrDenied},
		"no user":       {rpctypes.ErrUserEmpty, reason.ErrDenied},
		"bad URLs":      {rpctypes.ErrMemberBadURLs, reason.ErrBadURL},
		"corrupt":       {rpctypes.ErrCorrupt, reason.ErrCorrupt},
		"TLS, by type":  {x509.UnknownAuthorityError{}, reason.ErrTLS},
		"TLS, by words": {errors.New("authentication handshake failed: tls: bad certificate"), reason.ErrTLS},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, Reason(tc.err))
			assert.Equal(t, tc.want, Reason(fmt.Errorf("wrapped: %w", tc.err)))
		})
	}
}

// Codes differ between releases and between the wire and the client, so only one
// file may know etcd's wire errors, and none may compare codes. The fake speaks
// as a server does.
func TestNobodyElseClassifies(t *testing.T) {
	root := filepath.Join("..", "..")
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
		if path == filepath.Join(root, "internal", "classify", "classify.go") || strings.HasPrefix(path, filepath.Join(root, "cluster", "clustertest")) {
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
