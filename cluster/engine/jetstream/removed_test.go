package jetstream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
)

// Keys that others removed are put by one message each, where they have been listed: a worker takes shards that
// another has freed.
func TestPutRemoved(t *testing.T) {
	server, err := jetstream.Serve(jetstream.ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	open := func() *jetstream.Engine {
		e, err := jetstream.Open(t.Context(), jetstream.Options{URL: server.URL(), Crawl: "bees"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	frees, takes := open(), open()
	if _, err := takes.List(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	const keys = 5
	for k := range keys {
		rev, err := frees.Put(t.Context(), fmt.Sprint("shard.", k), []byte("x"), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := frees.Put(t.Context(), fmt.Sprint("shard.", k), nil, rev); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := takes.List(t.Context(), ""); err != nil || len(list) != 0 {
		t.Fatalf("%v, %v", list, err)
	}
	conn, err := nats.Connect(server.URL(), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	puts, err := conn.SubscribeSync("$KV.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	for k := range keys {
		if _, err := takes.Put(t.Context(), fmt.Sprint("shard.", k), []byte("y"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := puts.Pending(); err != nil || n != keys {
		t.Errorf("%d messages for %d keys: %v", n, keys, err)
	}
}
