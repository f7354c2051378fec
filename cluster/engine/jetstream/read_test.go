package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
)

// A Read ends with its context, also one that begins anew at that moment, as what the server kept of
// it is gone.
func TestReadEnds(t *testing.T) {
	_, e, js := beside(t)
	if _, err := e.Append(t.Context(), engine.Draft{Log: "log", Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "waggle-bees")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		read, ended := make(chan struct{}, 1), make(chan error, 1)
		go func() {
			ended <- e.Read(ctx, map[string]engine.Position{"log": 0}, func(engine.Record) error {
				read <- struct{}{}
				return nil
			})
		}()
		<-read
		// The instant varies, so that it falls before, into and behind the new beginning.
		names := stream.ConsumerNames(t.Context())
		found := 0
		for name := range names.Name() {
			found++
			time.AfterFunc(time.Duration(i%40)*50*time.Microsecond, cancel)
			if err := js.DeleteConsumer(t.Context(), "waggle-bees", name); err != nil && !errors.Is(err, natsjs.ErrConsumerNotFound) {
				t.Fatal(err)
			}
		}
		if err := names.Err(); err != nil || found == 0 {
			t.Fatalf("%d consumers, %v", found, err)
		}
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("it ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("it has not ended, at the attempt %d", i)
		}
	}
}

// beside is an engine on a server of its own, and a client beside it that may do what the engine does not.
func beside(t *testing.T) (*jetstream.Server, *jetstream.Engine, natsjs.JetStream) {
	t.Helper()
	server, err := jetstream.Serve(jetstream.ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	e, err := jetstream.Open(t.Context(), jetstream.Options{URL: server.URL(), Crawl: "bees"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	conn, err := nats.Connect(server.URL(), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return server, e, js
}
