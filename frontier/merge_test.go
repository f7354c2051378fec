package frontier_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// TestMerge makes one frontier of those of two workers, between which a shard has moved.
func TestMerge(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	u := func(s string) web.URL { return must(web.Parse("http://" + s)) }
	link := func(s string, priority float64) web.Candidate {
		return web.Candidate{URL: u(s), Kind: web.LinkA, Priority: priority, Features: []byte(s), Memory: []byte{7}}
	}
	due := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	turns := [][]web.Turn{
		{
			{Add: []web.Candidate{link("a.example/1", 1), link("a.example/2", 2), link("moved.example/1", 1), link("moved.example/2", 2), link("given.example/1", 1)}},
			{Done: []web.URL{u("a.example/1"), u("never.example/")}, Hosts: []web.HostState{{Host: "a.example", Fetched: 1, Due: due}}},
			{Drop: []web.Host{"given.example"}},
		},
		{
			{Add: []web.Candidate{link("b.example/1", 1), link("moved.example/1", 5), link("moved.example/2", 2)}, State: map[string][]byte{"scorer": []byte("not taken over")}},
			{Done: []web.URL{u("moved.example/2")}, Hosts: []web.HostState{{Host: "moved.example", Fetched: 3, Due: due}}},
		},
	}
	var all []*frontier.Remains
	for i, list := range turns {
		name := filepath.Join(dir, fmt.Sprint(i))
		f := must(frontier.Open(name, frontier.Options{}))
		for _, turn := range list {
			must(f.Commit(ctx, turn))
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		r := must(frontier.Examine(name))
		defer r.Close()
		all = append(all, r)
	}
	name := filepath.Join(dir, "all")
	report, err := frontier.Merge(ctx, name, all, map[string][]byte{"judge": []byte("told")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report != (frontier.MergeReport{Waiting: 3, Done: 3}) {
		t.Errorf("%+v", report)
	}
	r := must(frontier.Examine(name))
	defer r.Close()
	if _, err := r.Check(ctx, nil); err != nil || len(r.Damage()) > 0 {
		t.Errorf("%v, %v", err, r.Damage())
	}
	for _, x := range []struct {
		url  string
		want frontier.Standing
	}{
		{"a.example/1", frontier.Done}, {"a.example/2", frontier.Waiting}, {"never.example/", frontier.Done},
		{"moved.example/1", frontier.Waiting}, {"moved.example/2", frontier.Done},
		{"given.example/1", frontier.Dropped}, {"b.example/1", frontier.Waiting}, {"b.example/2", frontier.Unknown},
	} {
		if have := r.Standing(u(x.url)); have != x.want {
			t.Errorf("%s is %d, and not %d", x.url, have, x.want)
		}
	}
	f := must(frontier.Open(name, frontier.Options{}))
	defer f.Close()
	if b := must(f.State(ctx, "judge")); string(b) != "told" {
		t.Errorf("state %q", b)
	}
	if b := must(f.State(ctx, "scorer")); b != nil {
		t.Errorf("state %q", b)
	}
	if h := f.Host("moved.example"); h.Fetched != 3 || !h.Due.Equal(due) {
		t.Errorf("%+v", h)
	}
	var order []string
	for now := due; len(order) < 3; now = now.Add(time.Hour) {
		list := must(f.Lease(ctx, now, 1, 0, func(c *web.Candidate) float64 { return c.Priority }))
		if len(list) == 0 {
			t.Fatalf("after %v nothing is leased", order)
		}
		c := list[0].Candidate
		if string(c.Features) != c.URL.String()[len("http://"):] || len(c.Memory) != 1 {
			t.Errorf("%s carries %q and %q", c.URL, c.Features, c.Memory)
		}
		order = append(order, fmt.Sprint(c.URL, " ", c.Priority))
		must(f.Commit(ctx, web.Turn{Done: []web.URL{c.URL}}))
	}
	if got := fmt.Sprint(order); got != "[http://moved.example/1 5 http://a.example/2 2 http://b.example/1 1]" {
		t.Error(got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
