package frontier_test

import (
	"context"
	"fmt"
	"time"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

func Example() {
	ctx := context.Background()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	link := func(address string, priority float64) web.Candidate {
		u, err := web.Parse(address)
		if err != nil {
			panic(err)
		}
		return web.Candidate{URL: u, Priority: priority}
	}

	f := frontier.NewMemory(frontier.Options{}) // or frontier.Open(dir, …)
	defer f.Close()
	f.Commit(ctx, web.Turn{Add: []web.Candidate{
		link("http://a.example/good", 0.9),
		link("http://a.example/fair", 0.5),
		link("http://b.example/", 0.1),
	}})

	leases, _ := f.Lease(ctx, now, 8, 0, nil)
	var turn web.Turn
	for _, l := range leases {
		fmt.Println("fetch", l.URL)
		turn.Done = append(turn.Done, l.URL)
		turn.Hosts = append(turn.Hosts, web.HostState{Host: l.Host.Host, Due: now.Add(time.Second), Fetched: 1})
	}
	f.Commit(ctx, turn)

	leases, _ = f.Lease(ctx, now, 8, 0, nil)
	at, _ := f.NextDue()
	fmt.Println("now", len(leases), "and again in", at.Sub(now))
	// Output:
	// fetch http://a.example/good
	// fetch http://b.example/
	// now 0 and again in 1s
}
