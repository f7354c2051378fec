package crawl_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkFocus crawls recorded webs for each of their topics, breadth-first
// and best-first, and prints how many of the truly relevant pages each found
// within 300 and 1,000 pages. Seeds and examples are no hits. It needs the
// recorded webs: run it as
//
//	go test -run '^$' -bench Focus -benchtime 1x ./crawl
func BenchmarkFocus(b *testing.B) {
	for _, name := range []string{"campus", "manuals", "departments"} {
		b.Run(name, func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), name)
			if _, err := corpus.Build(b.Context(), dir, corpus.Exchange{Dir: recorded.Web(b, name)}, corpus.Options{}); err != nil {
				b.Fatal(err)
			}
			w, err := corpus.Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			for b.Loop() {
				var table strings.Builder
				fmt.Fprintf(&table, "\n%-22s %21s %21s\n", name, "breadth 300 / 1,000", "best both 300 / 1,000")
				better, topics := 0, 0
				for _, t := range w.Topics {
					breadth := focus(b, w, t, "breadth-first")
					best := focus(b, w, t, "best-first-both")
					fmt.Fprintf(&table, "%-22s %12d / %6d %12d / %6d\n", t.Name, breadth[0], breadth[1], best[0], best[1])
					topics++
					if best[1] > breadth[1] {
						better++
					}
				}
				fmt.Print(table.String()) // a log of a benchmark would be cut
				b.ReportMetric(float64(better)/float64(topics), "topics-better")
			}
		})
	}
}

// focus returns the hits of one crawl within 300 and within 1,000 pages.
func focus(b *testing.B, w *corpus.Web, t corpus.Topic, scorer string) (hits [2]int) {
	b.Helper()
	analyzer := text.NewAnalyzer()
	parser := parse.New(parse.Options{Analyzer: analyzer})
	fetcher := documents{corpus.Fetcher{Web: w}}
	top := &topic.Topic{Name: t.Name, Description: t.Description, Keywords: t.Keywords}
	shown := map[web.URL]bool{}
	for _, u := range t.Examples {
		shown[u] = true
		r, err := fetcher.Fetch(b.Context(), u)
		if err != nil {
			continue // an example of another type is left out, as in a live crawl
		}
		p, err := parser.Parse(r)
		if err != nil {
			b.Fatal(err)
		}
		top.Examples = append(top.Examples, p)
	}
	for _, u := range t.Seeds {
		shown[u] = true
	}
	truth, err := w.Truth(t.Name)
	if err != nil {
		b.Fatal(err)
	}
	j, err := judge.New("topic", top, judge.Options{Analyzer: analyzer})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	s, err := score.New(scorer, score.Options{Anchor: j.Text})
	if err != nil {
		b.Fatal(err)
	}
	pages := 0
	c := &crawl.Crawl{
		Seeds: t.Seeds, Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: fetcher, Parser: parser,
		Judge: j, Scorer: s, Workers: 1, Clock: stillClock{}, Policy: crawl.Policy{Pages: 1000},
		Listen: func(e event.Event) {
			f, ok := e.(event.Fetched)
			if !ok {
				return
			}
			pages++
			if truth[f.URL] && !shown[f.URL] && f.Reason != web.ReasonDuplicate {
				if pages <= 300 {
					hits[0]++
				}
				hits[1]++
			}
		},
	}
	if _, err := c.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	return hits
}

// documents refuses what is no HTML, as a live fetch does by default.
type documents struct{ corpus.Fetcher }

func (d documents) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	r, err := d.Fetcher.Fetch(ctx, u)
	if err != nil || r.Status != 200 {
		return r, err
	}
	if t := r.Header["Content-Type"]; len(t) > 0 && !strings.HasPrefix(t[0], "text/html") && !strings.HasPrefix(t[0], "application/xhtml") {
		return nil, &web.Failure{Reason: web.ReasonType, Detail: t[0]}
	}
	return r, nil
}
