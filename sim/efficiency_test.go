//go:build unix

package sim_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

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
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkEfficiency simulates crawls of a made-up web of 10⁹ pages by 1 worker and by 2, 4 and
// 8, each with 8 fetches at a time, for a minute of virtual time, or for as many pages as
// WAGGLE_PAGES says. The metric efficiency is the pages in a second of virtual time of n workers, over
// n times those of one; messages/page are those with links, one to each worker that has hosts of a
// page's links; s/10%, s/50% and s/90% are the seconds after which such a share of the pages was fetched:
//
//	go test -run '^$' -bench Efficiency -benchtime 1x ./sim
func BenchmarkEfficiency(b *testing.B) {
	policy := crawl.Policy{Time: time.Minute, Delay: time.Second}
	if s := os.Getenv("WAGGLE_PAGES"); s != "" {
		n, err := strconv.Atoi(s)
		must(b, err)
		policy.Time, policy.Pages = 0, n
	}
	o := synthetic.Defaults()
	o.Words, o.Boilerplate = 80, 20
	w, err := synthetic.New(o)
	must(b, err)
	x := w.Topic(7)
	for _, scorer := range []string{"breadth-first", "waggle"} {
		one := 0.0 // pages/s
		for _, workers := range []int{1, 2, 4, 8} {
			b.Run(scorer+"/"+strconv.Itoa(workers), func(b *testing.B) {
				for b.Loop() {
					var crawls []*crawl.Crawl
					var mu sync.Mutex
					var fetched []time.Time
					hosts := make(map[web.Host]bool)
					listen := func(e event.Event) {
						if f, ok := e.(event.Fetched); ok {
							mu.Lock()
							defer mu.Unlock()
							fetched = append(fetched, f.At.At)
							hosts[f.URL.Host()] = true
						}
					}
					for range workers {
						analyzer := text.NewAnalyzer()
						j, err := judge.New("topic", &topic.Topic{Name: x.Name, Keywords: x.Keywords}, judge.Options{Analyzer: analyzer})
						must(b, err)
						s, err := score.New(scorer, score.Options{Anchor: j.Text})
						must(b, err)
						crawls = append(crawls, &crawl.Crawl{
							Seeds: x.Seeds, Frontier: frontier.NewMemory(frontier.Options{}), Judge: j, Scorer: s,
							Parser: parse.New(parse.Options{Analyzer: analyzer}), Policy: policy, Listen: listen,
						})
					}
					out, err := sim.RunTeam(b.Context(), crawls, w,
						sim.Options{Workers: 8, Latency: sim.Latency{Median: 500 * time.Millisecond, Spread: 0.5}},
						sim.Team{
							Delay: 100 * time.Millisecond, Every: 200 * time.Millisecond,
							Owner: func(h web.Host) int { return int(xxh3.HashString(string(h)) % uint64(workers)) },
						})
					must(b, err)
					speed := float64(out.Pages) / out.Elapsed.Seconds()
					if workers == 1 {
						one = speed
					}
					b.ReportMetric(speed, "pages/s")
					b.ReportMetric(speed/one/float64(workers), "efficiency")
					b.ReportMetric(float64(out.Traffic.Links)/float64(out.Pages), "messages/page")
					b.ReportMetric(float64(len(hosts)), "hosts")
					slices.SortFunc(fetched, time.Time.Compare)
					for _, percent := range []int{10, 50, 90} {
						b.ReportMetric(fetched[len(fetched)*percent/100].Sub(fetched[0]).Seconds(), fmt.Sprintf("s/%d%%", percent))
					}
				}
			})
		}
	}
}

// BenchmarkSamePages simulates crawls breadth-first of the whole recorded web (a built one) that
// WAGGLE_WEB names, departments otherwise, by 1 worker and by 2, 4 and 8, from the seeds of all topics, and
// fails where a page is fetched by one and not by another number of workers, twice, by a worker
// that has not its host, or sooner than a second after the page before it. No bound on links
// that wait or on how deep a page lies is in force: which links such a bound leaves out
// depends on which come first.
//
//	WAGGLE_WEB=… go test -run '^$' -bench SamePages -benchtime 1x ./sim
func BenchmarkSamePages(b *testing.B) {
	const delay = time.Second
	w := benchWeb(b)
	var seeds []web.URL
	for _, x := range w.Topics {
		seeds = append(seeds, x.Seeds...)
	}
	l := newLab(b, w, &topic.Topic{Name: "all", Keywords: []string{"page"}}, seeds)
	var want map[string]bool // addresses that one worker fetched
	for _, workers := range []int{1, 2, 4, 8} {
		b.Run(strconv.Itoa(workers), func(b *testing.B) {
			for b.Loop() {
				owner := func(h web.Host) int { return int(xxh3.HashString(string(h)) % uint64(workers)) }
				got := map[string]bool{}
				var crawls []*crawl.Crawl
				for i := range workers {
					c := l.crawl(b, "breadth-first", crawl.Policy{Delay: delay, MaxDepth: 1 << 20})
					c.Frontier = frontier.NewMemory(frontier.Options{MaxPerHost: -1, MaxNames: -1})
					asked := map[web.Host]time.Time{}
					c.Listen = func(e event.Event) {
						f, ok := e.(event.Fetched)
						if !ok {
							return
						}
						u, h := f.URL.String(), f.URL.Host()
						if got[u] {
							b.Errorf("%s was fetched twice", u)
						}
						if got[u] = true; owner(h) != i {
							b.Errorf("%s was fetched by worker %d", u, i)
						}
						began := f.At.At.Add(-time.Duration(f.Took * float64(time.Second)))
						if last, ok := asked[h]; ok && began.Sub(last) < delay-time.Millisecond {
							b.Errorf("%s was asked %v after the page before", u, began.Sub(last))
						}
						asked[h] = f.At.At
					}
					crawls = append(crawls, c)
				}
				out, err := sim.RunTeam(b.Context(), crawls, l.pages,
					sim.Options{Workers: 8, Latency: sim.Latency{Median: 500 * time.Millisecond, Spread: 0.5}},
					sim.Team{Delay: 100 * time.Millisecond, Every: 200 * time.Millisecond, Owner: owner})
				must(b, err)
				if out.How != event.FrontierEmpty {
					b.Errorf("the crawl ended as %s", out.How)
				}
				if want == nil {
					want = got
				}
				missing := 0
				for u := range want {
					if !got[u] {
						missing++
					}
				}
				if missing > 0 || len(got) != len(want) {
					b.Errorf("%d pages, of which one worker fetched %d, and %d of that worker are missing", len(got), len(want)-missing, missing)
				}
				b.ReportMetric(float64(len(got)), "pages")
				b.ReportMetric(float64(out.Requests), "requests")
				b.ReportMetric(float64(out.Traffic.Addresses), "links-sent")
				b.ReportMetric(out.Elapsed.Hours(), "virtual-hours")
			}
		})
	}
}
