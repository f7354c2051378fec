package frontier_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/web"
)

// Of two addresses with one hash, as somebody can make them, the second is as one that is done, whatever a turn
// says of it: the first waits, is given out, and stays so when the frontier is opened again.
func TestAddressesOfOneHash(t *testing.T) {
	parse := func(s string) web.URL {
		u, err := web.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	first, second := parse("http://a.example/Hl09xdYFoZA"), parse("http://b.example/vdi2ZqbNEeP") // by XXH3, 64 bits
	if frontier.HashOf(first) != frontier.HashOf(second) {
		t.Fatal("the hash is another: find other addresses")
	}
	one := web.Candidate{URL: first, Priority: .5, Depth: 3}
	other := web.Candidate{URL: second, Priority: .9, Depth: 1}
	neighbour := web.Candidate{URL: parse("http://b.example/"), Priority: .1, Depth: 1}
	for name, turns := range map[string][]web.Turn{
		"done":                    {{Add: []web.Candidate{one}}, {Done: []web.URL{second}}},
		"done, and others wait":   {{Add: []web.Candidate{one, neighbour}}, {Done: []web.URL{second}}},
		"done, and its host idle": {{Add: []web.Candidate{one}, Hosts: []web.HostState{{Host: "b.example", Fetched: 1}}}, {Done: []web.URL{second}}},
		"better":                  {{Add: []web.Candidate{one}}, {Add: []web.Candidate{other}}},
		"both new":                {{Add: []web.Candidate{one, other}}},
		"both new and done":       {{Add: []web.Candidate{one}, Done: []web.URL{second}}},
		"tried again":             {{Add: []web.Candidate{one}}, {Retry: []web.Candidate{other}}},
		"leaves":                  {{Add: []web.Candidate{one}}, {Leave: []web.URL{second}}},
	} {
		for _, shortest := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, shortest %t", name, shortest), func(t *testing.T) {
				disk := vfs.NewMem()
				opts := frontier.Options{Shortest: shortest}
				f, err := frontier.OpenOn(disk, dir, opts)
				if err != nil {
					t.Fatal(err)
				}
				links := 0
				for _, turn := range turns {
					added, err := f.Preview(t.Context(), nil, turn.Add)
					if err != nil {
						t.Fatal(err)
					}
					for i, a := range added {
						if known := turn.Add[i].URL == second; known != (a == web.Known) {
							t.Errorf("%s would be %v", turn.Add[i].URL, a)
						}
						if a == web.Queued {
							links++
						}
					}
					if _, err := f.Commit(t.Context(), turn); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					if s := f.Stats(frontiertest.Start); s.Queued != links {
						t.Errorf("%d links wait, want %d", s.Queued, links)
					}
					if err := f.Close(); err != nil {
						t.Fatal(err)
					}
					if f, err = frontier.OpenOn(disk, dir, opts); err != nil {
						t.Fatal(err)
					}
				}
				out, err := f.Lease(t.Context(), frontiertest.Start, 3, 0, nil)
				if err != nil || len(out) != links || out[0].URL != first {
					t.Fatal(out, err)
				}
				var turn web.Turn
				for _, l := range out {
					turn.Done = append(turn.Done, l.URL)
				}
				if _, err := f.Commit(t.Context(), turn); err != nil {
					t.Fatal(err)
				}
				if s := f.Stats(frontiertest.Start); s.Queued+s.Leased != 0 {
					t.Errorf("%d links wait and %d are leased in the end", s.Queued, s.Leased)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
