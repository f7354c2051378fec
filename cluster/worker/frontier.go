package worker

import (
	"context"
	"time"

	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// Frontier is the frontier of a worker: it knows what is under way, and gives nothing out
// once the session is over. The driver alone uses it.
type Frontier struct {
	*frontier.Frontier
	w   *Worker
	out map[web.URL]int // the shards of links that are under way
}

// Frontier is that of the crawl, after Open.
func (w *Worker) Frontier() *Frontier { return w.front }

// Lease implements crawl.Frontier.
func (f *Frontier) Lease(ctx context.Context, now time.Time, n, among int, rescore func(*web.Candidate) float64) ([]web.Lease, error) {
	if !f.w.member.Valid() {
		return nil, nil
	}
	list, err := f.Frontier.Lease(ctx, now, n, among, rescore)
	for i := range list {
		f.out[list[i].URL] = f.w.routes.of(list[i].URL.Host())
	}
	return list, err
}

// Commit implements crawl.Frontier.
func (f *Frontier) Commit(ctx context.Context, t web.Turn) (web.Receipt, error) {
	r, err := f.Frontier.Commit(ctx, t)
	if err == nil {
		for _, u := range t.Done {
			delete(f.out, u)
		}
		for i := range t.Retry {
			delete(f.out, t.Retry[i].URL)
		}
	}
	return r, err
}

// flying tells whether something of a shard is under way.
func (f *Frontier) flying(n int) bool {
	for _, of := range f.out {
		if of == n {
			return true
		}
	}
	return false
}

// routes are the shards of hosts, looked up once. Not for concurrent use.
type routes struct {
	shards int
	known  map[web.Host]int
}

// mostRoutes bounds the hosts of which the shard is kept.
const mostRoutes = 1 << 18

func newRoutes(shards int) *routes { return &routes{shards, make(map[web.Host]int)} }

func (r *routes) of(h web.Host) int {
	n, ok := r.known[h]
	if !ok {
		if len(r.known) >= mostRoutes {
			clear(r.known)
		}
		n = shard.Of(h, r.shards)
		r.known[h] = n
	}
	return n
}
