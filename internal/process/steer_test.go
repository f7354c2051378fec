package process

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// TestKilledWhileSteered kills a crawl, by a scorer of any kind, again and again while a
// person labels pages and tells it what to do, in each of its runs: whatever was acknowledged to the person is taken in once, in order, and what holds
// in the end is what the person said last. WAGGLE_KILLS sets how often (default 4): for each ten
// of them there is a crawl, by a scorer of another kind, until each kind has its crawl.
func TestKilledWhileSteered(t *testing.T) {
	long.Test(t, "kills a crawl that is steered")
	t.Parallel()
	kills := killsWanted(t)
	rng := killChance(t)
	kinds := scorerKinds(t, serveNumbered(t, 800))
	crawls := min(len(kinds), max(1, kills/10))
	for i, k := range rng.Perm(len(kinds))[:crawls] {
		rng := rand.New(rand.NewPCG(rng.Uint64(), 3))
		t.Run(kinds[k][1], func(t *testing.T) {
			first := kills * i / crawls
			when := instants(kills*(i+1)/crawls-first, first, kills)
			if n := len(when) - 1; when[n] == finishing {
				when[n] = stopping // what a person mutes is never fetched, so nothing tells which page is the last
			}
			killSteered(t, kinds[k], when, rng)
		})
	}
}

// killSteered kills one such crawl.
func killSteered(t *testing.T, kind []string, when []instant, rng *rand.Rand) {
	kills := len(when)
	site := serveNumbered(t, 80*max(kills, 10))
	dir := filepath.Join(t.TempDir(), "crawl")
	col := collection.At(dir)

	ended := make(chan struct{})
	var acknowledged []event.Act
	var given, owed atomic.Int64                      // acts that were acknowledged: so far, and before the last run began
	site.opened = func() { owed.Store(given.Load()) } // that run takes these in before it fetches anything
	var person sync.WaitGroup
	stop := sync.OnceFunc(func() { close(ended); person.Wait() })
	defer stop()
	chance := rand.New(rand.NewPCG(rng.Uint64(), 2))  // the person's own: kills are drawn at the same time
	said, during := map[int64]int{}, map[int64]bool{} // acts by run, and runs that were under way when one was acknowledged
	person.Go(func() {
		every := time.NewTicker(15 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-ended:
				return
			case <-every.C:
			}
			// Few acts in each run, so that there are some in all of them, and one before the next.
			run, most := site.run.Load(), 4
			if run < 0 {
				most = 1
			}
			if run == 0 || said[run] == most || chance.IntN(2) == 0 || !col.Begun() {
				continue
			}
			said[run]++
			a := site.anAct(chance, len(acknowledged))
			n, err := col.Act(a)
			if err != nil {
				t.Errorf("%s: %v", a.Words(), err)
				return
			}
			if n != len(acknowledged)+1 {
				t.Errorf("act %d has number %d", len(acknowledged)+1, n)
			}
			acknowledged = append(acknowledged, a)
			given.Add(1)
			if site.run.Load() == run {
				during[run] = true
			}
		}
	})
	crawlKilled(t, site, dir, append(append(site.crawl(dir), kind...), "--workers", "4"), when, rng)
	stop()
	checkKilled(t, dir, site)
	steered := 0
	for run := range int64(kills) {
		if during[run+1] {
			steered++
		}
	}
	if kills >= 10 && 4*steered < kills { // of fewer, most may fall before the first act
		t.Errorf("of %d runs that were killed, %d were told something before", kills, steered)
	}

	told, err := col.Told()
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != len(acknowledged) {
		t.Fatalf("%d acts are known; %d were acknowledged", len(told), len(acknowledged))
	}
	taken := 0
	for i, a := range told {
		if a.Number != i+1 || a.Words() != acknowledged[i].Words() {
			t.Errorf("act %d is %d: %q; it was %q", i+1, a.Number, a.Words(), acknowledged[i].Words())
		}
		if !a.At.At.IsZero() {
			taken++
		}
	}
	if taken < int(owed.Load()) {
		t.Errorf("%d acts were taken in; %d were acknowledged before the last run", taken, owed.Load())
	}
	verdicts, copies, relevant := map[web.URL]bool{}, map[web.URL]bool{}, 0
	for f, err := range col.Fetched() {
		if err != nil {
			t.Fatal(err)
		}
		verdicts[f.URL], copies[f.URL] = f.Relevant, f.Reason.Copy()
		if f.Relevant {
			relevant++
		}
	}
	var counted event.Summary
	for e, err := range event.ReadFile(col.EventLog()) {
		if err != nil {
			t.Fatal(err)
		}
		counted.Add(e)
	}
	if counted.Relevant != relevant {
		t.Errorf("%d pages were counted as relevant, and %d are", counted.Relevant, relevant)
	}
	labels := map[web.URL]event.Verb{}
	for _, a := range event.Effective(told[:taken]) {
		if a.Label() {
			labels[a.URL] = a.Do
		}
	}
	for u, l := range labels {
		if verdicts[u] != (l != event.Irrelevant && !copies[u]) { // "/0" repeats "/"
			t.Errorf("%s was called %s, and is relevant: %v", u, l, verdicts[u])
		}
	}
	if len(site.again) > 0 {
		t.Errorf("asked for again although acknowledged: %v", site.again)
	}
	if len(told) >= 40 && len(labels) == 0 {
		t.Errorf("of %d acts none is a label that holds", len(told))
	}
	t.Logf("%q: %d kills, %d of runs that were told something, %d acts taken in of %d, %d labels hold", kind, kills, steered, taken, len(told), len(labels))
}

// anAct is what a person may say, n acts having been said.
func (w *numberedWeb) anAct(rng *rand.Rand, n int) event.Act {
	place := func() string {
		return fmt.Sprintf("%s/%d", strings.TrimPrefix(w.hosts[rng.IntN(4)], "http://"), 1+rng.IntN(w.n))
	}
	page := func(do event.Verb) event.Act {
		i := rng.IntN(w.n)
		address := fmt.Sprintf("%s/%d", w.hosts[i%4], i)
		// A label of a page that was not fetched is refused: most are of pages that were.
		w.mu.Lock()
		if len(w.served) > 0 && rng.IntN(8) > 0 {
			known := slices.Sorted(maps.Keys(w.served))
			address = known[rng.IntN(len(known))]
		}
		w.mu.Unlock()
		u, err := web.Parse(address)
		if err != nil {
			panic(err)
		}
		return event.Act{Do: do, URL: u}
	}
	switch rng.IntN(7) {
	case 0:
		return page(event.Relevant)
	case 1:
		return page(event.Irrelevant)
	case 2:
		return page(event.More)
	case 3:
		return event.Act{Do: event.Mute, Place: place()}
	case 4:
		return event.Act{Do: event.Boost, Place: place()}
	default:
		return event.Act{Do: event.Undo, Act: 1 + rng.IntN(n+1)}
	}
}
