package event

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A crawl that is followed while its pages are judged anew has the same figures of its last pages
// as one whose log is read afterwards, where each page has its last verdict.
func TestRecentPagesJudgedAnew(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	var events []Event
	var pages []Verdict
	for i := range 1500 {
		u := addr(fmt.Sprintf("https://a.example/%d", i))
		v := Verdict{URL: u, Relevant: chance.IntN(10) == 0}
		events = append(events, Fetched{At: after(float64(i)), Visit: Visit{URL: u}, Relevant: v.Relevant})
		pages = append(pages, v)
		if i%50 != 49 {
			continue
		}
		e := Rejudged{At: after(float64(i))}
		for k := range pages {
			if v := &pages[k]; chance.IntN(10) == 0 {
				v.Was, v.Relevant = v.Relevant, !v.Relevant
				e.Pages = append(e.Pages, *v)
			}
		}
		events = append(events, e)

		var followed, read Summary
		for _, e := range events {
			followed.Add(e)
		}
		for e := range Renewed(sequence(events, nil), sequence(events, nil)) {
			read.Add(e)
		}
		got, want := followed.Forecast, read.Forecast
		if followed.RecentHarvest() != read.RecentHarvest() || math.Abs(got.Relevant-want.Relevant) > 1e-4 || got.Pages != want.Pages {
			t.Fatalf("after %d pages: followed %v of late and %v, read %v and %v", i+1, followed.RecentHarvest(), got, read.RecentHarvest(), want)
		}
	}
}
