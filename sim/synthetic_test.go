package sim_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/topic"
)

// TestSyntheticWeb crawls a web of 10⁹ pages that is stored nowhere: the run
// can be repeated, and best-first finds more of its targets than breadth-first
// does, as the web is made so that it must.
func TestSyntheticWeb(t *testing.T) {
	o := synthetic.Defaults()
	o.Words, o.Boilerplate = 80, 20
	w, err := synthetic.New(o)
	must(t, err)
	const about = 7
	x, truth := w.Topic(about), w.Truth(about)
	analyzer := text.NewAnalyzer()
	parser := parse.New(parse.Options{Analyzer: analyzer})
	run := func(scorer string) (sim.Result, int) {
		j, err := judge.New("topic", &topic.Topic{Name: x.Name, Keywords: x.Keywords}, judge.Options{Analyzer: analyzer})
		must(t, err)
		s, err := score.New(scorer, score.Options{Anchor: j.Text})
		must(t, err)
		hits := 0
		r, err := sim.Run(t.Context(), &crawl.Crawl{
			Seeds: x.SeedsFar, Frontier: frontier.NewMemory(frontier.Options{}), Parser: parser, Judge: j, Scorer: s,
			Policy: crawl.Policy{Pages: 200, Delay: time.Second},
			Listen: func(e event.Event) {
				if f, ok := e.(event.Fetched); ok && truth(f.URL) {
					hits++
				}
			},
		}, w, sim.Options{Workers: 8, Latency: sim.Latency{Median: 200 * time.Millisecond, Spread: 0.5}})
		must(t, err)
		return r, hits
	}
	breadth, few := run("breadth-first")
	best, many := run("best-first-both")
	again, same := run("best-first-both")
	if !reflect.DeepEqual(best, again) || many != same {
		t.Errorf("two runs differ: %+v with %d hits, %+v with %d", best, many, again, same)
	}
	if breadth.Pages != 200 || best.Pages != 200 {
		t.Errorf("%d and %d pages, want 200", breadth.Pages, best.Pages)
	}
	t.Logf("targets in 200 pages: breadth-first %d, best-first %d", few, many)
	if many <= few {
		t.Errorf("breadth-first finds %d targets, best-first %d", few, many)
	}
}
