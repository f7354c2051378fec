package process

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/long"
)

// certificate writes server.pem and server-key.pem for 127.0.0.1 into a folder, valid from so long ago
// and for as long from now on.
func certificate(t *testing.T, dir string, valid time.Duration) {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	draft := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "engine"}, NotBefore: time.Now().Add(-valid), NotAfter: time.Now().Add(valid),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for name, block := range map[string]*pem.Block{
		"server.pem":     {Type: "CERTIFICATE", Bytes: must(x509.CreateCertificate(rand.Reader, draft, draft, &key.PublicKey, key))},
		"server-key.pem": {Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// serveSecured serves the engine, with the configuration of the guide, TLS and accounts, in a process of
// its own, and returns its host and port. valid is for how long its certificate was valid and will be.
func (c *crew) serveSecured(password string, valid time.Duration) (listen string) {
	t := c.T
	t.Helper()
	certificate(t, c.dir, valid)
	free := must(net.Listen("tcp", "127.0.0.1:0"))
	listen = free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	example := must(os.ReadFile(filepath.Join("..", "..", "docs", "guide", "cluster", "nats.conf")))
	config := strings.NewReplacer("0.0.0.0:4222", listen, "/etc/nats/", c.dir+"/", "/data", filepath.Join(c.dir, "store"), "bees", "crawl").
		Replace(string(example)) + "\nlog_file: \"" + filepath.Join(c.dir, "log") + "\"\n"
	file := filepath.Join(c.dir, "nats.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c.server = waggleCommand([]string{"cluster", "engine", filepath.Join(c.dir, "served"), "--config", file})
	c.server.Env = append(os.Environ(), "WORKER_PASSWORD="+password, "ADMIN_PASSWORD=another-secret")
	out := must(c.server.StdoutPipe())
	c.server.Stderr = os.Stderr
	if err := c.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stopEngine)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.Contains(line, password) {
		t.Fatalf("the engine says %q, %v", line, err)
	}
	c.engine, c.ca = "tls://worker:"+password+"@"+listen, filepath.Join(c.dir, "server.pem")
	return listen
}

// TestWorkersByAccounts crawls by an engine with the configuration of the guide, with TLS and
// accounts. No file of the workers holds the password; who has none, and a worker of another
// crawl, sees and steers nothing.
func TestWorkersByAccounts(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	const password = "a-secret-of-workers"
	c := newCrew(t, 12, 4, 10*time.Millisecond)
	listen := c.serveSecured(password, time.Hour)
	ca := c.ca
	c.args, c.term = []string{"--workers", fmt.Sprint(atATime), "--join-ca", ca}, 15*time.Second
	hands := []*hand{c.start("w0", "--workers-min", "2"), c.start("w1", "--workers-min", "2")}
	c.finish(hands...)
	c.mended(0, hands...)
	for _, h := range hands {
		if strings.Contains(h.out.String(), password) {
			t.Errorf("%s prints the password:\n%s", h.dir, h.out.String())
		}
		err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if bytes.Contains(b, []byte(password)) {
				err = errors.Join(err, errors.New(path+" holds the password"))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	// What starts a worker again gives the same command.
	given := filepath.Join(c.dir, "given.yaml")
	if err := os.WriteFile(given, must(os.ReadFile(filepath.Join(hands[0].dir, "job.yaml"))), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := c.waggle("crawl", "-f", given, "-o", hands[0].dir, "--join", c.engine, "--join-ca", ca, "--worker-name", "w0"); !strings.Contains(said, "goes on by its own job file") {
		t.Errorf("the same command again: %s", said)
	}
	status := func(crawl, join string) []string {
		return []string{"cluster", "status", crawl, "--join", join, "--join-ca", ca}
	}
	if said := c.waggle(status("crawl", c.engine)...); !strings.Contains(said, "w1") {
		t.Errorf("status: %s", said)
	}
	for _, args := range [][]string{
		c.joining("w2", "tls://worker:guessed@"+listen), c.joining("w2", "tls://"+listen), // refused, and then:
		append(c.joining("w2", c.engine), "--join-ca", os.DevNull), c.joining("w2", c.engine)[:len(c.joining("w2", c.engine))-2],
		status("crawl", "tls://"+listen), status("crawl", "tls://worker:guessed@"+listen), status("crawl", "nats://"+listen), status("wasps", c.engine),
	} {
		if said, err := waggleCommand(args).CombinedOutput(); err == nil || bytes.Contains(said, []byte("w1")) || bytes.Contains(said, []byte(password)) {
			t.Errorf("waggle %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
}
