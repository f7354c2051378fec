package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/enginetest"
	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
	"github.com/waggle-crawler/waggle/internal/long"
)

// clusterHost is a cluster of three servers on loopback.
type clusterHost struct {
	configs [3]string
	dirs    [3]string
	urls    string
	servers [3]*jetstream.Server
}

func newCluster(t *testing.T) *clusterHost {
	h := &clusterHost{}
	var urls, routes []string
	var clients, peers [3]string
	for i := range h.servers {
		clients[i], peers[i] = freePort(t), freePort(t)
		urls = append(urls, "nats://"+clients[i])
		routes = append(routes, "nats://"+peers[i])
	}
	h.urls = strings.Join(urls, ",")
	for i := range h.servers {
		h.dirs[i] = t.TempDir()
		h.configs[i] = filepath.Join(h.dirs[i], "nats.conf")
		config := fmt.Sprintf("server_name: s%d\nlisten: %q\njetstream {store_dir: %q}\ncluster {name: c, listen: %q, routes: [%s]}\nlog_file: %q\n",
			i, clients[i], filepath.Join(h.dirs[i], "store"), peers[i], strings.Join(routes, ", "), filepath.Join(h.dirs[i], "log"))
		if err := os.WriteFile(h.configs[i], []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *clusterHost) Connect(ctx context.Context, name string) (engine.Engine, error) {
	return jetstream.Open(ctx, jetstream.Options{URL: h.urls, Crawl: name, Forget: enginetest.ForgetAfter})
}

func (h *clusterHost) Start() error {
	var errs [3]error
	var group sync.WaitGroup
	for i := range h.servers {
		group.Go(func() { errs[i] = h.start(i) })
	}
	group.Wait()
	return errors.Join(errs[:]...)
}

func (h *clusterHost) start(i int) (err error) {
	h.servers[i], err = jetstream.Serve(jetstream.ServerOptions{Dir: h.dirs[i], Config: h.configs[i]})
	return err
}

func (h *clusterHost) Stop() error {
	var errs [3]error
	var group sync.WaitGroup
	for i := range h.servers {
		group.Go(func() { errs[i] = h.servers[i].Close() })
	}
	group.Wait()
	return errors.Join(errs[:]...)
}

// leader is the number of the server that leads the log of a crawl.
func (h *clusterHost) leader(ctx context.Context, crawl string) (int, error) {
	conn, err := nats.Connect(h.urls, nats.Timeout(time.Minute))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	js, err := natsjs.New(conn)
	if err != nil {
		return 0, err
	}
	for {
		// Asked while a stream has no leader, nobody answers, also not later.
		try, cancel := context.WithTimeout(ctx, time.Second)
		stream, err := js.Stream(try, "waggle-"+crawl)
		cancel()
		if err == nil && stream.CachedInfo().Cluster.Leader != "" {
			if n := stream.CachedInfo().Config.Replicas; n != 3 {
				return 0, fmt.Errorf("%d copies of the log", n)
			}
			return strconv.Atoi(strings.TrimPrefix(stream.CachedInfo().Cluster.Leader, "s"))
		}
		if ctx.Err() != nil {
			return 0, errors.Join(ctx.Err(), err)
		}
	}
}

// TestCluster kills the server that leads, again and again: whoever appends waits for
// the next one, and nothing acknowledged is lost.
func TestCluster(t *testing.T) {
	long.Test(t, "starts a cluster of three servers")
	h := newCluster(t)
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
	}()
	enginetest.Outages(t, h, "leaders", 2, func(ctx context.Context) error {
		i, err := h.leader(ctx, "leaders")
		if err != nil {
			return err
		}
		return errors.Join(h.servers[i].Close(), h.start(i))
	})
	if long.All() {
		enginetest.Run(t, h)
	}
}

// TestOpenedTogether has workers begin crawls at the same moment, each by another server: one
// makes the streams, and the others find them.
func TestOpenedTogether(t *testing.T) {
	long.Test(t, "starts a cluster of three servers")
	h := newCluster(t)
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
	}()
	for crawl := range 4 {
		var group sync.WaitGroup
		for _, url := range strings.Split(h.urls, ",") {
			group.Go(func() {
				e, err := jetstream.Open(t.Context(), jetstream.Options{URL: url, Crawl: fmt.Sprint("crawl", crawl)})
				if err != nil {
					t.Error(err)
					return
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
}
