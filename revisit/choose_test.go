package revisit

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/web"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// page is one that was watched for so many days, and seen last so many days ago.
func page(address string, relevance float64, watched, ago, visits, changes int) collection.Known {
	last := now.AddDate(0, 0, -ago)
	return collection.Known{
		URL: at(address), Relevance: relevance, Relevant: relevance >= 0.5,
		First: last.AddDate(0, 0, -watched), Last: last, Visits: visits, Changes: changes,
	}
}

// What is relevant and changes comes first; what is neither last.
func TestChoose(t *testing.T) {
	moved := page("https://a.example/moved", 1, 10, 10, 1, 0)
	moved.Gone = now.AddDate(0, 0, -1)
	failing := page("https://a.example/failing", 1, 10, 10, 1, 0)
	failing.Failed = 3
	hub := page("https://a.example/hub", 0, 30, 10, 3, 0)
	led := page("https://a.example/led", 0.9, 30, 1, 3, 0)
	led.From = hub.URL
	known := []collection.Known{
		moved, failing, hub, led,
		page("https://a.example/poor", 0.1, 30, 10, 3, 0),
		page("https://a.example/still", 0.9, 30, 10, 3, 0),
		page("https://a.example/busy", 0.9, 30, 10, 3, 3),
		page("https://a.example/news/one", 0.9, 30, 10, 3, 0), // a still page of a busy section
		page("https://a.example/news/two", 0.9, 30, 10, 9, 9),
		page("https://a.example/poor-busy", 0.1, 30, 10, 3, 3),
	}
	Choose(known, now, 0)
	var b strings.Builder
	for _, c := range Again(known, 0).Due {
		fmt.Fprintf(&b, "%.3f %s\n", c.Priority, strings.TrimPrefix(c.URL.String(), "https://a.example"))
	}
	const want = `0.836 /news/two
0.432 /busy
0.209 /news/one
0.136 /still
0.075 /hub
0.015 /led
0.012 /poor-busy
0.004 /poor
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if left := Again(known, 0).Left; len(left) != 0 {
		t.Errorf("left without a bound: %v", left)
	}

	// A budget of 6: four known pages, and two for new ones.
	Choose(known, now, 6)
	a := Again(known, 6)
	if len(a.Due) != 4 || len(a.Left) != 4 || a.Due[3].URL != at("https://a.example/still") {
		t.Errorf("due %v, left %v", a.Due, a.Left)
	}
}

// The rate of a page whose section and whose collection tell nothing is one change in 30
// days; many visits outweigh that.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		watched, changes int
		want             float64
	}{
		{0, 0, 1. / 30},
		{3000, 0, 1. / 9030}, // of all 1 in 3030, of the section 1 in 3000 + 3030, of the page 1 in 3000 + 6030
		{3000, 3000, 1},
	} {
		known := []collection.Known{page("https://a.example/x", 1, c.watched, 0, c.changes, c.changes)}
		r := ratesOf(known)
		if got := r.of(&known[0]); math.Abs(got/c.want-1) > 0.01 {
			t.Errorf("%d changes in %d days: %g a day, want %g", c.changes, c.watched, got, c.want)
		}
	}
}

func TestSection(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.example/":          "a.example/",
		"https://a.example/x":         "a.example/",
		"https://a.example/news/":     "a.example/news",
		"https://a.example/news/2/x?": "a.example/news",
	} {
		if got := Section(at(address)); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func at(address string) web.URL {
	u, err := web.Parse(address)
	if err != nil {
		panic(err)
	}
	return u
}
