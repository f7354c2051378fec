package frontier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

func address(t testing.TB, s string) web.URL {
	t.Helper()
	u, err := web.Parse("http://" + s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// ofTwoHosts are links of a.example and b.example.
func ofTwoHosts(t *testing.T) web.Turn {
	return web.Turn{Add: []web.Candidate{
		{URL: address(t, "a.example/1"), Priority: 9}, {URL: address(t, "a.example/2"), Priority: 8}, {URL: address(t, "b.example/1"), Priority: 7},
	}}
}

// A stored link whose address belongs to another host, or is leased already, is an
// error. Were it leased, the lease would never end, and its host's links would
// wait for ever.
func TestDamagedAddress(t *testing.T) {
	for _, becomes := range []string{"c.example/1", "b.example/1"} {
		f := NewMemory(Options{})
		if _, err := f.Commit(t.Context(), ofTwoHosts(t)); err != nil {
			t.Fatal(err)
		}
		f.backend.(*memory).queues.of[0][0].link.URL = address(t, becomes)
		_, err := f.Lease(t.Context(), time.Time{}, 3, 0, nil)
		if err == nil || !strings.Contains(err.Error(), "a.example") {
			t.Errorf("a link of a.example that became %s was leased: error %v", becomes, err)
		}
	}
}

// On disk it is told as damage of the queue, which is found when all is checked: also where the link is as it
// was, and stands with those of another host.
func TestDamagedAddressOnDisk(t *testing.T) {
	link := web.Candidate{URL: address(t, "a.example/1"), Priority: 9}
	at := key{9, 1}
	for name, damage := range map[string]func(f *Frontier, b *pebble.Batch){
		"another address": func(_ *Frontier, b *pebble.Batch) {
			other := link
			other.URL = address(t, "c.example/1")
			setLink(b, 0, at, appendCandidate(nil, &other))
		},
		"another host": func(f *Frontier, b *pebble.Batch) {
			deleteLink(b, 0, at)
			setLink(b, 1, at, appendCandidate(nil, &link))
			f.backend.(*disk).note(record{hashOf(link.URL), tag(at), 1}, false)
		},
	} {
		for _, hot := range []int{1, 100} {
			t.Run(fmt.Sprintf("%s, %d hosts at hand", name, hot), func(t *testing.T) {
				fs := vfs.NewMem()
				f, err := open(fs, "frontier", Options{hot: hot})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Commit(t.Context(), ofTwoHosts(t)); err != nil {
					t.Fatal(err)
				}
				d := f.backend.(*disk)
				damage(f, d.batch)
				if err := d.commit(change{next: f.next}); err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				for range 2 { // each time it is opened
					if f, err = open(fs, "frontier", Options{hot: hot}); err != nil {
						t.Fatal(err)
					}
					_, err = f.Lease(t.Context(), time.Time{}, 3, 0, nil)
					var told *DamageError
					if !errors.As(err, &told) || told.Path != d.queue() {
						t.Errorf("not told as damage of the queue: %v", err)
					}
					if err := f.Close(); err != nil {
						t.Fatal(err)
					}
				}
				r, err := examine(fs, "frontier")
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if _, err := r.Check(t.Context(), nil); err != nil || len(r.Damage()) != 1 || r.Damage()[0].Path != d.queue() {
					t.Errorf("Check finds %v, %v", r.Damage(), err)
				}
			})
		}
	}
}

// A plan holds nothing of the turns before: neither hosts that are cold since, nor room for the largest.
func TestPlanIsEmptied(t *testing.T) {
	for _, hosts := range []int{1000, 20_000} {
		f, err := open(vfs.NewMem(), "frontier", Options{hot: 2})
		if err != nil {
			t.Fatal(err)
		}
		var turn web.Turn
		for i := range hosts {
			turn.Add = append(turn.Add, web.Candidate{URL: address(t, fmt.Sprintf("h%d.example/", i))})
		}
		for _, turn := range []web.Turn{turn, {Add: []web.Candidate{{URL: address(t, "other.example/")}}}} {
			if _, err := f.Commit(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
		}
		held := 0
		for _, ph := range f.plan.order[:cap(f.plan.order)] {
			if ph != nil && (ph.h != nil || ph.name != "") {
				held++
			}
		}
		if held > 1 || cap(f.plan.order) > 2*mostReused || cap(f.plan.places) > 2*mostReused {
			t.Errorf("after a turn with %d hosts and one with one the plan holds %d, and room for %d", hosts, held, cap(f.plan.order))
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothingIsStuck makes random turns and leases, many of them at a time, and
// asserts after each that every host with a waiting link can be leased from: it
// is ready, or stands in the line of its site, or waits for its time, or one of its
// links, or of its other ports, is leased; that no class of hosts has more than its
// share; and that the counts are those of the hosts and of what waits. In the end everything comes
// out once each lease has ended.
func TestNothingIsStuck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		draw := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) }
		opts := Options{MaxPerHost: rapid.SampledFrom([]int{0, 2, 5}).Draw(t, "max"), Max: rapid.SampledFrom([]int{0, 0, 7, 30}).Draw(t, "all"), MaxNames: draw(6, "names")}
		f := NewMemory(opts)
		f.crowdLimit = 2
		if workers := draw(14, "workers"); workers > 0 {
			f.Share(workers, time.Duration(draw(5, "pause"))*time.Second)
		}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		link := func() web.Candidate {
			site := []string{"a%d.example", "n%d.b.example", "n%d.c.example", "d.example:8%d"}[draw(4, "site")]
			u, err := web.Parse(fmt.Sprintf("http://"+site+"/%d", draw(8, "host"), draw(12, "page")))
			if err != nil {
				t.Fatal(err)
			}
			return web.Candidate{URL: u, Priority: float64(draw(5, "priority"))}
		}
		var out []web.Lease
		for range draw(60, "calls") {
			var turn web.Turn
			for range draw(10, "links") {
				turn.Add = append(turn.Add, link())
			}
			left := out[:0]
			for _, l := range out {
				host := l.Host
				host.Due = now.Add(time.Duration(draw(30, "delay")) * time.Second)
				host.Fetched += draw(2, "fetched") * draw(9, "pages")
				host.Barren, host.Slow = draw(2, "barren")*host.Fetched, draw(2, "slow")
				host.Failures = draw(3, "failures")
				host.Silent, host.Down = host.Failures > 0, host.Failures > 1
				switch draw(5, "outcome") {
				case 0:
					turn.Done = append(turn.Done, l.URL)
					turn.Hosts = append(turn.Hosts, host)
				case 1:
					turn.Retry = append(turn.Retry, l.Candidate)
					turn.Hosts = append(turn.Hosts, host)
				case 2:
					turn.Done = append(turn.Done, l.URL, l.URL)
				case 3:
					turn.Done, turn.Retry = append(turn.Done, l.URL), append(turn.Retry, l.Candidate)
				default:
					left = append(left, l)
				}
			}
			out = left
			if draw(6, "drop") == 0 {
				turn.Drop = append(turn.Drop, link().URL.Host())
			}
			if _, err := f.Commit(ctx, turn); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Duration(draw(20, "wait")) * time.Second)
			var rescore func(*web.Candidate) float64
			if draw(2, "rescore") == 0 {
				scores := map[web.URL]float64{}
				rescore = func(c *web.Candidate) float64 {
					if _, ok := scores[c.URL]; !ok {
						scores[c.URL] = float64(draw(5, "priority"))
					}
					return scores[c.URL]
				}
			}
			more, err := f.Lease(ctx, now, draw(12, "n"), draw(9, "among"), rescore)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, more...)
			stuck(t, f)
		}
		var turn web.Turn
		for _, l := range out {
			turn.Done = append(turn.Done, l.URL)
		}
		idle := 0
		for s := f.Stats(now); s.Queued+s.Leased > 0; s = f.Stats(now) {
			if _, err := f.Commit(ctx, turn); err != nil {
				t.Fatal(err)
			}
			turn = web.Turn{}
			if s := f.Stats(now); s.Queued+s.Leased == 0 {
				break
			}
			more, err := f.Lease(ctx, now, 100, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range more {
				turn.Done = append(turn.Done, l.URL)
			}
			if len(more) > 0 {
				idle = 0
				continue
			}
			at, ok := f.NextDue()
			if idle++; !ok || idle > 3 {
				t.Fatalf("nothing is given out at %v, the next is due at %v, %t: %+v", now, at, ok, f.Stats(now))
			}
			now = at
		}
	})
}

// stuck fails when a host could never be leased from again, or when the counts are
// not those of the hosts.
func stuck(t *rapid.T, f *Frontier) {
	leased := map[*host]bool{}
	var out [numClasses]int
	for _, h := range f.leased {
		leased[h] = true
		out[h.leasedAs]++
	}
	sites := map[*site]*site{}
	queued := 0
	for _, h := range f.hosts {
		turn := h.ports != nil && (h.ports.busy || h.ports.ended)
		switch {
		case h.busy() != leased[h]:
			t.Fatalf("%s is busy: %t; leased: %t", h.state.Host, h.busy(), leased[h])
		case h.queued > 0 && !h.busy() && h.inHeap == nil && !turn:
			t.Fatalf("%s has %d links waiting and is nowhere", h.state.Host, h.queued)
		case h.inHeap != nil && (h.queued == 0 || h.busy() || turn):
			t.Fatalf("%s is to be leased from with %d links, busy: %t", h.state.Host, h.queued, h.busy())
		case h.inHeap != nil && h.inHeap.items[h.heapIndex] != h:
			t.Fatalf("%s is not where it should be", h.state.Host)
		}
		queued += h.queued
		s := sites[h.site]
		if s == nil {
			s = &site{}
			sites[h.site] = s
		}
		working := h.queued > 0 || h.busy()
		if working && h.state.Fetched == 0 {
			s.names++
		}
		if working {
			s.working++
		}
		if h.busy() {
			s.leased++
		}
		switch {
		case h.inHeap == &f.waiting:
			s.waiting++
		case h.inHeap != nil && (h.site.turns == nil || h.inHeap != &h.site.turns.line):
			s.ready++
		}
	}
	for s, want := range sites {
		if s.names != want.names || s.working != want.working || s.leased != want.leased || s.waiting != want.waiting || s.ready != want.ready {
			t.Fatalf("site %s counts %+v, its hosts %+v", s.name, s, want)
		}
	}
	var spread histogram
	for _, q := range f.backend.(*memory).queues.of {
		for _, waits := range q {
			spread.add(waits.prio, 1)
		}
	}
	if f.spread.sums != spread.sums {
		t.Fatal("the counts by priority are not those of what waits")
	}
	if out != f.leasedOf || queued != f.queued {
		t.Fatalf("%v leased and %d queued by class, the hosts say %v and %d", f.leasedOf, f.queued, out, queued)
	}
	if f.workers > 0 && len(f.leased) <= f.workers && f.leasedOf[slow] > max(1, f.workers/4) {
		t.Fatalf("%d of %d workers are with slow hosts", f.leasedOf[slow], f.workers)
	}
	for _, s := range f.lined {
		for _, h := range s.turns.line.items {
			if !f.crowded(s) || !h.young() {
				t.Fatalf("%s stands in a line", h.state.Host)
			}
		}
	}
}

// The store takes its buffers, and the one that it keeps for the next, from the size of its cache. One
// that is no larger holds no block, and nothing tells but the time.
func TestCacheBesideBuffers(t *testing.T) {
	o := storeOptions(vfs.NewMem(), newHalt())
	buffers := int64(o.MemTableStopWritesThreshold+1) * int64(o.MemTableSize)
	if rest := o.CacheSize - buffers; rest < 16<<20 {
		t.Errorf("a cache of %d bytes has %d for blocks beside buffers of %d", o.CacheSize, rest, buffers)
	}
}

// The queue of a host that was drained holds no memory, which would count for nothing.
func TestDrainedQueues(t *testing.T) {
	var q queues[int]
	for i := range 16 {
		q.put(3, key{float64(i), uint64(i + 1)}, &i)
	}
	for range 16 {
		q.remove(3, q.of[3][0].key)
	}
	if q.of[3] != nil {
		t.Errorf("room for %d links of a host that has none", cap(q.of[3]))
	}
}
