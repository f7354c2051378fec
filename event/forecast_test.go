package event_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/event"
)

// What is forecast of the next 100 pages, and how many are in reach at the least, after pages of each kind, in their order.
func TestForecast(t *testing.T) {
	for _, c := range []struct{ pages, want string }{
		{"99 no", "not ready: about 0.9 (0 to 5), 0 in reach"},
		{"100 no", "about 0.9 (0 to 5), 0 in reach"},
		{"1000 no", "about 0.7 (0 to 4), 0 in reach"},
		{"100 yes", "about 96.5 (85 to 100), 124 in reach"},
		{"1000 yes", "about 97.3 (88 to 100), 125 in reach"},
		{"1000 yes, 50 no", "about 49.0 (27 to 71), 62 in reach"},
		{"1000 yes, 200 no", "about 6.7 (0 to 20), 7 in reach"},
		{"200 no, 10 yes", "about 13.9 (2 to 32), 17 in reach"},
	} {
		var f event.Forecast
		for part := range strings.SplitSeq(c.pages, ", ") {
			var n int
			var kind string
			if _, err := fmt.Sscan(part, &n, &kind); err != nil {
				t.Fatal(err)
			}
			for range n {
				f.Add(kind == "yes")
			}
		}
		low, high := f.Interval(100)
		got := fmt.Sprintf("about %.1f (%d to %d), %d in reach", f.Mean(100), low, high, f.Least())
		if !f.Ready() {
			got = "not ready: " + got
		}
		if got != c.want {
			t.Errorf("%s: %s; want %s", c.pages, got, c.want)
		}
	}
}

// Where every page is relevant with the same chance the interval holds at least nine
// times in ten: it is made for crawls, whose harvest comes in runs, and so is wide.
func TestForecastHolds(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for _, p := range []float64{0.02, 0.1, 0.5, 0.95} {
		held, tries := 0, 300
		for range tries {
			var f event.Forecast
			for range 300 {
				f.Add(chance.Float64() < p)
			}
			next := 0
			for range 100 {
				if chance.Float64() < p {
					next++
				}
			}
			if low, high := f.Interval(100); low <= next && next <= high {
				held++
			}
		}
		if held < tries*9/10 {
			t.Errorf("at a harvest of %v the interval held %d times of %d", p, held, tries)
		}
	}
}
