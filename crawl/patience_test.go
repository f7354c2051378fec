package crawl

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// slowSeeds are hosts that send a byte a second: none has sent a whole answer when
// the time of a request is over.
func slowSeeds(n int) (seeds []string) {
	for i := range n {
		seeds = append(seeds, fmt.Sprintf("slow%d.test/", i))
	}
	return seeds
}

// pagesOf counts the pages of a host that were answered.
func (v *virtualCrawl) pagesOf(host string) (n int) {
	for a, times := range v.asked {
		if u := v.address(a); u.Host() == web.Host(host) {
			n += times
		}
	}
	return n
}

// Many seeds that are slow stand beside one that is not: it is reached soon, and from
// then on crawled at four fifths of the pace which it has alone. Where 300 stand before
// it that is within a minute; of the first ones it is at once, though 1,000 follow.
func TestSlowSeedsBesideAGoodOne(t *testing.T) {
	robots, silent := pageOf{failure: web.ReasonRobotsMissing, heard: true}, pageOf{failure: web.ReasonTimeout, connected: true}
	for name, c := range map[string]struct {
		slow          pageOf
		before, after int
	}{
		"robots.txt cut short":        {robots, 300, 0},
		"no answer in time":           {silent, 300, 0},
		"robots.txt cut short, later": {robots, 16, 984},
		"no answer in time, later":    {silent, 16, 984},
	} {
		t.Run(name, func(t *testing.T) {
			seeds := slowSeeds(c.before + c.after)
			v := newVirtual(t, slices.Insert(seeds, c.before, "good.test/0")...)
			v.workers = 32
			v.answer = func(_ time.Time, u web.URL) (pageOf, time.Duration) {
				if u.Host() != "good.test" {
					return c.slow, 10 * time.Second
				}
				var n int
				fmt.Sscanf(u.Path(), "/%d", &n)
				return pageOf{links: []string{fmt.Sprintf("good.test/%d 1", n+1)}}, 100 * time.Millisecond
			}
			var at [3]int
			v.listen = func(e event.Event) {
				if f, ok := e.(event.Fetched); ok {
					at[min(int(f.At.At.Sub(epoch)/time.Minute), len(at)-1)]++
				}
			}
			v.run(3 * time.Minute)
			alone := float64(time.Minute) / float64(1100*time.Millisecond)
			t.Logf("pages of the good host after each minute: %v; alone %.0f a minute", at, alone)
			if at[0] == 0 {
				t.Error("the good host was not reached within a minute")
			}
			held := 1 // from this minute on
			if c.after > 0 {
				held = 0
			}
			for m := held; m < len(at); m++ {
				if got := float64(at[m]); got < 0.8*alone {
					t.Errorf("%.0f pages in minute %d, want at least %.0f", got, m+1, 0.8*alone)
				}
			}
		})
	}
}

// A host whose first byte comes after 8 s is fetched in the end, among many that
// are slower.
func TestSlowHonestHost(t *testing.T) {
	for _, others := range []int{0, 60} {
		v := newVirtual(t, append(slowSeeds(others), "honest.test/", "good.test/")...)
		v.workers = 8
		v.answer = func(_ time.Time, u web.URL) (pageOf, time.Duration) {
			switch u.Host() {
			case "honest.test":
				return pageOf{}, 8 * time.Second
			case "good.test":
				return pageOf{}, 100 * time.Millisecond
			}
			return pageOf{failure: web.ReasonTimeout, connected: true}, 10 * time.Second
		}
		v.run(10 * time.Minute)
		if v.pagesOf("honest.test") != 1 {
			t.Errorf("among %d slower hosts: %d pages of the honest one, want 1", others, v.pagesOf("honest.test"))
		}
	}
}
