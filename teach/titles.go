package teach

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/web"
)

// Bounds of what is read beforehand of a recorded web.
const (
	titledPages = 400
	titlesTime  = 3 * time.Second
)

// Titles are the titles of the start pages and of the pages that paths
// kept so far end at, as far as a recorded web gives them in a short time.
func Titles(ctx context.Context, o Options) map[web.URL]string {
	ctx, cancel := context.WithTimeout(ctx, titlesTime)
	defer cancel()
	var pages []web.URL
	pages = append(pages, o.Starts...)
	for _, p := range slices.Backward(o.Paths) {
		for _, s := range slices.Backward(p.Steps) { // the present path is shown whole
			pages = append(pages, s.URL)
		}
	}
	titles := map[web.URL]string{}
	var mu sync.Mutex
	pool, ctx := errgroup.WithContext(ctx)
	pool.SetLimit(runtime.GOMAXPROCS(0))
	for _, u := range pages[:min(len(pages), titledPages)] {
		pool.Go(func() error {
			r, err := o.Fetcher.Fetch(ctx, u)
			if err != nil || r.Status != http.StatusOK {
				return ctx.Err() // where there is no page there is no title
			}
			page, err := o.Parser.Parse(r)
			if err != nil {
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			titles[u] = page.Title
			return ctx.Err()
		})
	}
	pool.Wait() // late ones are left out
	return titles
}
