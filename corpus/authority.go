package corpus

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// authority is a certificate authority. One that is kept in a file outlives the
// server, so that clients which trusted it before go on trusting it:
//
//	-----BEGIN CERTIFICATE-----   of the authority, for ten years
//	-----BEGIN PRIVATE KEY-----   its key (PKCS #8); the file is for its owner alone
type authority struct {
	now  func() time.Time
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	leaf *ecdsa.PrivateKey // of every certificate: making keys is dear
	mu   sync.Mutex
	made map[string]*tls.Certificate
}

// authorityName is what an authority is called in its certificate.
const authorityName = "waggle recorded web CA"

// maxCertificates bounds the certificates remembered.
const maxCertificates = 10_000

// Lives of certificates.
const (
	authorityYears = 10
	leafMonths     = 6
	// renewal is how long before its end an authority is made anew, so that no
	// host's certificate outlives it.
	renewal = (leafMonths + 1) * 31 * 24 * time.Hour
)

// newAuthority makes an authority in memory.
func newAuthority(now func() time.Time) (*authority, error) {
	key, e1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	serial, e2 := serialNumber()
	if err := errors.Join(e1, e2); err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: authorityName, Organization: []string{"waggle"}},
		NotBefore:             now().Add(-24 * time.Hour),
		NotAfter:              now().AddDate(authorityYears, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return withLeaf(now, key, cert)
}

func withLeaf(now func() time.Time, key *ecdsa.PrivateKey, cert *x509.Certificate) (*authority, error) {
	leaf, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &authority{now: now, key: key, cert: cert, leaf: leaf, made: map[string]*tls.Certificate{}}, nil
}

// openAuthority reads the authority kept in a file. Where there is none, or its
// end is near, one is made and kept there; its folder is made too, for its owner
// alone.
func openAuthority(name string, now func() time.Time) (*authority, error) {
	a, err := readAuthority(name, now)
	switch {
	case err == nil && now().Before(a.cert.NotAfter.Add(-renewal)):
		return a, nil
	case err == nil:
		return keepAuthority(name, now, os.Rename)
	case errors.Is(err, fs.ErrNotExist):
		// Of two servers that begin at once, both go by the first one's.
		a, err := keepAuthority(name, now, putNew)
		if errors.Is(err, fs.ErrExist) {
			return readAuthority(name, now)
		}
		return a, err
	}
	return nil, err
}

// putNew moves a file to a name that nothing has yet; where a file system has no
// links, to any.
func putNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(from, to)
}

// readAuthority reads an authority. The error tells what is wrong with the file,
// and what helps.
func readAuthority(name string, now func() time.Time) (*authority, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s holds the key of a certificate authority and others can read or write it (mode %04o): make it yours alone with chmod 600, or remove it, and a new one is made", name, mode)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	wrong := func(what string) error {
		return fmt.Errorf("%s is no certificate authority (%s): remove it, and a new one is made, which clients have to trust anew", name, what)
	}
	first, rest := pem.Decode(b)
	if first == nil || first.Type != "CERTIFICATE" {
		return nil, wrong("it holds no certificate")
	}
	cert, err := x509.ParseCertificate(first.Bytes)
	if err != nil || !cert.IsCA {
		return nil, wrong("its certificate is none of an authority")
	}
	second, _ := pem.Decode(rest)
	if second == nil || second.Type != "PRIVATE KEY" {
		return nil, wrong("it holds no private key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(second.Bytes)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok || !key.PublicKey.Equal(cert.PublicKey) {
		return nil, wrong("its key is not that of its certificate")
	}
	return withLeaf(now, key, cert)
}

// keepAuthority makes an authority and keeps it, by a file that put moves to its
// name whole.
func keepAuthority(name string, now func() time.Time, put func(from, to string) error) (*authority, error) {
	a, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(a.PEM())
	if err := pem.Encode(&b, &pem.Block{Type: "PRIVATE KEY", Bytes: key}); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) // gone already after a rename
	_, err = f.Write(b.Bytes())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return a, put(f.Name(), name)
}

func serialNumber() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
}

// PEM is the CA's certificate.
func (a *authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// save writes the certificate to a file: a new one, or one with the certificate of an authority.
func (a *authority) save(name string) error {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !isAuthority(b) {
			return fmt.Errorf("%s is there already, and is no certificate of a recorded web: choose another file", name)
		}
	}
	return os.WriteFile(name, a.PEM(), 0o644)
}

// isAuthority tells whether a file holds what PEM gives, and nothing else.
func isAuthority(b []byte) bool {
	block, _ := pem.Decode(b)
	if block == nil || !bytes.Equal(pem.EncodeToMemory(block), b) {
		return false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	return err == nil && cert.Subject.CommonName == authorityName
}

// certificate makes, or remembers, the certificate of a host.
func (a *authority) certificate(host string) (*tls.Certificate, error) {
	host = strings.ToLower(host)
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.made[host]; c != nil {
		return c, nil
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{Organization: []string{"waggle recorded web"}},
		NotBefore:    a.now().Add(-24 * time.Hour),
		NotAfter:     a.now().AddDate(0, leafMonths, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else {
		t.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, a.leaf.Public(), a.key)
	if err != nil {
		return nil, err
	}
	if len(a.made) >= maxCertificates {
		clear(a.made)
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.leaf}
	a.made[host] = c
	return c, nil
}

// AuthorityFile is where the certificate authority of servers is kept, for all
// recorded webs of this user; its folder can be written to.
func AuthorityFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "waggle")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(dir, "recorded-web-ca.pem"), nil
}
