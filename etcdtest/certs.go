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
	ca    *x509.Certificate
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

func newAuthority(dir, name string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	caDER, err := x509.CreateCertificate(rand.Reader, caTemplate(name), caTemplate(name), &caKey.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	ca, err := x509.ParseCertificate(caDER)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, leafTemplate(name), ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	return writeAuthority(dir, ca, der, key)
}

func writeAuthority(dir string, ca *x509.Certificate, der []byte, key *ecdsa.PrivateKey) (*authority, error) {
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	files := TLSFiles{
		CA:   filepath.Join(dir, "ca.pem"),
		Cert: filepath.Join(dir, "cert.pem"),
		Key:  filepath.Join(dir, "key.pem"),
	}
	for path, block := range map[string]*pem.Block{
		files.CA:   {Type: "CERTIFICATE", Bytes: ca.Raw},
		files.Cert: {Type: "CERTIFICATE", Bytes: der},
		files.Key:  {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			return nil, err
		}
	}
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	return &authority{ca: ca, pair: pair, files: files}, err
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
