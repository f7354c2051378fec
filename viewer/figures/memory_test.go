package figures

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// What the figures hold for each page and each link that waits, as docs/guide/browser.md says:
// maps and slices that have just grown hold up to twice what they need, so the bound is on the
// largest of several sizes of a crawl.
func TestMemoryOfFigures(t *testing.T) {
	const pageBound, linkBound = 350, 55 // bytes
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	address := func(kind string, i int) web.URL {
		return addr(t, fmt.Sprintf("https://www.host%d.test/%s/of-some-length/%d", i%500, kind, i))
	}
	c := New()
	before, added := heap(), 0
	worst := 0.
	for _, n := range []int{15_000, 20_000, 30_000, 40_000} {
		for ; added < n; added++ {
			c.Add(event.Fetched{
				At: at(added), Visit: event.Visit{URL: address("page", added), From: address("page", added/4)}, MIME: "text/html", Language: "en",
				Title: fmt.Sprintf("The title of a page, number %d", added), Digest: fmt.Sprintf("%08x%024x", added, added), Relevance: .5,
			}, int64(added))
		}
		worst = max(worst, float64(heap()-before)/float64(added))
	}
	t.Logf("%.0f bytes a page at most, %.0f in the end", worst, float64(heap()-before)/float64(added))
	if worst > pageBound {
		t.Errorf("%.0f bytes a page, and not at most %d", worst, pageBound)
	}
	before, added, worst = heap(), 0, 0
	for _, n := range []int{60_000, 80_000, 120_000, 160_000} {
		for added < n {
			e := event.Received{At: at(added)}
			for range 100 {
				e.Queued = append(e.Queued, event.Found{URL: address("link", added), Priority: float64(added%97) / 97})
				added++
			}
			c.Add(e, 0)
		}
		worst = max(worst, float64(heap()-before)/float64(added))
	}
	t.Logf("%.0f bytes a link at most, %.0f in the end", worst, float64(heap()-before)/float64(added))
	if worst > linkBound {
		t.Errorf("%.0f bytes a link that waits, and not at most %d", worst, linkBound)
	}
	runtime.KeepAlive(c)
}
