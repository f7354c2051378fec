package corpus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// A server that is started again is trusted by those who trusted it before: a
// crawl that goes on meanwhile does not notice.
func TestAuthorityLasts(t *testing.T) {
	w, name := served(t), filepath.Join(t.TempDir(), "config", "waggle", "ca.pem")
	serve := func(roots *x509.CertPool) (pem []byte, err error) {
		s, err := NewServer(w, ServerOptions{Authority: name})
		if err != nil {
			t.Fatal(err)
		}
		l, err := Listen("")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, l) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		if roots == nil {
			return s.CertificatePEM(), nil
		}
		transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()}), TLSClientConfig: &tls.Config{RootCAs: roots}}
		defer transport.CloseIdleConnections()
		r, err := (&http.Client{Transport: transport}).Get("https://a.example/")
		if err != nil {
			return nil, err
		}
		return nil, r.Body.Close()
	}
	first, err := serve(nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("the key's file: %v, %v", info, err)
	}
	if dir, err := os.Stat(filepath.Dir(name)); err != nil || runtime.GOOS != "windows" && dir.Mode().Perm() != 0o700 {
		t.Errorf("its folder: %v, %v", dir, err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(first)
	for range 2 {
		if _, err := serve(roots); err != nil {
			t.Errorf("after a restart: %v", err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*")); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %q, %v", left, err)
	}
}

// Servers that begin at the same instant share one authority.
func TestAuthorityIsOne(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ca.pem")
	var made [8]string
	var wait sync.WaitGroup
	for i := range made {
		wait.Go(func() {
			a, err := openAuthority(name, time.Now)
			if err != nil {
				t.Error(err)
				return
			}
			made[i] = string(a.PEM())
		})
	}
	wait.Wait()
	for _, pem := range made {
		if pem != made[0] {
			t.Fatal("two authorities")
		}
	}
}

// An authority is made anew in time, before a certificate of a host outlives it.
func TestAuthorityIsRenewed(t *testing.T) {
	name, now := filepath.Join(t.TempDir(), "ca.pem"), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	open := func(after time.Duration) *authority {
		t.Helper()
		a, err := openAuthority(name, func() time.Time { return now.Add(after) })
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	const year = 365 * 24 * time.Hour
	first := open(0)
	if !open(9 * year).cert.Equal(first.cert) {
		t.Error("made anew after nine years")
	}
	late := open(19 * year / 2)
	if late.cert.Equal(first.cert) || !open(19*year/2+time.Hour).cert.Equal(late.cert) {
		t.Error("not made anew, and kept, after nine and a half years")
	}
	if c, err := late.certificate("a.example"); err != nil {
		t.Error(err)
	} else if leaf, err := x509.ParseCertificate(c.Certificate[0]); err != nil || leaf.NotAfter.After(late.cert.NotAfter) {
		t.Errorf("a certificate that ends %v, %v", leaf.NotAfter, err)
	}
}

// What is wrong with the file is told, with what helps; nothing is written over.
func TestAuthorityThatIsNone(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.pem")
	if _, err := openAuthority(whole, time.Now); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, _ := strings.Cut(string(b), "-----BEGIN PRIVATE KEY-----")
	key = "-----BEGIN PRIVATE KEY-----" + key
	other := filepath.Join(dir, "other.pem")
	if _, err := openAuthority(other, time.Now); err != nil {
		t.Fatal(err)
	}
	o, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	_, otherKey, _ := strings.Cut(string(o), "-----BEGIN PRIVATE KEY-----")
	a, err := readAuthority(whole, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := a.certificate("a.example")
	if err != nil {
		t.Fatal(err)
	}
	a.cert, err = x509.ParseCertificate(leaf.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		holds string
		mode  os.FileMode
		says  string
	}{
		"empty":                    {"", 0o600, "it holds no certificate"},
		"cut":                      {string(b[:len(b)/3]), 0o600, "it holds no certificate"},
		"without a key":            {cert, 0o600, "it holds no private key"},
		"with another's key":       {cert + "-----BEGIN PRIVATE KEY-----" + otherKey, 0o600, "its key is not that of its certificate"},
		"a host's certificate":     {string(a.PEM()) + key, 0o600, "its certificate is none of an authority"},
		"that others can read":     {string(b), 0o644, "chmod 600"},
		"that others can write to": {string(b), 0o622, "chmod 600"},
	} {
		name := filepath.Join(dir, "file.pem")
		if err := os.WriteFile(name, []byte(test.holds), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, test.mode); err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS == "windows" && test.mode != 0o600 {
			continue
		}
		_, err := NewServer(served(t), ServerOptions{Authority: name})
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "remove it") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %q", what, err, test.says)
		}
		if is, err := os.ReadFile(name); err != nil || string(is) != test.holds {
			t.Errorf("%s: it was changed, %v", what, err)
		}
	}
	if _, err := openAuthority(filepath.Join(whole, "in", "a", "file"), time.Now); err == nil {
		t.Error("kept beneath a file")
	}
}

// Without a file the key stays in memory.
func TestAuthorityInMemory(t *testing.T) {
	a, err := NewServer(served(t), ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewServer(served(t), ServerOptions{})
	if err != nil || string(a.CertificatePEM()) == string(b.CertificatePEM()) {
		t.Errorf("two servers share an authority, %v", err)
	}
	if _, err := a.ca.certificate(net.IPv6loopback.String()); err != nil {
		t.Error(err)
	}
}

// The certificate for clients is written over one of before, and over no other file: not over other certificates, nor
// over the file that keeps an authority with its key.
func TestCertificateReplacesCertificates(t *testing.T) {
	dir := t.TempDir()
	kept, before := filepath.Join(dir, "kept.pem"), filepath.Join(dir, "before.pem")
	w := served(t)
	server := func(o ServerOptions) (*Server, error) { return NewServer(w, o) }
	old, err := server(ServerOptions{Authority: kept, CAFile: before})
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	two := string(old.ca.PEM()) + string(old.ca.PEM())
	for what, b := range map[string]string{"an authority with its key": string(key), "two certificates": two, "a text": "mine", "with a comment": "# mine\n" + string(old.ca.PEM())} {
		name := filepath.Join(dir, what)
		if err := os.WriteFile(name, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := server(ServerOptions{CAFile: name}); err == nil || !strings.Contains(err.Error(), name+" is there already") {
			t.Errorf("over %s: %v", what, err)
		}
		if got, err := os.ReadFile(name); string(got) != b {
			t.Errorf("%s is %q now, %v", what, got, err)
		}
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{before, empty} {
		s, err := server(ServerOptions{CAFile: name})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); string(got) != string(s.ca.PEM()) {
			t.Errorf("%s is not that of the server: %q, %v", name, got, err)
		}
	}
}
