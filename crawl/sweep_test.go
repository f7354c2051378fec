package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// grown is a frontier that tells of a million links more than it has, while it has any, and
// counts each of its own as 64.
type grown struct {
	*frontier.Frontier
	begun   func() // a sweep begins
	fetched *int   // pages
}

func (g grown) Commit(ctx context.Context, turn web.Turn) (web.Receipt, error) {
	*g.fetched += len(turn.Done)
	return g.Frontier.Commit(ctx, turn)
}

func (g grown) Stats(now time.Time) web.FrontierStats {
	s := g.Frontier.Stats(now)
	if s.Queued+s.Leased > 0 {
		s.Queued, s.Leased = 1_000_000+64*s.Queued, 64*s.Leased
	}
	return s
}

func (g grown) Rescore(ctx context.Context, from []byte, n int, score func(*web.Candidate) float64) ([]byte, error) {
	if from == nil {
		g.begun()
	}
	return g.Frontier.Rescore(ctx, from, n, score)
}

// A crawl of very many waiting links that is stopped and taken up again begins to score
// them anew after the same page as one that is not stopped.
func TestSweepAfterRestart(t *testing.T) {
	const pages, begins = 400, 150
	begun := func(most time.Duration) (at []int) {
		v := newVirtual(t, "h.example/")
		v.dir, v.scorer = t.TempDir(), alwaysStale{}
		fetched := 0
		v.shown = func(f *frontier.Frontier) Frontier {
			return grown{f, func() {
				if fetched <= pages { // else nothing waits
					at = append(at, fetched)
				}
			}, &fetched}
		}
		v.answer = func(_ time.Time, u web.URL) (p pageOf, took time.Duration) {
			for i := range pages {
				if u.Host() == "h.example" {
					p.links = append(p.links, fmt.Sprintf("h%d.example/%d 0.5", i%40, i))
				}
			}
			return p, 300 * time.Millisecond
		}
		v.run(300 * time.Millisecond)
		if fetched != 1 || len(at) > 0 {
			t.Fatalf("%d pages, scored anew after %v", fetched, at)
		}
		// After page n, pages+1-n links wait: 1,000,000/64 pages and one for each of these have to
		// have passed.
		storeSweepBegan(t, v.dir, 2*begins-(1_000_000/64+pages+1))
		for fetched < pages+1 {
			v.run(most)
		}
		return slices.Compact(at) // one that is stopped right then begins at its end and again
	}
	for _, most := range []time.Duration{time.Hour, 7 * time.Second, 900 * time.Millisecond} {
		if at := begun(most); !slices.Equal(at, []int{begins}) {
			t.Errorf("runs of %v: scored anew after %d pages, not after %d", most, at, begins)
		}
	}
}

// storeSweepBegan changes in a crawl's folder after how many pages all that waits was scored anew last.
func storeSweepBegan(t *testing.T, dir string, pages int) {
	t.Helper()
	f, err := frontier.Open(dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.State(t.Context(), stateCrawl)
	if err != nil {
		t.Fatal(err)
	}
	var p progress
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	p.SweepBegan = pages
	if b, err = json.Marshal(p); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(t.Context(), web.Turn{State: map[string][]byte{stateCrawl: b}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
