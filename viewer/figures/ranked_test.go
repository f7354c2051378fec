package figures

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
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
