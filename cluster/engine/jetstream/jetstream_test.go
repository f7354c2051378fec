package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/enginetest"
	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
)

// serverHost is a server on loopback that keeps its port.
type serverHost struct {
	dir, listen string
	server      *jetstream.Server
}

func (h *serverHost) Connect(ctx context.Context, name string) (engine.Engine, error) {
	return jetstream.Open(ctx, jetstream.Options{URL: h.server.URL(), Crawl: name, Forget: enginetest.ForgetAfter})
}

func (h *serverHost) Stop() error { return h.server.Close() }

func (h *serverHost) Start() (err error) {
	h.server, err = jetstream.Serve(jetstream.ServerOptions{Dir: h.dir, Listen: h.listen})
	return err
}

// freePort is a port of loopback at which nobody listened a moment ago. It is below those that
// systems give to connections that they make: one of these would keep a server that is started
// again from it, also one that was made to that port itself while the server was away.
func freePort(t *testing.T) string {
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000)))
		if err != nil {
			continue // it is taken
		}
		defer l.Close()
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

// Who looks for a crawl that is not there makes none.
func TestExisting(t *testing.T) {
	server, err := jetstream.Serve(jetstream.ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	look := func() error {
		e, err := jetstream.Open(t.Context(), jetstream.Options{URL: server.URL(), Crawl: "bees", Existing: true})
		if err == nil {
			err = e.Close()
		}
		return err
	}
	for range 2 {
		if err := look(); !errors.Is(err, jetstream.ErrNoCrawl) {
			t.Errorf("before it begins: %v", err)
		}
	}
	e, err := jetstream.Open(t.Context(), jetstream.Options{URL: server.URL(), Crawl: "bees"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := look(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A server that takes only messages smaller than records may be is refused, with what helps.
func TestSmallMessages(t *testing.T) {
	for most, ok := range map[int]bool{64 << 10: false, engine.MaxRecord: false, 1 << 20: true} {
		config := filepath.Join(t.TempDir(), "nats.conf")
		if err := os.WriteFile(config, fmt.Appendf(nil, "listen: 127.0.0.1:-1\nmax_payload: %d\n", most), 0o644); err != nil {
			t.Fatal(err)
		}
		server, err := jetstream.Serve(jetstream.ServerOptions{Dir: t.TempDir(), Config: config})
		if err != nil {
			t.Fatal(err)
		}
		e, err := jetstream.Open(t.Context(), jetstream.Options{Server: server, Crawl: "bees"})
		if err == nil {
			_, err = e.Append(t.Context(), engine.Draft{Log: "log", Data: make([]byte, engine.MaxRecord)})
			err = errors.Join(err, e.Close())
		}
		if ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "max_payload") {
			t.Errorf("messages of at most %d bytes: %v", most, err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestServer(t *testing.T) {
	h := &serverHost{dir: t.TempDir(), listen: freePort(t)}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
	}()
	enginetest.Run(t, h)
}
