package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// said are acts, each told once so many pages were fetched.
type said struct {
	acts  []event.Act
	after []int

	pages   int
	fetched map[web.URL]bool
}

func (s *said) After(n int) (out []event.Act, err error) {
	for i := n; i < len(s.acts) && s.after[i] <= s.pages; i++ {
		out = append(out, s.acts[i])
	}
	return out, nil
}

// steered is a crawl of 60 pages on three hosts, of one worker, that is told what lines
// say: "5 mute h1.example" after five pages. It tells of pages, of what was said of
// them anew, and of acts, a line each.
func steered(t *testing.T, lines string) (story []string) {
	t.Helper()
	site := tree(3, 200)
	c := newCrawl(t, site, 1)
	c.Clock, c.Policy.Pages = stillClock{}, 60
	s := &said{fetched: map[web.URL]bool{}}
	for line := range strings.Lines(lines) {
		var after int
		var a event.Act
		var to string
		if _, err := fmt.Sscan(line, &after, &a.Do, &to); err != nil && to != "" {
			t.Fatal(err)
		}
		switch a.Needs() {
		case "url":
			a.URL = mustParse(t, to)
		case "place":
			a.Place = to
		case "pages":
			fmt.Sscan(to, &a.Pages)
		case "delay":
			a.Delay = to
		case "act":
			fmt.Sscan(to, &a.Act)
		}
		s.acts, s.after = append(s.acts, a), append(s.after, after)
	}
	c.Acts = s
	parser := parse.New(parse.Options{})
	c.Look = func(ctx context.Context, u web.URL) (*web.Page, error) {
		if !s.fetched[u] {
			return nil, nil
		}
		r, err := site.Fetch(ctx, u)
		if err != nil || r.Status != 200 {
			return nil, nil
		}
		return parser.Parse(r)
	}
	c.Listen = func(e event.Event) {
		switch e := e.(type) {
		case event.Fetched:
			s.pages++
			s.fetched[e.URL] = true
			story = append(story, "page "+strings.TrimPrefix(e.URL.String(), "http://"))
		case event.Act:
			story = append(story, strings.TrimSpace(fmt.Sprintf("act %d %s %s", e.Number, e.Words(), e.Refused)))
		case event.Dropped:
			story = append(story, fmt.Sprintf("dropped %s", e.Reason))
		case event.Rejudged:
			for _, v := range e.Pages {
				story = append(story, fmt.Sprintf("verdict %s %v was %v", strings.TrimPrefix(v.URL.String(), "http://"), v.Relevant, v.Was))
			}
		}
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return story
}

func mustParse(t *testing.T, s string) web.URL {
	t.Helper()
	u, err := web.Parse("http://" + s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// What people tell a crawl holds from the act on, and is undone by another.
func TestSteered(t *testing.T) {
	pages := func(story []string, of string) (n int) {
		for _, line := range story {
			if strings.HasPrefix(line, "page "+of) {
				n++
			}
		}
		return n
	}
	after := func(story []string, line string) []string {
		i := slices.Index(story, line)
		if i < 0 {
			t.Fatalf("%q did not happen:\n%s", line, strings.Join(story, "\n"))
		}
		return story[i+1:]
	}

	free := steered(t, "")
	if n := pages(free, ""); n != 60 || pages(free, "h1.example") == 0 {
		t.Fatalf("%d pages without a word", n)
	}

	if muted := after(steered(t, "5 mute h1.example"), "act 1 mute h1.example"); pages(muted, "h1.example") > 0 || !slices.Contains(muted, "dropped muted") {
		t.Errorf("a host that is muted: %v", muted)
	}
	back := after(steered(t, "3 mute h2.example\n34 undo 1"), "act 1 mute h2.example")
	if i := slices.Index(back, "act 2 undo 1"); pages(back[:i], "h2.example") > 0 || pages(back[i:], "h2.example") == 0 {
		t.Errorf("a host that was muted for some time: %v", back)
	}

	boosted := after(steered(t, "12 boost h2.example"), "act 1 boost h2.example")
	if n := pages(boosted[:min(10, len(boosted))], "h2.example"); n < 9 {
		t.Errorf("%d of 10 pages of a host that is boosted: %v", n, boosted)
	}

	more := after(steered(t, "10 more h0.example/17"), "act 1 more http://h0.example/17")
	if got := strings.Join(more[:3], ", "); got != "verdict h0.example/17 true was false, page h0.example/34, page h0.example/35" {
		t.Errorf("after more of a page: %s", got)
	}

	if n := pages(steered(t, "5 budget 20\n"), ""); n != 20 {
		t.Errorf("%d pages of a budget of 20", n)
	}
	if n := pages(steered(t, "5 budget 20\n10 undo 1"), ""); n != 60 {
		t.Errorf("%d pages once the budget of 20 was undone", n)
	}

	if n := pages(steered(t, "5 budget 20\n6 budget 30\n7 undo 1\n8 undo 2"), ""); n != 60 {
		t.Errorf("%d pages once both budgets were undone, the older first", n)
	}
	if n := pages(steered(t, "5 budget 20\n6 budget 30\n7 undo 1"), ""); n != 30 {
		t.Errorf("%d pages once the budget that another replaced was undone", n)
	}

	labels := strings.Join(slices.DeleteFunc(steered(t, "10 irrelevant h0.example/2\n20 relevant h0.example/17\n30 undo 1"), func(s string) bool {
		return strings.HasPrefix(s, "page")
	}), "; ")
	if labels != "act 1 irrelevant http://h0.example/2; verdict h0.example/2 false was true; "+
		"act 2 relevant http://h0.example/17; verdict h0.example/17 true was false; "+
		"act 3 undo 1; verdict h0.example/2 true was false" {
		t.Errorf("labels: %s", labels)
	}

	for lines, want := range map[string]string{
		"5 relevant h0.example/999":             "act 1 relevant http://h0.example/999 the archive holds no page of this address",
		"5 undo 1":                              "act 1 undo 1 there is no act 1",
		"5 mute h1.example\n6 undo 1\n7 undo 2": "act 3 undo 2 act 2 undid act 1, and is not undone itself: give what act 1 said again",
		"5 mute H1":                             `act 1 mute H1 "H1" is no place: give a host in small letters, such as example.org, or one and the beginning of a path as addresses have it, such as example.org/bees/`,
		"5 dance":                               `act 1 dance "dance" is no act: give one of relevant, irrelevant, more, mute, boost, budget, delay, keywords, pause, continue, undo`,
		"5 delay soon":                          `act 1 delay soon "soon" is no delay: give a time from 0s to 1h0m0s, such as 2s or 500ms`,
	} {
		if story := steered(t, lines); !slices.Contains(story, want) || pages(story, "") != 60 {
			t.Errorf("%q: %v", lines, slices.DeleteFunc(story, func(s string) bool { return strings.HasPrefix(s, "page") }))
		}
	}
}

// A run that takes acts up from an earlier one does what they ask of the links that wait:
// the earlier run may have died between the turn of an act and that. A pause ends with its
// run.
func TestActsOfAnEarlierRun(t *testing.T) {
	c := newCrawl(t, tree(3, 200), 1)
	c.Clock, c.Policy.Pages = stillClock{}, 20
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := c.Frontier.Stats(stillClock{}.Now())

	c.Policy.Pages = 60
	c.Acts, c.Look = &said{}, func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
	c.Told = []event.Act{{Number: 1, Do: event.Mute, Place: "h1.example"}, {Number: 2, Do: event.Boost, Place: "h2.example"}, {Number: 3, Do: event.Pause}}
	c.Control = &crawl.Control{}
	muted, hosts := 0, map[web.Host]int{}
	c.Listen = func(e event.Event) {
		switch e := e.(type) {
		case event.Fetched:
			hosts[e.URL.Host()]++
		case event.Dropped:
			muted += e.Count
		}
	}
	if how, err := c.Run(t.Context()); err != nil || how != event.BudgetSpent {
		t.Fatal(how, err)
	}
	if before.Queued < 3 || muted == 0 || hosts["h1.example"] > 0 || hosts["h2.example"] < 20 || c.Control.Paused() {
		t.Errorf("of %d links that waited %d are muted; then %v; paused: %v", before.Queued, muted, hosts, c.Control.Paused())
	}
}

// A run that was given another budget keeps it where an act of an earlier run is undone.
func TestBudgetOfAnEarlierRun(t *testing.T) {
	for told, want := range map[string]int{
		"":         30, // what the run was given
		"undo 1":   30,
		"budget":   40,
		"budget 1": 30, // and both undone, the older first
	} {
		c := newCrawl(t, tree(3, 200), 1)
		c.Clock, c.Policy.Pages = stillClock{}, 30
		c.Told = []event.Act{{Number: 1, Do: event.Budget, Pages: 20, Was: 25}}
		c.Look = func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
		s := &said{acts: slices.Clone(c.Told), after: []int{0}}
		c.Acts = s
		say := func(a event.Act) { s.acts, s.after = append(s.acts, a), append(s.after, 5+len(s.acts)) }
		switch told {
		case "undo 1":
			say(event.Act{Do: event.Undo, Act: 1})
		case "budget":
			say(event.Act{Do: event.Budget, Pages: 40})
		case "budget 1":
			say(event.Act{Do: event.Budget, Pages: 40})
			say(event.Act{Do: event.Undo, Act: 1})
			say(event.Act{Do: event.Undo, Act: 2})
		}
		pages, refused := 0, ""
		c.Listen = func(e event.Event) {
			switch e := e.(type) {
			case event.Fetched:
				pages++
				s.pages++
			case event.Act:
				refused += e.Refused
			}
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if pages != want || (told == "undo 1") != strings.Contains(refused, "replaced when the crawl went on, by 30") {
			t.Errorf("%q: %d pages, want %d; refused: %q", told, pages, want, refused)
		}
	}
}

// A delay that is set holds from the next request to each host on, and until it is undone.
// One that the owner of the crawl refuses does not.
func TestDelayIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, tree(1, 100), 1)
		c.Policy.Pages, c.Policy.Delay = 40, time.Second
		s := &said{
			acts:  []event.Act{{Do: event.Delay, Delay: "10s"}, {Do: event.Delay, Delay: "0s"}, {Do: event.Undo, Act: 1}},
			after: []int{10, 20, 30},
		}
		c.Acts, c.Look = s, func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
		var kept []time.Duration
		c.Revised = func(pages int, delay time.Duration) error {
			if pages != 40 {
				t.Errorf("a budget of %d pages", pages)
			}
			if delay == 0 {
				return errors.New("too short")
			}
			kept = append(kept, delay)
			return nil
		}
		var at []time.Time
		var acts []string
		c.Listen = func(e event.Event) {
			switch e := e.(type) {
			case event.Fetched:
				at = append(at, e.At.At)
				s.pages++
			case event.Act:
				acts = append(acts, strings.TrimSpace(e.Words()+" "+e.Refused))
			}
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(at); i++ {
			want := time.Second
			if i > 10 && i < 30 { // the act is taken in after the tenth page; its host rests already
				want = 10 * time.Second
			}
			// Between two pages there may be some addresses without one.
			if gap := at[i].Sub(at[i-1]); (gap < want || gap > 5*want) && i != 10 && i != 30 {
				t.Errorf("page %d came %v after the one before, want %v, or a few times that", i+1, gap, want)
			}
		}
		if got := strings.Join(acts, "; "); got != "delay 10s; delay 0s too short; undo 1" {
			t.Error(got)
		}
		if fmt.Sprint(kept) != "[10s 1s]" {
			t.Errorf("kept %v", kept)
		}
	})
}
