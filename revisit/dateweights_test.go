package revisit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// The word of a host counts by how often it came true; that of one whose pages all bear the date
// of today, and that of one whose pages keep the date they had, come to count nothing.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		claims, denials    collection.Told
		changed, unchanged float64 // at least or at most, by side
		says               string
	}{
		{collection.Told{Visits: 50, Changes: 50, Expected: 10}, collection.Told{Visits: 50, Changes: 0, Expected: 10}, 50, 0.1, "true"},
		{collection.Told{Visits: 200, Changes: 20, Expected: 20}, collection.Told{}, 1.3, 0, "today"},
		{collection.Told{}, collection.Told{Visits: 200, Changes: 20, Expected: 20}, 0, 0.75, "never"},
		{collection.Told{Visits: 1, Changes: 0, Expected: 0.1}, collection.Told{}, 3, 0, "once wrong"},
	} {
		known := []collection.Known{page("https://a.example/x", 1, 10, 10, 1, 1)}
		known[0].Claims, known[0].Denials = c.claims, c.denials
		w := DateWeights(known)["a.example"]
		ok := false
		switch c.says {
		case "true":
			ok = w.Changed > c.changed && w.Unchanged < c.unchanged
		case "today", "once wrong":
			ok = w.Changed > 0.8 && w.Changed < c.changed && w.Unchanged == crawl.DefaultDateWeight.Unchanged
		case "never":
			ok = w.Unchanged > c.unchanged && w.Unchanged < 1.2 && math.Abs(w.Changed-crawl.DefaultDateWeight.Changed) < 1e-9
		}
		if !ok {
			t.Errorf("%s: %+v", c.says, w)
		}
	}
	if w := DateWeights([]collection.Known{page("https://a.example/x", 1, 10, 10, 1, 1)}); len(w) != 0 {
		t.Errorf("of nothing that was said: %v", w)
	}
}

// What was said after the last visit of a page, and is not in the future, makes it due sooner;
// lists that tell dates go first, up to a tenth of the budget.
func TestChooseBySaid(t *testing.T) {
	known := []collection.Known{
		page("https://a.example/a", 0.9, 30, 10, 3, 1),
		page("https://a.example/b", 0.9, 30, 10, 3, 1),
		page("https://a.example/c", 0.9, 30, 10, 3, 1),
		page("https://a.example/map1", 0, 30, 10, 3, 1),
		page("https://a.example/map2", 0, 30, 10, 3, 1),
	}
	known[0].Said = "2999-01-01"
	known[1].Said = "2026-02-25"
	known[2].Said = "2025-02-25"
	known[3].Entries, known[4].Entries = 2, 3
	order := func(pages int) (names []string) {
		Choose(known, now, pages)
		for _, k := range Again(known, pages).Due {
			names = append(names, k.URL.Path())
		}
		return names
	}
	if got, want := order(0), []string{"/map1", "/map2", "/b", "/a", "/c"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := order(10), []string{"/map2", "/b", "/a", "/c", "/map1"}; !slices.Equal(got, want) {
		t.Errorf("ten pages: %v, want %v", got, want)
	}
	if a := Again(known, 10); a.Room != 8-5 {
		t.Errorf("room for %d more", a.Room)
	}
}

// sitemaps says when a page changed last, given when it did, today and a page's number.
type sitemaps func(changed, today time.Time, i int) time.Time

// On the made collection of TestOrderFindsChanges with a budget for 15 known pages a day, the
// same fetches find more relevant pages
// changed where a sitemap tells when pages did, and no fewer where it tells what is not so.
// docs/guide/again.md tells the figures.
func TestSitemapsFindChanges(t *testing.T) {
	long.Test(t, "simulates ninety rounds")
	const rounds, learning, budget = 90, 30, 19
	for name, c := range map[string]struct {
		sitemap     sitemaps
		least, most float64
	}{
		"true":  {func(changed, _ time.Time, _ int) time.Time { return changed }, 1.3, 3},
		"today": {func(_, today time.Time, _ int) time.Time { return today.Add(-time.Hour) }, 0.97, 1.03},
		"never": {func(_, _ time.Time, _ int) time.Time { return now.AddDate(-1, 0, 0) }, 0.97, 1.03},
		"half true": {func(changed, today time.Time, i int) time.Time {
			if i%2 == 0 {
				return today.Add(-time.Hour)
			}
			return changed
		}, 1.15, 3},
	} {
		var without, with int
		for seed := range uint64(2) {
			a, fetches := changesTold(seed, rounds, learning, budget, nil)
			b, fetchesTold := changesTold(seed, rounds, learning, budget, c.sitemap)
			if fetches != fetchesTold {
				t.Fatalf("%s: %d fetches, %d without", name, fetchesTold, fetches)
			}
			without, with = without+a, with+b
		}
		ratio := float64(with) / float64(without)
		t.Logf("%s: %d changes found, %d without: %.2f times as many", name, with, without, ratio)
		if ratio < c.least || ratio > c.most {
			t.Errorf("%s: %.2f times as many, want from %.2f to %.2f", name, ratio, c.least, c.most)
		}
	}
}

// dateOf is a moment as a sitemap tells it; "" for one that is none.
func dateOf(t time.Time) web.Date {
	d, _ := web.ParseDate(t.Format(time.RFC3339))
	return d
}

// changesTold is how many fetches after the first learning rounds found a relevant page changed,
// of how many. A round chooses pages, hears what the sitemap tells of all, and goes by both, as a
// crawl does: those that are said to have changed first, those that are said not to have last.
func changesTold(seed uint64, rounds, learning, budget int, sitemap sitemaps) (found, fetched int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	begun := now
	known, rates := sections(rng, begun)
	changed := make([]time.Time, len(known)) // last
	for day := 1; day <= rounds; day++ {
		today := begun.AddDate(0, 0, day)
		for i, rate := range rates {
			if rng.Float64() < -math.Expm1(-rate) {
				changed[i] = today.Add(-6 * time.Hour)
			}
		}
		Choose(known, today, budget)
		a := Again(known, budget)
		value := map[string]float64{}
		heard := map[string]bool{}
		if sitemap != nil {
			for i := range known {
				k := &known[i]
				if says, ok := crawl.ChangeTold(dateOf(sitemap(changed[i], today, i)), k.Last, today); ok {
					heard[k.URL.String()] = says
				}
			}
		}
		var order []crawl.Known
		all := slices.Concat(a.Due, a.Left)
		for _, k := range all {
			u := k.URL.String()
			value[u] = k.Worth * k.Chance
			if says, ok := heard[u]; ok {
				value[u] = k.Worth * weightOf(a.DateWeights, k.URL.Host()).Chance(k.Chance, says)
			}
			order = append(order, k)
		}
		slices.SortStableFunc(order, func(x, y crawl.Known) int {
			d := value[y.URL.String()] - value[x.URL.String()]
			switch {
			case d > 0:
				return 1
			case d < 0:
				return -1
			}
			return 0
		})
		place := map[string]int{}
		for i := range known {
			place[known[i].URL.String()] = i
		}
		r := Round{fates: map[web.URL]Fate{}}
		for _, c := range order[:len(a.Due)] {
			i := place[c.URL.String()]
			k := &known[i]
			was := changed[i].After(k.Last)
			k.Visits++
			r.fates[k.URL] = Unchanged
			if was {
				k.Changes++
				r.fates[k.URL] = Changed
			}
			if says, ok := heard[k.URL.String()]; ok {
				r.learn(k, says)
			}
			if day > learning {
				fetched++
				if was && k.Relevant {
					found++
				}
			}
			k.Last = today
		}
	}
	return found, fetched
}
