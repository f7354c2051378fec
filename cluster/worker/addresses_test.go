package worker_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/worker"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// asks are when workers asked a server.
type asks struct {
	mu sync.Mutex
	at [][]time.Duration // by worker, since the beginning
}

func (a *asks) between(from, to time.Duration) (n []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n = make([]int, len(a.at))
	for i := range a.at {
		for _, at := range a.at[i] {
			if from <= at && at < to {
				n[i]++
			}
		}
	}
	return n
}

// Workers whose sites are at one address ask there as often as one would, each as often as
// the others. One that ends makes room for the rest.
func TestOneAddressOfSeveralWorkers(t *testing.T) {
	const delay, workers = time.Second, 3
	synctest.Test(t, func(t *testing.T) {
		memory := engine.NewMemory()
		server := asks{at: make([][]time.Duration, workers)}
		began := time.Now()
		var all sync.WaitGroup
		for i := range workers {
			f, err := frontier.Open(t.TempDir(), frontier.Options{})
			if err != nil {
				t.Fatal(err)
			}
			me := worker.New(t.Context(), worker.Options{
				Engine: memory, Name: fmt.Sprint("w", i), Clock: aheadClock{time.Duration(i) * time.Hour}, Plan: worker.Plan{Shards: 16},
			})
			if err := me.Open(t.Context(), f, worker.Crawl{}); err != nil {
				t.Fatal(err)
			}
			until := 5 * time.Minute
			if i == 0 {
				until = 2 * time.Minute
			}
			gate := fetch.NewGate(fetch.GateOptions{
				Delay: delay, Sharers: me.Sharers,
				Route: func(context.Context, web.URL) (fetch.Route, error) {
					return fetch.Route{Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, Delay: delay}, nil
				},
			})
			site := gate.Before(fetcherFunc(func(_ context.Context, u web.URL) (*web.Response, error) {
				server.mu.Lock()
				defer server.mu.Unlock()
				server.at[i] = append(server.at[i], time.Since(began))
				return &web.Response{URL: u}, nil
			}))
			all.Go(func() {
				for n := 0; time.Since(began) < until; n++ {
					u, err := web.Parse(fmt.Sprintf("http://w%d-s%d.example/", i, n))
					if err != nil {
						t.Error(err)
					}
					if _, err := site.Fetch(t.Context(), u); err != nil {
						t.Error(err)
					}
				}
				if err := me.Close(""); err != nil {
					t.Error(err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, c := range []struct {
			from, to time.Duration
			each     [workers]int // requests
		}{
			{10 * time.Second, 100 * time.Second, [workers]int{30, 30, 30}},
			{140 * time.Second, 240 * time.Second, [workers]int{0, 50, 50}},
		} {
			for i, n := range server.between(c.from, c.to) {
				if n < c.each[i]-1 || n > c.each[i]+1 {
					t.Errorf("from %v to %v worker %d asked %d times, want %d", c.from, c.to, i, n, c.each[i])
				}
			}
		}
	})
}

type fetcherFunc func(ctx context.Context, u web.URL) (*web.Response, error)

func (f fetcherFunc) Fetch(ctx context.Context, u web.URL) (*web.Response, error) { return f(ctx, u) }
