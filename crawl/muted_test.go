package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// actsAt are acts, each told after so many pages; "30 undo 1" is one.
func actsAt(t *testing.T, lines ...string) *said {
	t.Helper()
	s := &said{}
	for _, line := range lines {
		var after int
		var a event.Act
		var to string
		if _, err := fmt.Sscan(line, &after, &a.Do, &to); err != nil {
			t.Fatal(err)
		}
		if a.Place = to; a.Do == event.Undo {
			a.Place = ""
			fmt.Sscan(to, &a.Act)
		}
		s.acts, s.after = append(s.acts, a), append(s.after, after)
	}
	return s
}

// toTheEnd runs a crawl to its end, and adds the pages that it fetched: those of its log, as the last
// turns of a crawl that is killed are written and told to nobody.
func toTheEnd(t *testing.T, c *crawl.Crawl, s *said, fetched map[string]bool) (how event.Ending, err error) {
	t.Helper()
	c.Acts, c.Look = s, func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
	c.Listen = func(e event.Event) {
		if _, ok := e.(event.Fetched); ok {
			s.pages++
		}
	}
	listen, _ := c.Log.(logFunc)
	c.Log = logFunc(func(e event.Event) {
		if listen != nil {
			listen(e)
		}
		if f, ok := e.(event.Fetched); ok {
			if u := strings.TrimPrefix(f.URL.String(), "http://"); fetched[u] {
				t.Errorf("%s was fetched twice", u)
			} else {
				fetched[u] = true
			}
		}
	})
	return c.Run(t.Context())
}

// A crawl whose mutes are all undone fetches what it would have fetched without them; and of a
// place that another act mutes still it fetches nothing. A web whose pages are linked once shows it:
// what was dropped would not be found again.
func TestUnmutedComesBack(t *testing.T) {
	site := tree(3, 120)
	all := map[string]bool{}
	if _, err := toTheEnd(t, newCrawl(t, site, 1), &said{}, all); err != nil {
		t.Fatal(err)
	}
	without := func(prefixes ...string) (out []string) {
		for u := range all {
			if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(u, p) }) {
				out = append(out, u)
			}
		}
		slices.Sort(out)
		return out
	}
	for _, test := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"undone", []string{"3 mute h2.example", "100 undo 1"}, without()},
		{"one of two, the older one", []string{"3 mute h2.example", "20 mute h1.example", "60 undo 1"}, nil},
		{"both, the older one first", []string{"3 mute h2.example", "20 mute h1.example", "40 undo 1", "90 undo 2"}, without()},
		{"a host, while a page of it stays muted", []string{"30 mute h0.example", "31 mute h0.example/113", "50 undo 1"}, nil},
		{"twice the same, one undone", []string{"30 mute h0.example", "31 mute h0.example", "50 undo 1"}, nil},
		{"twice the same, both undone", []string{"30 mute h0.example", "31 mute h0.example", "50 undo 2", "60 undo 1"}, without()},
		{"muted, unmuted, muted, unmuted", []string{"10 mute h0.example", "20 undo 1", "30 mute h0.example", "50 undo 3"}, without()},
	} {
		for _, scorer := range []string{"best-first-page", "breadth-first"} {
			t.Run(test.name+"/"+scorer, func(t *testing.T) {
				c := newCrawl(t, site, 1)
				var err error
				if c.Scorer, err = score.New(scorer, score.Options{}); err != nil {
					t.Fatal(err)
				}
				c.Clock = stillClock{}
				s, got := actsAt(t, test.lines...), map[string]bool{}
				if how, err := toTheEnd(t, c, s, got); err != nil || how != event.FrontierEmpty {
					t.Fatal(how, err)
				}
				want := test.want
				if want == nil { // what is muted still was fetched before that, or not at all
					muted := ""
					for _, a := range event.Effective(numbered(s.acts)) {
						muted = a.Place
					}
					host, path, _ := strings.Cut(muted, "/")
					want = without(host + "/" + path)
					for u := range got {
						if strings.HasPrefix(u, host+"/"+path) {
							want = append(want, u)
						}
					}
					if slices.Sort(want); len(want) == len(all) {
						t.Fatal("nothing was muted")
					}
				}
				if have := slices.Sorted(maps.Keys(got)); !slices.Equal(have, want) {
					t.Errorf("%d pages, want %d; missing: %v", len(have), len(want), slices.DeleteFunc(want, func(u string) bool { return got[u] }))
				}
			})
		}
	}
}

// The last event of a crawl tells how many links mutes set aside, and those are what it keeps.
func TestMutedAreCounted(t *testing.T) {
	site := tree(3, 120)
	for _, test := range []struct {
		lines []string
		some  bool
	}{
		{[]string{"3 mute h2.example"}, true},
		{[]string{"3 mute h2.example", "20 mute h1.example", "40 undo 1"}, true},
		{[]string{"3 mute h2.example", "20 undo 1"}, false},
		{nil, false},
	} {
		c := newCrawl(t, site, 1)
		c.Clock = stillClock{}
		var last event.Ended
		c.Log = logFunc(func(e event.Event) {
			if e, ok := e.(event.Ended); ok {
				last = e
			}
		})
		if _, err := toTheEnd(t, c, actsAt(t, test.lines...), map[string]bool{}); err != nil {
			t.Fatal(err)
		}
		kept := 0
		for _, err := range crawl.Muted(func(name string) ([]byte, error) { return c.Frontier.State(t.Context(), name) }) {
			if err != nil {
				t.Fatal(err)
			}
			kept++
		}
		if last.Frontier.Muted != kept || (kept > 0) != test.some {
			t.Errorf("%v: %d are told, %d are kept", test.lines, last.Frontier.Muted, kept)
		}
	}
}

func numbered(acts []event.Act) []event.Act {
	acts = slices.Clone(acts)
	for i := range acts {
		acts[i].Number = i + 1
	}
	return acts
}

// dyingFrontier is a frontier whose turns fail from the n-th on after an act of undoing, as those of a
// process that is killed there.
type dyingFrontier struct {
	*frontier.Frontier
	undone bool
	n      int
}

var errKilled = errors.New("killed")

func (f *dyingFrontier) Commit(ctx context.Context, t web.Turn) (web.Receipt, error) {
	if f.undone {
		if f.n--; f.n < 0 {
			return web.Receipt{}, errKilled
		}
	}
	return f.Frontier.Commit(ctx, t)
}

// Where a crawl dies while links of a muted place come back, the next run goes on with that.
func TestKilledWhileUnmuted(t *testing.T) {
	site := mapWeb{}
	var lists [2]string
	for n := range 700 { // of several parts
		lists[n/350] += fmt.Sprintf(`<a href="http://h1.example/%d">%d</a> `, n, n)
		site[fmt.Sprintf("h1.example/%d", n)] = fmt.Sprintf("<title>%d</title>", n)
	}
	site["h0.example/1"] = `<title>1</title><a href="/2">2</a>` + lists[0]
	site["h0.example/2"] = `<title>2</title><a href="/3">3</a>` + lists[1]
	site["h0.example/3"] = `<title>3</title><a href="/4">4</a>`
	site["h0.example/4"] = `<title>4</title>`
	for n := range 5 {
		dir, got := t.TempDir(), map[string]bool{}
		var told []event.Act
		for run := 0; ; run++ {
			f, err := frontier.Open(dir, frontier.Options{})
			if err != nil {
				t.Fatal(err)
			}
			d := &dyingFrontier{Frontier: f, n: n}
			c := newCrawl(t, site, 1)
			c.Frontier, c.Clock = d, stillClock{}
			c.Told = told
			s := actsAt(t, "1 mute h1.example", "3 undo 1")
			s.pages = len(got)
			listen := func(e event.Event) {
				if a, ok := e.(event.Act); ok {
					told = append(told, a) // in the log, with its turn
					d.undone = run == 0 && a.Do == event.Undo
				}
			}
			c.Log = logFunc(listen)
			how, err := toTheEnd(t, c, s, got)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if errors.Is(err, errKilled) && run == 0 {
				// The turn of the undoing itself was committed, unless it was the first to fail.
				if n == 0 {
					told = told[:1]
				}
				continue
			}
			if err != nil || how != event.FrontierEmpty {
				t.Fatal(how, err)
			}
			if run == 0 && n < 3 {
				t.Fatalf("nothing was committed after turn %d", n)
			}
			break
		}
		if len(got) != len(site) {
			t.Errorf("killed before turn %d: %d pages of %d", n, len(got), len(site))
		}
	}
}

// logFunc is a log that tells of events before their turn.
type logFunc func(event.Event)

func (l logFunc) Append(events ...event.Event) ([]byte, error) {
	for _, e := range events {
		l(e)
	}
	return nil, nil
}

func (logFunc) Sync() error { return nil }

// busyOnce is a web that says once of a page that its host is busy, a while after it was asked for it;
// before that it calls meanwhile.
type busyOnce struct {
	mapWeb
	page      string
	meanwhile func()
	asked     int
}

func (w *busyOnce) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if u.String() == w.page {
		if w.asked++; w.asked == 1 {
			w.meanwhile()
			time.Sleep(10 * time.Second)
			return nil, &web.Failure{Reason: web.ReasonBusy, Temporary: true}
		}
	}
	return w.mapWeb.Fetch(ctx, u)
}

// A link that is under way when its place is muted is set aside once it would wait again, and is back
// when that is undone.
func TestMutedWhileUnderWay(t *testing.T) {
	for _, undo := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrawl(t, tree(3, 30), 2)
			var acts atomic.Int32
			site := &busyOnce{mapWeb: tree(3, 30), page: "http://h1.example/17", meanwhile: func() { acts.Store(1) }}
			c.Fetcher = site
			c.Acts, c.Look = actFunc(func(n int) []event.Act {
				all := []event.Act{{Do: event.Mute, Place: "h1.example/17"}, {Do: event.Undo, Act: 1}}
				return all[min(n, int(acts.Load())):acts.Load()]
			}), func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
			var last event.Ended
			c.Listen = func(e event.Event) {
				switch e := e.(type) {
				case event.Dropped:
					if undo && e.Reason == web.ReasonMuted {
						acts.Store(2)
					}
				case event.Ended:
					last = e
				}
			}
			if _, err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{false: 1, true: 2}[undo]; site.asked != want || last.Frontier.Muted != 2-want {
				t.Errorf("undone %v: asked for %d times, and %d links are muted in the end", undo, site.asked, last.Frontier.Muted)
			}
		})
	}
}

// actFunc gives the acts after the first n.
type actFunc func(n int) []event.Act

func (f actFunc) After(n int) ([]event.Act, error) { return f(n), nil }
