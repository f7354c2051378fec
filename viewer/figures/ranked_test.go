package figures

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/event"
)

// Any window of an order is that of the whole sorted, whatever the keys are like.
func TestRanked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 20), 0, 300).Draw(t, "keys")
		less := func(i, j int32) bool { return keys[i] < keys[j] || keys[i] == keys[j] && i < j }
		ids := make([]int32, len(keys))
		for i := range ids {
			ids[i] = int32(i)
		}
		sorted := (&best{ids: slices.Clone(ids), less: less}).sorted()
		from, n := rapid.IntRange(0, 310).Draw(t, "from"), rapid.IntRange(0, 60).Draw(t, "n")
		want := slice(sorted, from, n)
		if got := ranked(ids, less, from, n); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// Who turns the pages of a list, forward and back, with other lists and further events in between,
// is shown what the whole list holds there.
func TestTurned(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := New()
		add := func(n int) {
			for range n {
				i := c.Pages()
				c.Add(event.Fetched{At: at(i), Visit: event.Visit{URL: addr(t, fmt.Sprintf("https://h%d.test/%d", i%3, i))}, Relevance: float64(rapid.IntRange(0, 4).Draw(r, "relevance")) / 4}, int64(i))
			}
		}
		add(rapid.IntRange(0, 60).Draw(r, "pages"))
		filters := []Filter{{Order: "relevance", Down: true}, {Order: "address"}, {Order: "relevance", Least: 0.5}, {Order: "address", Only: []int{3, 9, 4, 7}}}
		f := filters[0]
		for range 30 {
			switch rapid.IntRange(0, 9).Draw(r, "what") {
			case 0:
				f = rapid.SampledFrom(filters).Draw(r, "filter")
			case 1:
				add(2)
			case 2:
				f.From = rapid.IntRange(0, 70).Draw(r, "from")
			case 3, 4:
				f.From = max(0, f.From-f.N)
			default:
				f.From += f.N
			}
			f.N = rapid.IntRange(0, 9).Draw(r, "n")
			whole := f
			whole.From, whole.N = 0, 1000
			got, n := c.Numbers(f)
			want, all := c.Numbers(whole)
			want = want[min(f.From, len(want)):min(f.From+f.N, len(want))]
			if !slices.Equal(got, want) || n != all {
				r.Fatalf("%+v: %v of %d, want %v of %d", f, got, n, want, all)
			}
		}
	})
}
