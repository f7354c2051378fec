package eval

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/eval/pool"
)

// Whatever was read and whatever was not: at every point of a curve the bounds lie
// as far apart as there are unread places, the estimate lies between them, and it
// has a standard error. To read an irrelevant page instead of leaving it unread
// changes the curve: an unread page is never an irrelevant one.
func TestUnreadPagesAreNotIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := pool.Grade(rapid.IntRange(1, 2).Draw(t, "from"))
		draw := func(kinds, label string, most int) (s string) {
			for range rapid.IntRange(1, most).Draw(t, label) {
				s += string(rapid.SampledFrom([]byte(kinds)).Draw(t, "kind")) + string(rapid.SampledFrom([]byte("abc")).Draw(t, "stratum"))
			}
			return s
		}
		pages := draw("012??sco", "pages", 40)
		// The documents of the web: those that were fetched, and others.
		documents := strings.Repeat("2a0a2b0b2c0c", 3) + draw("012?", "others", 20)
		for i := 0; i < len(pages); i += 2 {
			if strings.IndexByte("012?", pages[i]) >= 0 {
				documents += pages[i : i+2]
			}
		}
		cell := func(pages, documents string) Cell {
			run, ref := readLine(pages, 3, from), samplesOf(documents, 3, from)
			ref.Bound, ref.Greedy = slices.Repeat([]float64{50}, 90), slices.Repeat([]float64{50}, 90)
			return NewCell(run, ref, []int{len(pages) / 2}, Measures())
		}
		c := cell(pages, documents)
		for i, n := range c.Points {
			unread := float64(strings.Count(everySecond(pages[:2*n]), "?"))
			low, h, high := c.LowerHits[i], c.Hits[i], c.UpperHits[i]
			if c.Unread[i] != unread || math.Abs(high-low-unread) > 1e-9 || h < low-1e-9 || h > high+1e-9 {
				t.Fatalf("at %d: %v hits (%v…%v), %v unread places of %v", n, h, low, high, c.Unread[i], unread)
			}
		}
		last := len(pages) / 2
		if got, want := c.Value("unread", last), c.Unread[len(c.Unread)-1]/float64(last); math.Abs(got-want) > 1e-9 {
			t.Fatalf("unread is %v, want %v", got, want)
		}
		if se := c.Value("hits-se", last); (se > 0) != (c.Unread[len(c.Unread)-1] > 0) {
			t.Fatalf("the standard error of hits is %v, with %v unread places", se, c.Unread[len(c.Unread)-1])
		}
		for _, name := range []string{"hits", "harvest", "auc", "of-bound", "recall", "harvest-1"} {
			if low, v, high := c.LowerValue(name, last), c.Value(name, last), c.UpperValue(name, last); low > v+1e-9 || v > high+1e-9 {
				t.Fatalf("%s is %v, outside %v…%v", name, v, low, high)
			}
		}
		if at := strings.IndexByte(everySecond(pages), '?'); at >= 0 {
			irrelevant := []byte(pages)
			irrelevant[2*at] = '0'
			x := cell(string(irrelevant), strings.Replace(documents, pages[2*at:2*at+2], string(irrelevant[2*at:2*at+2]), 1))
			if i := slices.Index(c.Points, last); x.UpperHits[i] != c.UpperHits[i]-1 || x.Unread[i] != c.Unread[i]-1 {
				t.Fatalf("an irrelevant page in place of an unread one: at most %v hits and %v, of which %v and %v were not read", x.UpperHits[i], c.UpperHits[i], x.Unread[i], c.Unread[i])
			}
		}
	})
}

// everySecond is the kinds of pages in the notation of readLine.
func everySecond(pages string) string {
	var b strings.Builder
	for i := 0; i < len(pages); i += 2 {
		b.WriteByte(pages[i])
	}
	return b.String()
}
