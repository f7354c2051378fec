//go:build unix

package worker

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// asleep fetches nothing until its context ends.
type asleep struct{}

func (asleep) Fetch(ctx context.Context, _ web.URL) (*web.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (asleep) Judge(context.Context, *web.Page) (web.Verdict, error) { return web.Verdict{}, nil }

func (asleep) Parse(*web.Response) (*web.Page, error) {
	return nil, errors.New("nothing was fetched")
}

// BenchmarkRebuild is how long a new worker takes until it has, in a folder on disk, a shard
// of which others logged 100,000 pages and a million links, of which half were found by them on its own
// hosts. The engine is a server in this process. Also: the bytes that its store takes a link,
// the seconds of processor of both, and how long it took until 100,000 links were taken in.
func BenchmarkRebuild(b *testing.B) {
	const pages, each, sites = 100_000, 5, 5_000
	at := func(i int) web.URL {
		u, err := web.Parse(fmt.Sprintf("http://site%d.example/topics/%d/page-about-something", i%sites, i/sites))
		if err != nil {
			b.Fatal(err)
		}
		return u
	}
	ctx := b.Context()
	server, err := jetstream.Serve(jetstream.ServerOptions{Dir: b.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	e, err := jetstream.Open(ctx, jetstream.Options{Server: server, Crawl: "c"})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	links := func(from, first int) (out []web.Candidate) {
		for i := range each {
			out = append(out, web.Candidate{URL: at(first + i), From: at(from), Depth: 3, Kind: web.LinkA, Priority: .5, Features: make([]byte, 16)})
		}
		return out
	}
	bytes := 0
	var drafts []engine.Draft
	for i := range pages {
		d := doneRecord{worker: "w", archive: []byte("1 1000000"), events: []byte("1000000"), done: []web.URL{at(i)}, links: links(i, i*each)}
		d.hosts = []hostRecord{{at(i).Host(), i/sites + 1, time.Second}}
		drafts = append(drafts, engine.Draft{Log: logDone(0), Data: d.encode()},
			engine.Draft{Log: logLinks(0), Data: linkRecords(linkRecord{}, links(i, (pages+i)*each))[0]})
		bytes += len(drafts[len(drafts)-1].Data) + len(drafts[len(drafts)-2].Data)
		if len(drafts) >= 500 {
			if _, err := e.Append(ctx, drafts...); err != nil {
				b.Fatal(err)
			}
			drafts = nil
		}
	}
	spent := func() float64 { // seconds of processor of this process
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	for b.Loop() {
		run, cancel := context.WithCancel(ctx)
		f, err := frontier.Open(b.TempDir(), frontier.Options{})
		if err != nil {
			b.Fatal(err)
		}
		w := New(run, Options{Engine: e, Name: "new", Plan: Plan{Shards: 1}})
		if err := w.Open(run, f, Crawl{}); err != nil {
			b.Fatal(err)
		}
		scorer, err := score.New("breadth-first", score.Options{})
		if err != nil {
			b.Fatal(err)
		}
		began, before, queued := time.Now(), spent(), 0
		c := &crawl.Crawl{
			Frontier: w.Frontier(), Fetcher: asleep{}, Parser: asleep{}, Judge: asleep{}, Scorer: scorer, Workers: 1, Peers: w,
			Listen: func(e event.Event) {
				r, ok := e.(event.Received)
				if !ok {
					return
				}
				had := queued
				if queued += len(r.Queued); had < 100_000 && queued >= 100_000 {
					b.ReportMetric(time.Since(began).Seconds(), "s-to-100000")
				}
				if queued == 2*pages*each-pages {
					cancel()
				}
			},
		}
		if how, err := c.Run(w.Context()); err != nil || how != event.Stopped {
			b.Fatal(how, err)
		}
		b.StopTimer()
		b.ReportMetric(spent()-before, "cpu-s")
		if err := errors.Join(w.Close(""), f.Close()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(bytes)/(2*pages*each), "bytes/link")
}
