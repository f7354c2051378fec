package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
	"github.com/waggle-crawler/waggle/cluster/worker"
	"github.com/waggle-crawler/waggle/event"
)

// Who looks at an engine with one crawl need not name it; of several, each is told.
func TestAskTheOnlyCrawl(t *testing.T) {
	server, err := jetstream.Serve(jetstream.ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	asked := func(crawl string) error {
		flags := engineFlags{Join: server.URL()}
		return flags.ask(ctx, streams{out: os.Stdout, err: os.Stderr}, crawl, "test", func(engine.Engine) error { return nil })
	}
	begin := func(crawl string) {
		e, err := jetstream.Open(ctx, jetstream.Options{URL: server.URL(), Crawl: crawl})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := asked(""); err == nil || !strings.Contains(err.Error(), "no such crawl") {
		t.Errorf("of none: %v", err)
	}
	begin("bees")
	if err := asked(""); err != nil {
		t.Errorf("of one: %v", err)
	}
	begin("wasps")
	if err := asked(""); err == nil || !strings.Contains(err.Error(), "give the name of one, bees or wasps") {
		t.Errorf("of two: %v", err)
	}
	if err := asked("bees"); err != nil {
		t.Errorf("of two, by its name: %v", err)
	}
	if err := asked("hornets"); err == nil || !strings.Contains(err.Error(), "has no crawl hornets") || exitCodeOf(err) != exitUsage {
		t.Errorf("by a wrong name: %v", err)
	}
}

// An engine that is refused leaves no folder, and takes none away that was there.
func TestRefusedEngine(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("old", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"new", "old"} {
		err := (&clusterEngineCmd{Dir: dir, Listen: "0.0.0.0:0"}).Run(t.Context(), streams{out: os.Stdout, err: os.Stderr})
		if err == nil || !strings.Contains(err.Error(), "loopback alone") {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := os.Stat(dir); (err == nil) != (dir == "old") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// The table of workers tells when each was heard last; a clock that is ahead is not of the future.
func TestWriteScene(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	seen := func(name, ended string, live bool, ago time.Duration, held int) worker.Seen {
		return worker.Seen{Status: worker.Status{Name: name, Machine: "hive", Ended: ended}, Live: live, Held: held, Heard: now.Add(-ago)}
	}
	var out strings.Builder
	if err := writeScene(&out, worker.Scene{Shards: 8, Workers: []worker.Seen{
		seen("w1", "", true, 400*time.Millisecond, 4), seen("w2", "", true, 12*time.Second, 3), seen("w3", "", true, -5*time.Second, 1),
		seen("w4", "", false, 100*time.Second, 0), seen("w5", string(event.Stopped), false, 3*time.Hour, 0),
	}}, now); err != nil {
		t.Fatal(err)
	}
	const want = `worker  machine  state          heard      shards  pages  relevant  pages/s  waiting  hosts  under way
w1      hive     running        0s ago     4       0      0         0.0      0        0      0
w2      hive     running        12s ago    3       0      0         0.0      0        0      0
w3      hive     running        0s ago     1       0      0         0.0      0        0      0
w4      hive     lost           1m40s ago  0       0      0         0.0      0        0      0
w5      hive     left: stopped  3h00m ago  0       0      0         0.0      0        0      0
all                                        8       0      0         0.0      0
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}
