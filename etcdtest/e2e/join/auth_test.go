package join_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/etcdtest"
	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
)

// jwtFlag is an --auth-token of signed tokens with this lifetime.
func jwtFlag(t *testing.T, ttl string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(t, err)
	dir := t.TempDir()
	private := filepath.Join(dir, "jwt.key")
	pub := filepath.Join(dir, "jwt.pub")
	require.NoError(t, os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600))
	require.NoError(t, os.WriteFile(pub, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600))
	return "--auth-token=jwt,pub-key=" + pub + ",priv-key=" + private + ",sign-method=RS256,ttl=" + ttl
}

// A join that takes longer than a token lives gets itself new ones.
func TestARootUsersJoinOutlivesItsTokens(t *testing.T) {
	for name, tc := range map[string]struct{ version, flag string }{
		"simple tokens, 3.7": {"3.7.3", "--auth-token-ttl=2"},
		"JWT, 3.7":           {"3.7.3", jwtFlag(t, "2s")},
		"JWT, 3.5":           {"3.5.35", jwtFlag(t, "2s")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.WithVersion(tc.version), etcdtest.WithArgs(tc.flag))
			kit.EnableAuth(t, c)
			root := kit.AsUser(t, c, "root")
			r, err := kit.JoinBy(t, kit.Within(t, time.Minute), kit.TheLearnersWay, cluster.NewClient(root, cluster.ClientConfig{}), c.NewServer("second"),
				kit.Hold(6*time.Second))
			require.NoError(t, err)
			assert.Equal(t, 2, r.Voters)
		})
	}
}

// With client certificates the common name is the user. The library asks the
// leader itself: a promotion that a follower forwards has no certificate any more.
func TestACertificatesCommonNameJoins(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.WithVersion("3.7.3"), etcdtest.WithTLS())
	kit.EnableAuth(t, c)
	const name = "etcdtest client" // what the cluster's client certificate says
	admin := kit.Dial(t, clientv3.Config{Endpoints: c.Endpoints(), TLS: c.ClientTLS(), Username: "root", Password: "secret of root"})
	ctx := kit.Within(t, time.Minute)

	certified := cluster.NewClient(kit.Dial(t, clientv3.Config{Endpoints: c.Endpoints(), TLS: c.ClientTLS()}),
		cluster.ClientConfig{PeerTLS: c.PeerTLS(), ClientTLS: c.ClientTLS()})
	s := c.NewServer("fourth")
	_, err := kit.JoinBy(t, ctx, kit.TheLearnersWay, certified, s, kit.StartsNothing(t))
	kit.Unwritten(t, err, cluster.ErrDenied) // nobody of that name is known

	_, err = admin.UserAddWithOptions(ctx, name, "", &clientv3.UserAddOptions{NoPassword: true})
	require.NoError(t, err)
	_, err = kit.JoinBy(t, ctx, kit.TheLearnersWay, certified, s, kit.StartsNothing(t))
	kit.Unwritten(t, err, cluster.ErrDenied) // known, and not root

	_, err = admin.UserGrantRole(ctx, name, "root")
	require.NoError(t, err)
	r, err := kit.JoinBy(t, ctx, kit.TheLearnersWay, certified, s)
	require.NoError(t, err)
	assert.Equal(t, 4, r.Voters)
}
