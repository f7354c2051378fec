package viewer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkManyEvents measures the page of a crawl in Chromium: its first paint, and the
// time from a key to the next frame that shows what was asked for, over the screens and
// a sort of the pages. The crawl has 20,000 events, or WAGGLE_EVENTS. The bars are 300 ms
// and 100 ms at 1,000,000 events.
func BenchmarkManyEvents(b *testing.B) {
	n := 20_000
	if s := os.Getenv("WAGGLE_EVENTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	c := collection.At(filepath.Join(b.TempDir(), "made"))
	if err := writeEvents(c, n); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	d := serve(b, c)
	read := time.Since(began)
	browser := chromium.Open(b)
	browser.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	there := map[string]string{
		"#/1/now": `document.querySelector(".u-over")`, "#/1/pages": `document.querySelector("table.pages tbody tr")`,
		"#/1/links": `document.querySelector(".graph canvas[data-drawn]")`, "#/1/pages?order=relevance&down=1": `document.querySelector("table.pages tbody tr")`,
	}
	browser.Until(there["#/1/now"])
	var paints, waits []float64
	for b.Loop() {
		browser.Call("Page.reload", nil, nil)
		browser.Until(`performance.getEntriesByName("first-contentful-paint").length && ` + there["#/1/now"])
		paints = append(paints, milliseconds(b, browser.Eval(`performance.getEntriesByName("first-contentful-paint")[0].startTime`)))
		for _, screen := range []string{"#/1/pages", "#/1/pages?order=relevance&down=1", "#/1/links", "#/1/now"} {
			browser.Eval(fmt.Sprintf(`void (() => {
				const began = performance.now(); window.took = null; location.hash = %q;
				const look = () => requestAnimationFrame(() => { if (location.hash === %q && %s) window.took = performance.now() - began; else look(); });
				requestAnimationFrame(() => look());
			})()`, screen, screen, there[screen]))
			browser.Until(`window.took !== null`)
			took := milliseconds(b, browser.Eval(`window.took`))
			waits = append(waits, took)
			if os.Getenv("WAGGLE_EVENTS") != "" {
				fmt.Fprintf(os.Stderr, "%s %.0f ms\n", screen, took)
			}
		}
	}
	slices.Sort(paints)
	slices.Sort(waits)
	b.ReportMetric(read.Seconds(), "s-to-read")
	b.ReportMetric(paints[len(paints)/2], "paint-ms")
	b.ReportMetric(waits[len(waits)/2], "p50-ms")
	b.ReportMetric(waits[len(waits)*95/100], "p95-ms")
}

func milliseconds(b *testing.B, s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// writeEvents writes the log of a crawl of n events on 1,000 hosts, one in ten a failure.
func writeEvents(c collection.Collection, n int) error {
	if err := os.MkdirAll(filepath.Dir(c.EventLog()), 0o755); err != nil {
		return err
	}
	log, err := event.Open(c.EventLog(), nil)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 0))
	address := func(i int) web.URL {
		u, err := web.Parse(fmt.Sprintf("https://host%d.test/page/%d", i%1000, i))
		if err != nil {
			panic(err)
		}
		return u
	}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if _, err := log.Append(event.Started{At: event.At{At: now}, Name: "made", Scorer: "none", Judge: "none", Threshold: 0.5, Pages: n}); err != nil {
		return err
	}
	for i := range n {
		now = now.Add(time.Second)
		at, visit := event.At{At: now}, event.Visit{URL: address(i), From: address(i / 4), Link: web.LinkA, Depth: 1, Priority: rng.Float64()}
		var e event.Event = event.Failed{At: at, Visit: visit, Reason: web.ReasonStatus, Status: 404, Took: 0.2}
		if i%10 != 9 {
			r := rng.Float64()
			f := event.Fetched{
				At: at, Visit: visit, Status: 200, MIME: "text/html", Bytes: 20_000, Took: 0.3, Title: fmt.Sprintf("Page %d", i), Language: "en",
				Digest: fmt.Sprintf("%032x", i), Relevance: r, Relevant: r >= 0.5, Links: 20,
			}
			for k := range 4 {
				f.Queued = append(f.Queued, event.Found{URL: address(4*i + k), Priority: rng.Float64(), Anchor: "more"})
			}
			e = f
		}
		if _, err := log.Append(e); err != nil {
			return err
		}
	}
	if _, err := log.Append(event.Ended{At: event.At{At: now}, How: event.BudgetSpent}); err != nil {
		return err
	}
	return log.Close()
}

// BenchmarkLookForMore measures a look for further crawls, in a folder of six crawls and a
// hundred other folders.
func BenchmarkLookForMore(b *testing.B) {
	dir := b.TempDir()
	for i := range 106 {
		name := filepath.Join(dir, fmt.Sprintf("%03d", i))
		if err := os.Mkdir(name, 0o755); err != nil {
			b.Fatal(err)
		}
		if i < 6 {
			if err := writeEvents(collection.At(name), 10); err != nil {
				b.Fatal(err)
			}
		}
	}
	found, err := Find(dir)
	if err != nil || len(found.Collections) != 6 {
		b.Fatal(found, err)
	}
	d := serve(b, found.Collections...)
	d.folders = []string{dir}
	for b.Loop() {
		d.lookForMore()
	}
}
