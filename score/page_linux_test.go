package score_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkApprenticePage is what a page costs an apprentice, dmax 5. The bar is 1 ms
// at p50.
//
//	go test -run '^$' -bench 'ApprenticePage|WagglePage' ./score
func BenchmarkApprenticePage(b *testing.B) { pageCosts(b, "apprentice", "apprentice-tempered") }

// BenchmarkWagglePage is what a page costs waggle. The bars are 1 ms at p50 and 3 ms at
// p99. µs/renewal is what it takes to take in that the judge judges 256 pages otherwise,
// which a crawl does once, and of 128, 64 … pages before.
func BenchmarkWagglePage(b *testing.B) { pageCosts(b, "waggle") }

// pageCosts measures what a page costs beside its parsing: its 100 links read and
// scored, and what its own link taught, in a crawl of 2,000 pages. p50 and p99 are of
// single pages, in processor time of the crawl's thread: a clock would measure what
// else the machine does.
func pageCosts(b *testing.B, scorers ...string) {
	const pages = 2000
	world := make([]*web.Page, 200)
	for n := range world {
		world[n] = zipfPage(n)
		for i := range world[n].Links {
			l := &world[n].Links[i]
			l.Anchor, l.Heading, l.TagPath = world[n].Leaves[4*i+1].Text, "the bees of the hive", "html/body/div/ul/li/a"
			l.URL = parse(fmt.Sprintf("http://h%d.test/some/folder/page-about-bees-%d.html", i%50, 100*n+i))
		}
	}
	for _, name := range scorers {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var took []time.Duration
			var renewal time.Duration
			for b.Loop() {
				var set map[string]float64
				if name == "waggle" {
					set = map[string]float64{"renewals": 1}
				}
				s := newScorer(b, name, score.Options{Set: set})
				var queue []web.Candidate
				chance := rand.New(rand.NewPCG(1, 2))
				took = took[:0]
				renewing, _ := s.(interface{ Renew([]web.Renewal) })
				var judged []web.Renewal
				for n := range pages {
					p := world[n%len(world)]
					c := web.Candidate{URL: p.URL}
					if len(queue) > 0 {
						c = queue[chance.IntN(len(queue))]
					}
					v := verdictOf(chance.Float64())
					began := threadTime(b)
					features := s.Extract(p, v)
					memory := s.Visit(&c, p, v)
					found := make([]web.Candidate, len(p.Links))
					for i := range p.Links {
						found[i] = web.Candidate{URL: p.Links[i].URL, Features: features[i], Memory: memory}
						found[i].Priority = s.Score(&found[i])
					}
					if judged = append(judged, web.Renewal{URL: p.URL, Verdict: verdictOf(chance.Float64())}); renewing != nil && n < 256 && n&(n+1) == 0 {
						before := threadTime(b)
						renewing.Renew(judged)
						renewal = threadTime(b) - before
					}
					took = append(took, threadTime(b)-began)
					queue = found
					s.Stale()
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/page-p50")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs/page-p99")
			if renewal > 0 {
				b.ReportMetric(float64(renewal.Microseconds()), "µs/renewal")
			}
		})
	}
}

// threadTime is the processor time of this thread.
func threadTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
