package bloom

import "testing"

// TestFilter asserts that a filter has all that was added, and hardly anything else.
func TestFilter(t *testing.T) {
	const n = 100_000
	f := make(Filter, Words(n))
	hash := func(i int) uint64 { return uint64(i+1) * 0x9e3779b97f4a7c15 }
	for i := range n {
		f.Add(hash(i))
	}
	others := 0
	for i := range 2 * n {
		switch has := f.Has(hash(i)); {
		case i < n && !has:
			t.Fatalf("hash %d is not there", i)
		case i >= n && has:
			others++
		}
	}
	if others > n*2/100 {
		t.Errorf("%d of %d others are there", others, n)
	}
	if Filter(nil).Has(1) {
		t.Error("an empty set has something")
	}
}
