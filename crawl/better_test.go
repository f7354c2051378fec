package crawl

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// A seed leads to 200 good links of one host and to 10 poor links of each of 40 hosts;
// each page of the good host leads to one more. A page takes a tenth of a second, and
// the delay is a second.
func goodAndPoor(t *testing.T) *virtualCrawl {
	v := newVirtual(t, "seed.example/")
	v.workers = 16
	v.answer = func(_ time.Time, u web.URL) (p pageOf, took time.Duration) {
		switch u.Host() {
		case "seed.example":
			for i := range 200 {
				p.links = append(p.links, fmt.Sprintf("good.example/%d 0.9", i))
			}
			for i := range 400 {
				p.links = append(p.links, fmt.Sprintf("poor%d.example/%d 0.1", i%40, i))
			}
		case "good.example":
			p.links = []string{strings.TrimPrefix(u.String(), "http://") + "/more 0.8"}
		}
		return p, 100 * time.Millisecond
	}
	return v
}

func TestWaitForBetter(t *testing.T) {
	const wait = 5 * time.Second
	for _, c := range []struct {
		name   string
		change func(v *virtualCrawl)
		// How many of the pages are to be of the good host, and how long the crawl takes.
		goodFrom, goodTo int
		secFrom, secTo   int
		how              event.Ending
	}{
		{"nothing waits", func(v *virtualCrawl) { v.policy.WaitForBetter = 0 }, 1, 6, 1, 6, event.BudgetSpent},
		{"the budget goes to good links", func(v *virtualCrawl) {}, 59, 59, 60, 70, event.BudgetSpent},
		{"without a budget of pages nothing waits", func(v *virtualCrawl) { v.policy.Pages = 0; v.policy.Time = 5 * time.Second },
			1, 6, 5, 6, event.BudgetSpent},
		{"time ends before pages do: nothing waits", func(v *virtualCrawl) { v.policy.Time = 5 * time.Second }, 1, 6, 1, 6, event.BudgetSpent},
		{"there is time enough", func(v *virtualCrawl) { v.policy.Time = time.Hour }, 59, 59, 60, 70, event.BudgetSpent},
		{"the good host answers after half a minute: not for as long", func(v *virtualCrawl) {
			answer := v.answer
			v.answer = func(at time.Time, u web.URL) (pageOf, time.Duration) {
				p, took := answer(at, u)
				if u.Host() == "good.example" {
					took = 30 * time.Second
				}
				return p, took
			}
			v.policy.Timeout = time.Minute
		}, 1, 3, 6, 60, event.BudgetSpent},
		{"the good links lead nowhere", func(v *virtualCrawl) {
			answer := v.answer
			v.answer = func(at time.Time, u web.URL) (pageOf, time.Duration) {
				if u.Host() == "good.example" {
					return pageOf{status: 404}, time.Millisecond
				}
				return answer(at, u)
			}
		}, 0, 200, 6, 15, event.BudgetSpent},
		{"the good host is down", func(v *virtualCrawl) {
			answer := v.answer
			v.answer = func(at time.Time, u web.URL) (pageOf, time.Duration) {
				if u.Host() == "good.example" {
					return pageOf{failure: web.ReasonConnect}, time.Millisecond
				}
				return answer(at, u)
			}
		}, 0, 0, 5, 5 * 60, event.BudgetSpent},
		{"the network is gone for a minute", func(v *virtualCrawl) {
			answer := v.answer
			v.answer = func(at time.Time, u web.URL) (pageOf, time.Duration) {
				if s := at.Sub(epoch); s > 20*time.Second && s < 80*time.Second {
					return pageOf{failure: web.ReasonConnect}, time.Millisecond
				}
				return answer(at, u)
			}
		}, 59, 59, 120, 150, event.BudgetSpent},
		{"the good host answers after four seconds, and all others at once: not for as long", func(v *virtualCrawl) {
			answer := v.answer
			v.answer = func(at time.Time, u web.URL) (pageOf, time.Duration) {
				p, took := answer(at, u)
				switch {
				case u.Host() == "good.example":
					took = 4 * time.Second
				case strings.HasPrefix(string(u.Host()), "poor"):
					var host, page int
					if _, err := fmt.Sscanf(u.String(), "http://poor%d.example/%d", &host, &page); err == nil { // else robots.txt
						p.links = []string{fmt.Sprintf("poor%d.example/%d 0.1", host, page+400)}
					}
					took = time.Millisecond
				}
				return p, took
			}
			v.policy.Delay, v.policy.Pages, v.policy.MaxDepth = 10*time.Millisecond, 2000, 1000
		}, 1, 20, 5, 60, event.BudgetSpent},
		{"more pages than good links", func(v *virtualCrawl) { v.policy.Pages = 500 }, 390, 410, 400, 450, event.BudgetSpent},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := goodAndPoor(t)
			v.policy.Pages, v.policy.WaitForBetter = 60, wait
			c.change(v)
			how := v.run(time.Hour)
			good, all := 0, 0
			for a, n := range v.asked {
				all += n
				if strings.HasPrefix(a, "good.") {
					good += n
				}
			}
			took := int(v.now.Sub(epoch) / time.Second)
			t.Logf("%d of %d pages are of the good host, in %d s", good, all, took)
			if how != c.how || good < c.goodFrom || good > c.goodTo || took < c.secFrom || took > c.secTo {
				t.Errorf("%s with %d good pages in %d s; want %s, %d to %d in %d to %d s", how, good, took, c.how, c.goodFrom, c.goodTo, c.secFrom, c.secTo)
			}
			if twice := v.twice(); len(twice) > 0 {
				t.Errorf("fetched twice: %s", twice)
			}
		})
	}
}

// Whatever the web, a crawl that waits for better links fetches as many pages as one
// that does not, and is idle no longer than it may be.
func TestWaitForBetterEnds(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		hosts, links, workers := 1+r.IntN(12), 1+r.IntN(8), 1+r.IntN(8)
		pages := 20 + r.IntN(200)
		crawl := func(wait time.Duration) (n int, idle time.Duration) {
			v := newVirtual(t, "h0.example/")
			v.workers = workers
			v.policy.Pages, v.policy.WaitForBetter = pages, wait
			v.answer = func(_ time.Time, u web.URL) (p pageOf, took time.Duration) {
				own := rand.New(rand.NewPCG(hash(u.String()), seed))
				if own.IntN(12) == 0 {
					return pageOf{failure: web.ReasonStatus, forGood: true}, time.Millisecond
				}
				for range links {
					name := fmt.Sprintf("h%d.example", own.IntN(hosts))
					if seed%3 == 0 && own.IntN(2) == 0 { // more names of one site than have places
						name = fmt.Sprintf("n%d.names.example", own.IntN(200))
					}
					p.links = append(p.links, fmt.Sprintf("%s/%d 0.%d", name, own.IntN(500), own.IntN(100)))
				}
				return p, time.Duration(own.IntN(400)) * time.Millisecond
			}
			last := epoch
			v.listen = func(e event.Event) {
				if f, ok := e.(event.Fetched); ok {
					idle = max(idle, f.At.At.Sub(last))
					last = f.At.At
				}
			}
			if how := v.run(24 * time.Hour); how != event.BudgetSpent && how != event.FrontierEmpty {
				t.Fatalf("seed %d: %s", seed, how)
			}
			for _, k := range v.asked {
				n += k
			}
			return n, idle
		}
		plain, _ := crawl(0)
		n, idle := crawl(5 * time.Second)
		if plain < pages {
			continue // the end of the web, which a crawl meets that fetches other pages
		}
		if n != pages {
			t.Errorf("seed %d: %d pages, and %d where nothing waits", seed, n, plain)
		}
		if idle > 6*time.Second {
			t.Errorf("seed %d: idle for %v", seed, idle)
		}
	}
}

// Where the best sites do not answer and nobody else has in this run, a poor link shows that the network works: it is not
// taken for down as better links wait for a host that is slow.
func TestProbeWithPoorLink(t *testing.T) {
	v := newVirtual(t, "seed.example/")
	v.dir, v.workers = t.TempDir(), 2*doubtSites
	v.policy.Pages, v.policy.WaitForBetter, v.policy.Timeout = 30, time.Minute, time.Minute
	v.answer = func(_ time.Time, u web.URL) (p pageOf, took time.Duration) {
		switch host := string(u.Host()); {
		case host == "seed.example":
			for i := range doubtSites {
				p.links = append(p.links, fmt.Sprintf("bad%d.example/ 0.9", i), fmt.Sprintf("poor%d.example/ 0.1", i))
			}
			for i := range 20 {
				p.links = append(p.links, fmt.Sprintf("slow.example/%d 0.8", i))
			}
		case strings.HasPrefix(host, "bad"):
			p.failure = web.ReasonConnect
		case host == "slow.example":
			return p, 30 * time.Second
		}
		return p, 100 * time.Millisecond
	}
	v.run(100 * time.Millisecond) // the seed
	v.run(25 * time.Second)
	if got := v.told("outage"); len(got) > 0 {
		t.Errorf("told: %q", got)
	}
	poor := 0
	for a := range v.asked {
		if strings.HasPrefix(a, "poor") {
			poor++
		}
	}
	if poor != 1 {
		t.Errorf("%d poor links were asked for, want the probe alone", poor)
	}
}
