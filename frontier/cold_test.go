package frontier_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// TestColdHosts drives a frontier in memory, where all hosts are at hand, and one on disk that keeps
// one or a few at hand, through the same calls: sites of one name and of many, ports, hosts that
// are slow, silent or down, bounds on what waits, and what waits scored anew slice by slice between
// the others. It asserts that they agree in all they say.
func TestColdHosts(t *testing.T) {
	ctx := context.Background()
	seeds := long.Of(uint64(2), 12) // one host is at hand, or a few
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		opts := frontier.Options{
			MaxPerHost: []int{0, 3, 10}[r.IntN(3)],
			Max:        []int{0, 0, 60}[r.IntN(3)],
			MaxNames:   []int{0, 40, -1}[r.IntN(3)],
		}
		disk, err := frontier.OpenOn(vfs.NewMem(), dir, frontier.FewHosts(opts, 1+r.IntN(4)*int(seed%2)))
		if err != nil {
			t.Fatal(err)
		}
		memory := frontier.NewMemory(opts)
		both := func(what string, do func(f *frontier.Frontier) (string, error)) {
			t.Helper()
			d, err := do(disk)
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, what, err)
			}
			m, err := do(memory)
			if err != nil {
				t.Fatal(err)
			}
			if d != m {
				t.Fatalf("seed %d: %s:\n  disk %s\nmemory %s", seed, what, d, m)
			}
		}
		if names := r.IntN(8); names < 5 {
			frontier.Crowd(disk, names)
			frontier.Crowd(memory, names)
		}
		if workers := r.IntN(20); workers > 0 {
			delay := time.Duration(r.IntN(5)) * time.Second
			disk.Share(workers, delay)
			memory.Share(workers, delay)
		}
		link := func() web.Candidate {
			site := []string{"a%d.example", "n%d.b.example", "n%d.c%[1]d.example", "d.example:8%d", "d%d.example"}[r.IntN(5)]
			u, err := web.Parse(fmt.Sprintf("http://"+site+"/%d", r.IntN(60), r.IntN(20)))
			if err != nil {
				t.Fatal(err)
			}
			return web.Candidate{URL: u, Priority: float64(r.IntN(40))}
		}
		now := frontiertest.Start
		var out []web.Lease
		var from []byte // where the next slice begins that is scored anew
		for round := range 120 {
			var turn web.Turn
			for range r.IntN(20) {
				turn.Add = append(turn.Add, link())
			}
			left := out[:0]
			for _, l := range out {
				host := l.Host
				host.Due = now.Add(time.Duration(r.IntN(90)) * time.Second)
				host.Fetched += r.IntN(2) * r.IntN(9)
				host.Barren, host.Slow, host.Failures = r.IntN(2)*host.Fetched, r.IntN(2), r.IntN(3)
				host.Silent, host.Down = host.Failures > 0, host.Failures > 1
				switch r.IntN(4) {
				case 0:
					left = append(left, l)
					continue
				case 1:
					turn.Retry = append(turn.Retry, l.Candidate)
				default:
					turn.Done = append(turn.Done, l.URL)
				}
				turn.Hosts = append(turn.Hosts, host)
			}
			out = left
			switch r.IntN(12) {
			case 0:
				turn.Drop = append(turn.Drop, link().URL.Host())
			case 1:
				turn.Leave = append(turn.Leave, link().URL)
			case 2:
				turn.Hosts = append(turn.Hosts, web.HostState{Host: link().URL.Host(), Due: now.Add(time.Hour)})
			}
			both("Preview", func(f *frontier.Frontier) (string, error) {
				added, err := f.Preview(ctx, nil, turn.Add)
				return fmt.Sprint(added), err
			})
			both("Commit", func(f *frontier.Frontier) (string, error) {
				receipt, err := f.Commit(ctx, turn)
				return fmt.Sprint(receipt), err
			})
			now = now.Add(time.Duration(r.IntN(20)) * time.Second)
			scores := make(map[web.URL]float64)
			score := func(c *web.Candidate) float64 {
				if _, ok := scores[c.URL]; !ok {
					scores[c.URL] = float64(r.IntN(40))
				}
				return scores[c.URL]
			}
			var rescore func(*web.Candidate) float64
			if r.IntN(3) == 0 {
				rescore = score
			}
			n, among := r.IntN(12), max(0, r.IntN(60)-30)
			var more []web.Lease
			both("Lease", func(f *frontier.Frontier) (string, error) {
				more, err = f.Lease(ctx, now, n, among, rescore)
				return fmt.Sprint(more), err
			})
			out = append(out, more...)
			both("Stats and NextDue", func(f *frontier.Frontier) (string, error) {
				at, ok := f.NextDue()
				return fmt.Sprint(f.Stats(now), at.UTC(), ok), nil
			})
			if r.IntN(2) == 0 {
				n, next := 1+r.IntN(90), from
				both("Rescore of a slice", func(f *frontier.Frontier) (order string, err error) {
					next, err = f.Rescore(ctx, from, n, func(c *web.Candidate) float64 {
						order += fmt.Sprintln(c.URL, c.Priority)
						return score(c)
					})
					return order, err
				})
				from = next
			}
			switch r.IntN(10) {
			case 0:
				n := 1 + r.IntN(9)
				both("Rescore", func(f *frontier.Frontier) (string, error) {
					for at := []byte(nil); ; {
						if at, err = f.Rescore(ctx, at, n, score); at == nil || err != nil {
							return "", err
						}
					}
				})
			case 1:
				name := link().URL.Host()
				both("Revise", func(f *frontier.Frontier) (string, error) {
					order := ""
					err := f.Revise(ctx, func(s *web.HostState) {
						order += fmt.Sprint(*s)
						if s.Host == name {
							s.Due, s.Down = now.Add(-time.Second), false
						}
					})
					return order, err
				})
			case 2:
				name := link().URL.Host()
				both("Hosts", func(f *frontier.Frontier) (string, error) {
					return fmt.Sprint(f.Hosts(7), f.Host(name)), nil
				})
			}
			if round%16 == 0 {
				if wrong := frontier.Asleep(disk); wrong != "" {
					t.Fatalf("seed %d: %s", seed, wrong)
				}
			}
			both("Spread", func(f *frontier.Frontier) (string, error) { return frontier.Spread(f), nil })
		}
		for _, f := range []*frontier.Frontier{disk, memory} {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestHostsAtHand takes in links of new hosts and of many that are cold in each turn: hosts become cold as
// fast as others come to hand.
func TestHostsAtHand(t *testing.T) {
	const bound, links, turns = 200, 1000, 60
	f, err := frontier.OpenOn(vfs.NewMem(), dir, frontier.FewHosts(frontier.Options{}, bound))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := rand.New(rand.NewPCG(1, 1))
	for turn := range turns {
		add := make([]web.Candidate, links)
		for i := range add {
			host := turn*links/4 + i/4
			if i%4 > 0 {
				host = r.IntN(host + 1)
			}
			u, err := web.Parse(fmt.Sprintf("https://host-%d.example/%d/%d", host, turn, i))
			if err != nil {
				t.Fatal(err)
			}
			add[i] = web.Candidate{URL: u, Kind: web.LinkA, Priority: r.Float64()}
		}
		if _, err := f.Commit(t.Context(), web.Turn{Add: add}); err != nil {
			t.Fatal(err)
		}
		if n := frontier.AtHand(f); n > bound+links {
			t.Fatalf("after turn %d %d hosts are at hand, of %d that are kept", turn, n, bound)
		}
	}
}

// The hosts of a site that was crowded once become cold as others do, when they were visited.
func TestHostsOfACrowdedSiteBecomeCold(t *testing.T) {
	const bound, names, batches = 20, 100, 10
	f, err := frontier.OpenOn(vfs.NewMem(), dir, frontier.FewHosts(frontier.Options{}, bound))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Share(4, 0)
	now := frontiertest.Start
	visited := 0
	for batch := range batches {
		var turn web.Turn
		for i := range 2 * names { // half of them of other sites, without which none is crowded
			address := fmt.Sprintf("https://name-%d.example.org/", batch*names+i/2)
			if i%2 == 1 {
				address = fmt.Sprintf("https://other-%d.test/%d/%d", i%6, batch, i)
			}
			u, err := web.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			turn.Add = append(turn.Add, web.Candidate{URL: u, Kind: web.LinkA, Priority: .5})
		}
		if _, err := f.Commit(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		for idle := 0; idle < 3; now = now.Add(time.Second) {
			out, err := f.Lease(t.Context(), now, 4, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if idle++; len(out) > 0 {
				idle = 0
			}
			for _, l := range out {
				visited++
				host := l.Host
				host.Fetched++
				if _, err := f.Commit(t.Context(), web.Turn{Done: []web.URL{l.URL}, Hosts: []web.HostState{host}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := frontier.AtHand(f); visited != (batch+1)*2*names || n > bound+names {
			t.Fatalf("after batch %d: %d pages were visited, and %d are at hand, of %d that are kept", batch, visited, n, bound)
		}
	}
}

// A link to a host that was visited and is not at hand waits for nothing that is being written, and what the
// store does not have yet of a host is known all the same.
func TestColdHostsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := frontier.OpenOn(vfs.NewMem(), dir, frontier.FewHosts(frontier.Options{}, 1))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		visited := func(n int) (turn web.Turn) {
			turn.Hosts = []web.HostState{{Host: "host1.example", Fetched: n}}
			return turn
		}
		for _, turn := range []web.Turn{visited(1), adding(t, 2, 1), adding(t, 3, 1)} {
			if _, err := f.Commit(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		for _, turn := range []web.Turn{adding(t, 4, 1), visited(2), adding(t, 5, 1), adding(t, 6, 1)} {
			read := frontier.CountStates(f)
			added, err := f.Preview(t.Context(), nil, adding(t, 1, 1).Add)
			if err != nil || added[0] != web.Queued {
				t.Fatal(added, err)
			}
			if *read == 0 && turn.Add != nil && turn.Add[0].URL.Host() == "host4.example" {
				t.Error("the host was at hand")
			}
			if _, err := f.Commit(t.Context(), slowly(turn)); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.Host("host1.example").Fetched; got != 2 {
			t.Errorf("the host was visited %d times, want 2", got)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("%v were spent waiting", waited)
		}
		if n, err := f.Unwritten(100); n < 4 || err != nil {
			t.Errorf("%d turns are on their way, %v", n, err)
		}
	})
}
