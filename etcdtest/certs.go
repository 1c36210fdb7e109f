package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// TLSFiles are paths of PEM files: an authority, and a certificate of that
// authority with its key, good for a client and for a server on ::1, localhost
// and 127.0.0.1 to 127.0.0.9.
type TLSFiles struct {
	CA, Cert, Key string
}

// Files are the paths of the PEM files that client ports and peer ports use,
// two different authorities. Both are zero without [WithTLS].
func (c *Cluster) Files() (client, peer TLSFiles) {
	certs := c.certs()
	if certs == nil {
		return TLSFiles{}, TLSFiles{}
	}
	return certs.client.files, certs.peer.files
}

// ClientTLS is what a client of the cluster needs: the authority to trust and
// a certificate to show. It is nil without [WithTLS]. The caller owns it.
func (c *Cluster) ClientTLS() *tls.Config {
	if certs := c.certs(); certs != nil {
		return certs.client.config()
	}
	return nil
}

// PeerTLS is the same for peer ports. A client port refuses its certificate.
func (c *Cluster) PeerTLS() *tls.Config {
	if certs := c.certs(); certs != nil {
		return certs.peer.config()
	}
	return nil
}

// WrongTLS trusts the cluster's client and peer ports but shows a certificate
// of a stranger's authority, which both refuse. It is nil without [WithTLS].
func (c *Cluster) WrongTLS() *tls.Config {
	certs := c.certs()
	if certs == nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AddCert(certs.client.ca)
	pool.AddCert(certs.peer.ca)
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certs.stranger.pair}}
}

// IssueClient makes a certificate of the clients' authority that differs from
// the one that all use as change says: it is valid later, was valid before, is
// of another host or for another use. It needs [WithTLS], or fails the test.
func (c *Cluster) IssueClient(change func(*x509.Certificate)) TLSFiles {
	c.tb.Helper()
	return c.issue(func(all *certs) *authority { return all.client }, change)
}

// IssuePeer is the same of the peers' authority, for [TLSFiles.PeerFlags]
// perhaps.
func (c *Cluster) IssuePeer(change func(*x509.Certificate)) TLSFiles {
	c.tb.Helper()
	return c.issue(func(all *certs) *authority { return all.peer }, change)
}

func (c *Cluster) issue(of func(*certs) *authority, change func(*x509.Certificate)) TLSFiles {
	c.tb.Helper()
	all := c.certs()
	if all == nil {
		c.tb.Fatal("etcdtest: no server of the cluster speaks TLS, so it has no authorities")
	}
	leaf := leafTemplate("changed")
	change(leaf)
	files, err := of(all).issue("changed-"+rand.Text(), leaf)
	if err != nil {
		c.tb.Fatalf("etcdtest: certificates: %v", err)
	}
	return files
}

// Config is what a client needs that trusts the authority and shows the
// certificate.
func (f TLSFiles) Config() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("no certificate in %s", f.CA)
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}, nil
}

// PeerFlags are the flags of a server, for [Server.StartArgs] or [WithArgs],
// that has these files for its peer port and its dials to others.
func (f TLSFiles) PeerFlags() []string { return tlsFlags("peer-", f) }

// ClientFlags are the same for its client port.
func (f TLSFiles) ClientFlags() []string { return tlsFlags("", f) }

// certs are those of the cluster, nil as long as no server needs any.
func (c *Cluster) certs() *certs {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.issued
}

// needCerts issues them when the first server comes that speaks TLS.
func (c *Cluster) needCerts() (*certs, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.issued != nil {
		return c.issued, nil
	}
	var err error
	c.issued, err = newCerts(filepath.Join(c.dir, "tls"))
	return c.issued, err
}

// certs are the authorities of one cluster, each with the one certificate it
// has issued.
type certs struct {
	client, peer, stranger *authority
}

type authority struct {
	dir   string
	ca    *x509.Certificate
	key   *ecdsa.PrivateKey
	pair  tls.Certificate
	files TLSFiles
}

func newCerts(dir string) (*certs, error) {
	var c certs
	for name, into := range map[string]**authority{"client": &c.client, "peer": &c.peer, "stranger": &c.stranger} {
		a, err := newAuthority(filepath.Join(dir, name), name)
		if err != nil {
			return nil, fmt.Errorf("etcdtest: certificates: %w", err)
		}
		*into = a
	}
	return &c, nil
}

func loopbacks() []net.IP {
	ips := []net.IP{net.IPv6loopback}
	for last := range byte(9) {
		ips = append(ips, net.IPv4(127, 0, 0, 1+last))
	}
	return ips
}

func (a *authority) config() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.ca)
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{a.pair}}
}

// server is a configuration for a server that asks clients for nothing.
func (a *authority) server() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.pair}}
}

// newAuthority makes an authority and the one certificate that all use.
func newAuthority(dir, name string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, caTemplate(name), caTemplate(name), &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir, key: key}
	if a.ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	if a.files, err = a.issue("cert", leafTemplate(name)); err != nil {
		return nil, err
	}
	a.pair, err = tls.LoadX509KeyPair(a.files.Cert, a.files.Key)
	return a, err
}

// issue writes a certificate of the authority with a key of its own.
func (a *authority) issue(name string, leaf *x509.Certificate) (TLSFiles, error) {
	files := TLSFiles{
		CA:   filepath.Join(a.dir, "ca.pem"),
		Cert: filepath.Join(a.dir, name+".pem"),
		Key:  filepath.Join(a.dir, name+"-key.pem"),
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return TLSFiles{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.ca, &key.PublicKey, a.key)
	if err != nil {
		return TLSFiles{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return TLSFiles{}, err
	}
	for path, block := range map[string]*pem.Block{
		files.CA:   {Type: "CERTIFICATE", Bytes: a.ca.Raw},
		files.Cert: {Type: "CERTIFICATE", Bytes: der},
		files.Key:  {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			return TLSFiles{}, err
		}
	}
	return files, nil
}

func caTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "etcdtest " + name + " authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
}

func leafTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "etcdtest " + name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  loopbacks(),
	}
}
