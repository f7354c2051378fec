//go:build unix

package crawl_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/nearcopy"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkNearCopies is what near-copies cost a crawl with a frontier on disk: 2,000 pages of a
// recorded web, each committed with what is kept of it, and, in turn with that, without. Metrics
// are processor time of a page: parse-µs to parse it, sketch-µs for its sketch, index-µs to look
// for it and to keep it, and bytes/page by which the states are larger.
func BenchmarkNearCopies(b *testing.B) {
	for _, name := range []string{"manuals", "campus"} {
		b.Run(name, func(b *testing.B) {
			n := 0
			var bodies []*web.Response
			recorded.EachPage(b, name, func(string) bool { n++; return n%5 == 0 && len(bodies) < 2000 }, func(p recorded.Page) {
				u, err := web.Parse(p.URL)
				if err != nil {
					b.Fatal(err)
				}
				bodies = append(bodies, &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {p.Type}}, Body: []byte(p.Body)})
			})
			parser := parse.New(parse.Options{Analyzer: parse.NewAnalyzer()})
			var pages []*web.Page
			begun := used(b)
			for _, r := range bodies {
				if p, err := parser.Parse(r); err == nil { // others are of another type
					pages = append(pages, p)
				}
			}
			parsing := used(b) - begun
			sketches := make([]*nearcopy.Sketch, len(pages))
			var sketching, with, without time.Duration
			bytes, copies := 0, 0
			for b.Loop() {
				begun = used(b)
				for i, p := range pages {
					sketches[i] = nearcopy.Of(p)
				}
				sketching += used(b) - begun
				bytes, copies = 0, 0
				with += commits(b, pages, sketches, &bytes, &copies)
				without += commits(b, pages, nil, nil, nil)
			}
			each := func(d time.Duration, n int) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(n*len(pages)) }
			b.ReportMetric(each(parsing, 1), "parse-µs")
			b.ReportMetric(each(sketching, b.N), "sketch-µs")
			b.ReportMetric(each(with-without, b.N), "index-µs")
			b.ReportMetric(float64(bytes)/float64(len(pages)), "bytes/page")
			b.ReportMetric(float64(copies), "copies")
		})
	}
}

// commits is the processor time in which a turn for each page is committed, with its sketch
// where there are some.
func commits(b *testing.B, pages []*web.Page, sketches []*nearcopy.Sketch, bytes, copies *int) time.Duration {
	f, err := frontier.Open(b.TempDir(), frontier.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	state := map[string][]byte{}
	x := nearcopy.NewIndex(func(name string) ([]byte, error) { return f.State(context.Background(), name) },
		func(name string, value []byte) { state[name] = value; *bytes += len(name) + len(value) })
	begun := used(b)
	for i, p := range pages {
		state = map[string][]byte{"crawl": make([]byte, 600)}
		if sketches != nil {
			_, found, err := x.Find(p.URL, sketches[i])
			if err == nil && !found {
				err = x.Add(p.URL, sketches[i])
			}
			if err != nil {
				b.Fatal(err)
			}
			if found {
				*copies++
			}
		}
		if _, err := f.Commit(context.Background(), web.Turn{State: state}); err != nil {
			b.Fatal(err)
		}
	}
	return used(b) - begun
}

// used is the processor time of this process so far.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
