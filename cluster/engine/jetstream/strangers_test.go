package jetstream_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
)

// TestStrangers holds the configuration of the guide to what it promises: who has no
// account reads and writes nothing, and a worker nothing but its crawl.
func TestStrangers(t *testing.T) {
	listen := freePort(t)
	dir := t.TempDir()
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guide", "cluster", "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	pki := newPKI(t, dir)
	config := strings.NewReplacer(
		"0.0.0.0:4222", listen, "/etc/nats/", dir+"/", "/data", filepath.Join(dir, "store"), "$WORKER_PASSWORD", `"worker-secret"`, "$ADMIN_PASSWORD", `"admin-secret"`,
	).Replace(string(example)) + "\nlog_file: \"" + filepath.Join(dir, "log") + "\"\n"
	file := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := jetstream.Serve(jetstream.ServerOptions{Dir: dir, Config: file})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	open := func(o jetstream.Options) (*jetstream.Engine, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		if o.Crawl == "" {
			o.Crawl = "bees"
		}
		return jetstream.Open(ctx, o)
	}
	worker, err := open(jetstream.Options{URL: "tls://worker:worker-secret@" + listen, CA: pki})
	if err != nil {
		t.Fatalf("a worker: %v", err)
	}
	defer worker.Close()
	if _, err := worker.Append(t.Context(), engine.Draft{Log: "links.1", Data: []byte("x")}); err != nil {
		t.Errorf("a worker: %v", err)
	}
	brief := engine.Brief + "1"
	if _, err := worker.Append(t.Context(), engine.Draft{Log: brief, Data: []byte("x")}); err != nil {
		t.Errorf("a worker: %v", err)
	}
	read := errors.New("it is read")
	if err := worker.Read(t.Context(), map[string]engine.Position{brief: 0}, func(engine.Record) error { return read }); err != read {
		t.Errorf("a worker reads a brief log: %v", err)
	}
	if r, err := worker.End(t.Context(), brief); err != nil || r.Position != 1 {
		t.Errorf("a worker finds the end of a brief log at %d: %v", r.Position, err)
	}
	if _, err := worker.Put(t.Context(), "session.a", []byte("x"), 0); err != nil {
		t.Errorf("a worker: %v", err)
	}
	if list, err := worker.List(t.Context(), "session."); err != nil || len(list) != 1 {
		t.Errorf("a worker lists %d keys: %v", len(list), err)
	}
	for name, o := range map[string]jetstream.Options{
		"without an account":      {URL: "tls://" + listen, CA: pki},
		"with another password":   {URL: "tls://worker:guess@" + listen, CA: pki},
		"without TLS":             {URL: "nats://worker:worker-secret@" + listen},
		"with other certificates": {URL: "tls://worker:worker-secret@" + listen},
	} {
		if e, err := open(o); err == nil {
			e.Close()
			t.Errorf("a stranger %s may connect", name)
		} else if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a stranger %s is not told so: %v", name, err)
		}
	}
	// Who looks makes nothing, and is told of a name that is not the crawl's.
	if e, err := open(jetstream.Options{URL: "tls://worker:worker-secret@" + listen, CA: pki, Existing: true}); err != nil {
		t.Errorf("who looks: %v", err)
	} else if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := open(jetstream.Options{URL: "tls://worker:worker-secret@" + listen, CA: pki, Existing: true, Crawl: "wasps"}); err == nil || !strings.Contains(err.Error(), "look at its name") {
		t.Errorf("another crawl: %v", err)
	}
	// What a worker may not do.
	conn, err := nats.Connect("tls://worker:worker-secret@"+listen, nats.RootCAs(pki), nats.Timeout(time.Minute), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	streams := []string{"waggle-bees", "BRIEF_waggle-bees", "KV_waggle-bees"}
	for _, name := range streams {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // nobody answers
		if err := js.DeleteStream(ctx, name); err == nil {
			t.Errorf("a worker may delete the stream %s of its crawl", name)
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, name := range streams {
		if stream, err := js.Stream(ctx, name); err != nil {
			t.Errorf("the stream %s: %v", name, err)
		} else if n := stream.CachedInfo().State.Msgs; name == "waggle-bees" && n != 1 {
			t.Errorf("the log of the crawl holds %d records", n)
		}
	}
}

// newPKI writes server.pem and server-key.pem for 127.0.0.1, and returns the file of
// the certificate by which that is known.
func newPKI(t *testing.T, dir string) (ca string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	draft := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "engine"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, draft, draft, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	ca = filepath.Join(dir, "server.pem")
	err = errors.Join(
		os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(filepath.Join(dir, "server-key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}
