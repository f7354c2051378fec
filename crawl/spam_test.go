package crawl

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// A site whose first page links to 1,000 fresh names of its own, and each of these to a
// hundred more, all relevant and with better links than anything else, has the place of
// one host: the others are fetched whole in the time that they take without it, and what
// waits stays bounded.
func TestSiteOfManyNames(t *testing.T) {
	const good, pages = 20, 30
	type outcome struct {
		took   time.Duration // until the good hosts are fetched whole
		spam   int           // pages of the site by then
		queued int           // links of the site that waited at most, by then
	}
	run := func(t *testing.T, seeds ...string) (o outcome) {
		for i := range good {
			seeds = append(seeds, fmt.Sprintf("g%d.test/0", i))
		}
		v := newVirtual(t, seeds...)
		fresh, left := 0, good*pages
		v.answer = func(_ time.Time, u web.URL) (p pageOf, _ time.Duration) {
			host := string(u.Host())
			if strings.HasSuffix(host, ".spam.test") {
				names := 100
				if host == "www.spam.test" {
					names = 1000
				}
				for range names {
					fresh++
					p.links = append(p.links, fmt.Sprintf("n%d.spam.test/ 9", fresh))
				}
				return p, 200 * time.Millisecond
			}
			var n int
			if _, err := fmt.Sscanf(u.Path(), "/%d", &n); err != nil {
				t.Fatal(err)
			}
			if n+1 < pages {
				p.links = []string{fmt.Sprintf("%s/%d 1", host, n+1)}
			}
			return p, 200 * time.Millisecond
		}
		v.listen = func(e event.Event) {
			f, ok := e.(event.Fetched)
			switch {
			case !ok || left == 0:
			case strings.HasSuffix(string(f.URL.Host()), ".spam.test"):
				o.spam++
				o.queued = max(o.queued, v.front.Stats(v.now).Queued)
			default:
				if left--; left == 0 {
					o.took = v.now.Sub(epoch)
				}
			}
		}
		v.run(time.Minute)
		if left > 0 {
			t.Fatalf("%d pages of good hosts are missing", left)
		}
		if twice := v.twice(); len(twice) > 0 {
			t.Errorf("fetched twice: %v", twice)
		}
		return o
	}
	alone := run(t)
	beside := run(t, "www.spam.test/")
	t.Logf("alone %v; beside the site %v, in which it gave %d pages, and %d links waited at most", alone.took, beside.took, beside.spam, beside.queued)
	if beside.took > alone.took*115/100 {
		t.Errorf("beside the site the good hosts take %v, alone %v", beside.took, alone.took)
	}
	if beside.spam > pages+pages/10 {
		t.Errorf("the site gave %d pages while a good host gave %d", beside.spam, pages)
	}
	if beside.queued > 4096+good {
		t.Errorf("%d links waited", beside.queued)
	}
}
