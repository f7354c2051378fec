package crawl_test

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// memoryLog is a log in memory whose nth Append fails; 0 = none does. What it was
// to append is there all the same, as when a process dies before the turn that
// acknowledges it.
type memoryLog struct {
	events []event.Event
	fail   int
}

var errFull = errors.New("no space left")

func (l *memoryLog) Append(events ...event.Event) ([]byte, error) {
	l.events = append(l.events, events...)
	if l.fail--; l.fail == 0 {
		return nil, errFull
	}
	return strconv.AppendInt(nil, int64(len(l.events)), 10), nil
}

func (l *memoryLog) Sync() error { return nil }

// cut is what opening a log at the frontier's mark does.
func (l *memoryLog) cut(t *testing.T, f crawl.Frontier) {
	t.Helper()
	b, err := f.State(t.Context(), crawl.StateEvents)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(b))
	if err != nil || n > len(l.events) {
		t.Fatalf("mark %q of %d events, %v", b, len(l.events), err)
	}
	l.events = l.events[:n]
}

// all is the log as a history: as it was when it is asked for.
func (l *memoryLog) all() iter.Seq2[event.Event, error] {
	events := l.events
	return func(yield func(event.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// story tells events in short, one a line, without those that change never.
func story(events []event.Event) string {
	var b strings.Builder
	short := func(u web.URL) string { return strings.TrimPrefix(u.String(), "http://") }
	for _, e := range events {
		switch e := e.(type) {
		case event.Seeded:
			b.WriteString("seeded")
			for _, f := range e.Queued {
				fmt.Fprintf(&b, " %s", short(f.URL))
			}
			for _, s := range e.Skipped {
				fmt.Fprintf(&b, " !%s %s", short(s.URL), s.Reason)
			}
			b.WriteString("\n")
		case event.Dropped:
			fmt.Fprintf(&b, "dropped %s", e.Reason)
			if e.Host != "" {
				fmt.Fprintf(&b, " %d of %s", e.Count, e.Host)
			}
			for _, u := range e.URLs {
				fmt.Fprintf(&b, " %s", short(u))
			}
			b.WriteString("\n")
		case event.Changed:
			fmt.Fprintf(&b, "changed %s %s %s\n", e.Setting, e.Old, e.New)
		case event.Fetched:
			fmt.Fprintf(&b, "fetched %s\n", short(e.URL))
		case event.Failed:
			fmt.Fprintf(&b, "failed %s %s\n", short(e.URL), e.Reason)
		}
	}
	return b.String()
}

// garden is a small web: two sites with pages one, two and three links deep.
var garden = mapWeb{
	"a.example/":        `<a href="/bees">bees</a> <a href="/login">log in</a> <a href="http://b.example/">b</a> <a href="http://c.example/">c</a>`,
	"a.example/bees":    `<a href="/bees/2">more</a> <a href="/login/2">in</a> bees`,
	"a.example/bees/2":  `<a href="/bees/3">more</a> two`,
	"a.example/bees/3":  `three <a href="/login/2">in</a> <a href="/bees">bees</a>`,
	"a.example/login":   `log in`,
	"a.example/login/2": `log in again`,
	"b.example/":        `<a href="/1">1</a> <a href="/2">2</a> <a href="/3">3</a> b`,
	"b.example/1":       `one`, "b.example/2": `two of b`, "b.example/3": `three of b`,
	"c.example/": `c`,
	"d.example/": `<a href="/1">1</a> d`, "d.example/1": `one of d`,
}

// gardener makes a run of a crawl of the garden.
func gardener(t *testing.T, f crawl.Frontier, log *memoryLog, policy crawl.Policy, seeds ...string) *crawl.Crawl {
	t.Helper()
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := newCrawl(t, garden, 1)
	c.Frontier, c.Log, c.Scorer, c.Policy, c.Seeds, c.Clock = f, log, scorer, policy, nil, stillClock{}
	for _, s := range seeds {
		u, err := web.Parse("http://" + s)
		if err != nil {
			t.Fatal(err)
		}
		c.Seeds = append(c.Seeds, u)
	}
	return c
}

// What a crawl is told otherwise acts on what waits, and is in the log. Each case
// begins with the pages that the first run fetches, by breadth.
func TestChanges(t *testing.T) {
	exclude := crawl.Scope{Exclude: []*regexp.Regexp{regexp.MustCompile("/login")}}
	cases := []struct {
		name        string
		pages       int // of the first run
		first, then crawl.Policy
		seeds       []string // of the second run; nil = those of the first
		changes     crawl.Changes
		want        string
	}{
		{
			name: "an address pattern is excluded", pages: 2,
			then: crawl.Policy{Scope: exclude}, changes: crawl.Changes{Links: true},
			want: `
dropped scope a.example/login a.example/login/2
changed s old new
fetched b.example/
fetched c.example/
fetched a.example/bees/2
fetched b.example/1
fetched b.example/2
fetched b.example/3
fetched a.example/bees/3
`,
		}, {
			name: "fewer links from a seed", pages: 3,
			then: crawl.Policy{MaxDepth: 1}, changes: crawl.Changes{Links: true},
			want: `
dropped depth a.example/bees/2 a.example/login/2
changed s old new
fetched b.example/
fetched c.example/
`,
		}, {
			name: "the hosts of the seeds only", pages: 2,
			then: crawl.Policy{Scope: crawl.Scope{Reach: crawl.ReachHost}}, changes: crawl.Changes{Links: true},
			want: `
dropped scope b.example/ c.example/
changed s old new
fetched a.example/login
fetched a.example/bees/2
fetched a.example/login/2
fetched a.example/bees/3
`,
		}, {
			name: "a wider scope lets in what it left out where that is found again, and nothing twice", pages: 2,
			first: crawl.Policy{Scope: crawl.Scope{Exclude: []*regexp.Regexp{regexp.MustCompile("/login/2")}}},
			then:  crawl.Policy{}, changes: crawl.Changes{Links: true},
			want: `
changed s old new
fetched a.example/login
fetched b.example/
fetched c.example/
fetched a.example/bees/2
fetched b.example/1
fetched b.example/2
fetched b.example/3
fetched a.example/bees/3
fetched a.example/login/2
`,
		}, {
			name: "a seed is added, one that was out of scope before", pages: 9,
			first: crawl.Policy{Scope: crawl.Scope{Reach: crawl.ReachHost}},
			then:  crawl.Policy{Scope: crawl.Scope{Reach: crawl.ReachHost}},
			seeds: []string{"a.example/", "b.example/", "d.example/"}, changes: crawl.Changes{Seeds: true},
			want: `
seeded b.example/ d.example/
changed s old new
fetched b.example/
fetched d.example/
fetched b.example/1
fetched b.example/2
fetched b.example/3
fetched d.example/1
`,
		}, {
			name: "a seed is taken out, and its host with it", pages: 1,
			first: crawl.Policy{Scope: crawl.Scope{Reach: crawl.ReachHost}},
			then:  crawl.Policy{Scope: crawl.Scope{Reach: crawl.ReachHost}, MaxDepth: 1},
			seeds: []string{"a.example/"}, changes: crawl.Changes{Seeds: true},
			want: `
dropped scope x.example/
changed s old new
fetched a.example/bees
fetched a.example/login
`,
		}, {
			name: "a seed that failed is tried again", pages: 9,
			first: crawl.Policy{MaxDepth: 1, Scope: crawl.Scope{Reach: crawl.ReachHost}},
			then:  crawl.Policy{MaxDepth: 1, Scope: crawl.Scope{Reach: crawl.ReachHost}},
			seeds: []string{"a.example/", "x.example/", "c.example/"}, changes: crawl.Changes{Seeds: true},
			want: `
seeded x.example/ c.example/
changed s old new
failed x.example/ status
fetched c.example/
`,
		}, {
			name: "hosts have had their share", pages: 3,
			then: crawl.Policy{MaxHostPages: 2}, changes: crawl.Changes{Shares: true},
			want: `
dropped host-pages 2 of a.example
changed s old new
fetched b.example/
fetched c.example/
fetched b.example/1
dropped host-pages 2 of b.example
`,
		}, {
			name: "hosts have more to give", pages: 9,
			first: crawl.Policy{MaxHostPages: 1}, then: crawl.Policy{MaxHostPages: 2},
			seeds: []string{"a.example/", "b.example/1"}, changes: crawl.Changes{Shares: true, Seeds: true},
			want: `
seeded b.example/1
changed s old new
fetched b.example/1
`,
		}, {
			name: "hosts have more to give, of links that are found again", pages: 3,
			first: crawl.Policy{MaxHostPages: 1}, then: crawl.Policy{},
			seeds: []string{"a.example/", "a.example/bees/3"}, changes: crawl.Changes{Shares: true, Seeds: true},
			want: `
seeded a.example/bees/3
changed s old new
fetched a.example/bees/3
fetched a.example/login/2
fetched a.example/bees
fetched a.example/bees/2
`,
		}, {
			name: "nothing that waits is concerned", pages: 4,
			want: `
changed s old new
fetched c.example/
fetched a.example/bees/2
fetched a.example/login/2
fetched b.example/1
fetched b.example/2
fetched b.example/3
fetched a.example/bees/3
`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := frontier.NewMemory(frontier.Options{})
			log := &memoryLog{}
			c.first.Pages = c.pages
			seeds := []string{"a.example/"}
			if strings.Contains(c.name, "taken out") || strings.Contains(c.name, "failed") {
				seeds = append(seeds, "x.example/")
			}
			if _, err := gardener(t, f, log, c.first, seeds...).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := len(log.events)
			if c.seeds == nil {
				c.seeds = seeds
			}
			second := gardener(t, f, log, c.then, c.seeds...)
			second.History, second.Changes = log.all(), c.changes
			second.Changes.Settings = []event.Changed{{Setting: "s", Old: "old", New: "new"}}
			if _, err := second.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), story(log.events[before:])); diff != "" {
				t.Errorf("the second run (-want +got):\n%s", diff)
			}
		})
	}
}

// A run that dies while it makes its changes leaves them to the next one: whatever
// died, the crawl goes on as if nothing had.
func TestChangesOfARunThatDies(t *testing.T) {
	then := crawl.Policy{MaxDepth: 2, MaxHostPages: 4, Scope: crawl.Scope{Exclude: []*regexp.Regexp{regexp.MustCompile("/login")}}}
	run := func(fail int) string {
		disk := vfs.NewMem()
		open := func() *frontier.Frontier {
			f, err := frontier.Open("frontier", frontier.Options{FS: disk})
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		shut := func(f *frontier.Frontier) {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
		f := open()
		defer func() { shut(f) }()
		log := &memoryLog{}
		if _, err := gardener(t, f, log, crawl.Policy{Pages: 3}, "a.example/").Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := len(log.events)
		died := false
		for {
			c := gardener(t, f, log, then, "a.example/", "d.example/")
			c.History = log.all()
			made := false
			for _, e := range log.events {
				if e, ok := e.(event.Changed); ok && e.Setting == "last" {
					made = true
				}
			}
			if !made {
				c.Changes = crawl.Changes{Links: true, Seeds: true, Shares: true, Settings: []event.Changed{{Setting: "first"}, {Setting: "last"}}}
			}
			if !died {
				log.fail = fail
			}
			_, err := c.Run(t.Context())
			log.fail = 0
			if err == nil {
				break
			}
			if died || !errors.Is(err, errFull) {
				t.Fatal(err)
			}
			died = true
			shut(f)
			f = open()
			log.cut(t, f)
		}
		if died != (fail > 0) {
			t.Fatalf("append %d failed: %v", fail, died)
		}
		// What was done by the run that died may be told again.
		told := map[string]bool{}
		var out strings.Builder
		for line := range strings.Lines(story(log.events[before:])) {
			if !told[line] {
				out.WriteString(line)
			}
			told[line] = true
		}
		return out.String()
	}
	want := run(0)
	for _, line := range []string{"dropped scope ", "seeded d.example/", "changed last", "fetched d.example/1"} {
		if !strings.Contains(want, line) {
			t.Fatalf("without %q the test shows nothing:\n%s", line, want)
		}
	}
	// Started, what left, what entered, and the two changes are five.
	for fail := 1; fail <= 5; fail++ {
		if got := run(fail); got != want {
			t.Errorf("with append %d failing (-want +got):\n%s", fail, cmp.Diff(want, got))
		}
	}
}
