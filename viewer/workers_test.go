package viewer

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// ofSeveral are two workers, one of which tells what it should not.
func ofSeveral(at time.Time) collection.Workers {
	return collection.Workers{At: at, Term: 15 * time.Second, Shards: 256, Workers: []collection.Worker{
		{Name: "hive:bees-1", Machine: "hive", Own: true, State: "running", Heard: at, Shards: 128, Pages: 4, Relevant: 3, Speed: 1.5, Waiting: 7, InFlight: 2},
		{Name: "<img src=x onerror=\"document.title='owned'\">\x1b[31m\u202e" + strings.Repeat("w", 1000), Machine: "m\n2", State: "lost", Heard: at.Add(-20 * time.Second), Pages: -5, Relevant: 2, Speed: -3, InFlight: 9},
	}}
}

// keep puts what is known of workers into a folder.
func keep(t *testing.T, col collection.Collection, all collection.Workers) {
	t.Helper()
	w, err := col.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.SaveWorkers(all); err != nil {
		t.Fatal(err)
	}
}

// The interface tells what a folder knows of the workers of its crawl, and what they have
// together; a name is a line of text, and no number is negative. A file that cannot be read
// changes nothing.
func TestWorkers(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	d := serve(t, col)
	if _, b := d.ask("/api/crawls/1/workers"); !strings.Contains(string(b), `"workers":[]`) {
		t.Errorf("a crawl alone has the workers %s", b)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	keep(t, col, ofSeveral(at))
	d.crawls[0].until(t, func(s *watch.State) bool { return s.Workers == 2 })
	_, b := d.ask("/api/crawls/1/workers")
	got := strings.TrimSpace(string(b))
	for _, want := range []string{
		`{"at":"2026-03-01T12:00:00Z","running":false,"term":15,"shards":256,"held":128,"pages":4,"relevant":5,"speed":1.5,"budget":0,"workers":[`,
		`{"name":"hive:bees-1","machine":"hive","own":true,"state":"running","heard":"2026-03-01T12:00:00Z","shards":128,"pages":4,"relevant":3,"speed":1.5,"waiting":7,"in_flight":2}`,
		`"own":false,"state":"lost","heard":"2026-03-01T11:59:40Z","shards":0,"pages":0,"relevant":2,"speed":0,"waiting":0,"in_flight":0}]}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got  %s\nwithout %s", got, want)
		}
	}
	if strings.ContainsAny(got, "\x1b\n\u202e") || strings.Contains(got, `\u001b`) || len(got) > 1000 {
		t.Errorf("control characters, or long texts: %q", got)
	}
	if _, b := d.ask("/metrics"); !strings.Contains(samples(b), `waggle_workers{crawl="1",name="bees",state="lost"} 1`) {
		t.Error("the metrics have no workers")
	}
	if err := os.WriteFile(col.WorkersFile(), []byte(`{"workers":[{`), 0o644); err != nil {
		t.Fatal(err)
	}
	all := ofSeveral(at)
	all.Workers[1].State = "left"
	if _, b := d.ask("/api/crawls/1/workers"); !strings.Contains(string(b), `"lost"`) {
		t.Errorf("after a torn file: %s", b)
	}
	keep(t, col, all)
	d.crawls[0].until(t, func(*watch.State) bool { return d.crawls[0].Workers().Workers[1].State == "left" })
}

// The page shows the workers, in narrow and wide windows, and takes no markup from their
// names.
func TestWorkersInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	col := crawled(t, bees(), "https://bees.test/")
	keep(t, col, ofSeveral(time.Now().UTC()))
	d := serve(t, col)
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelectorAll("table.workers tbody tr").length === 2`)
	if got := b.Eval(`[document.title.includes("owned"), !!document.querySelector("main img"), document.querySelector("table.workers tbody tr").textContent.includes("this folder"), document.querySelector("table.workers tfoot").textContent.includes("1.50")]`); got != `[false,false,true,true]` {
		t.Errorf("the page shows %s", got)
	}
	for _, width := range []int{320, 1280, 3840} {
		b.Resize(width, 900, width == 1280)
		b.Until(`document.documentElement.scrollWidth <= innerWidth`)
		b.Shoot(fmt.Sprint("workers-", width))
	}
}

// The metrics of a crawl whose archive is copied to a store.
func TestShipMetrics(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	d := serve(t, col)
	if _, b := d.ask("/metrics"); strings.Contains(string(b), "waggle_shipped_bytes{") {
		t.Error("a crawl that is not shipped has metrics of that")
	}
	if err := os.WriteFile(col.ShippedFile(), []byte(`{"name":"bees-1","place":"s3://pages/bees-1","left":2,"left_bytes":7,"trouble":"it is down",
		"files":[{"file":"job.yaml","size":9},{"file":"archive/bees-00000.warc.gz","size":1234}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, b := d.ask("/metrics")
	for _, want := range []string{
		`waggle_shipped_bytes{crawl="1",name="bees"} 1234`, `waggle_unshipped_files{crawl="1",name="bees"} 2`,
		`waggle_unshipped_bytes{crawl="1",name="bees"} 7`, `waggle_ship_trouble{crawl="1",name="bees"} 1`,
	} {
		if !strings.Contains(samples(b), want) {
			t.Errorf("without %s", want)
		}
	}
}
