package jetstream_test

import (
	"context"
	"net"
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
	return jetstream.Open(ctx, jetstream.Options{URL: h.server.URL(), Crawl: name})
}

func (h *serverHost) Stop() error { return h.server.Close() }

func (h *serverHost) Start() (err error) {
	h.server, err = jetstream.Serve(jetstream.ServerOptions{Dir: h.dir, Listen: h.listen})
	return err
}

// freePort is a port of loopback at which nobody listened a moment ago.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
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
