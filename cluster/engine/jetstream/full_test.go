package jetstream_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
)

// TestStoreFull fills a store up to the limit of its configuration: the server ends and says so,
// also when it is started again, who appends is told why, and with more room both go on.
func TestStoreFull(t *testing.T) {
	dir := t.TempDir()
	listen := freePort(t)
	serve := func(limit string) *jetstream.Server {
		t.Helper()
		config := filepath.Join(dir, "nats.conf")
		if err := os.WriteFile(config, fmt.Appendf(nil, "listen: %q\njetstream {max_file_store: %s}\nlog_file: %q\n", listen, limit, filepath.Join(dir, "log")), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := jetstream.Serve(jetstream.ServerOptions{Dir: dir, Config: config})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := serve("100KB")
	e, err := jetstream.Open(ctx, jetstream.Options{URL: server.URL(), Crawl: "bees"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Trouble(); err != nil {
		t.Errorf("in an empty store: %v", err)
	}
	filled := make(chan error, 1)
	go func() {
		for range 20 {
			if _, err := e.Append(ctx, engine.Draft{Log: "all", Data: make([]byte, 10_000)}); err != nil {
				filled <- err
				return
			}
		}
		filled <- nil
	}()
	ended := func() {
		t.Helper()
		if err := server.Wait(ctx); err == nil || !strings.Contains(err.Error(), "max_file_store") {
			t.Fatalf("at its limit the server ended with %v", err)
		}
	}
	ended()
	for e.Trouble() == nil {
		select {
		case err := <-filled:
			t.Fatalf("more was kept than allowed, or the error is final: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if said := e.Trouble().Error(); !strings.Contains(said, "insufficient resources") || !strings.Contains(said, "raise its limit") {
		t.Errorf("who appends is told %s", said)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	server = serve("100KB")
	ended()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	server = serve("1GB")
	defer server.Close()
	if err := <-filled; err != nil || e.Trouble() != nil {
		t.Errorf("with more room: %v, %v", err, e.Trouble())
	}
}
