package frontier

import (
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// TestSeen compares the seen-set on disk with a map, under changes that are committed and made runs
// of, runs that become one, and reopening.
func TestSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		opts := Options{recent: rapid.IntRange(1, 400).Draw(t, "recent")}
		var d *disk
		var f *Frontier
		reopen := func() {
			if f != nil {
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			if f, err = open(fs, "frontier", opts); err != nil {
				t.Fatal(err)
			}
			d = f.shelf.(*disk)
		}
		reopen()
		want := map[uint64]mark{}
		hash := rapid.Custom(func(t *rapid.T) uint64 {
			// Spread evenly, and neighbours now and then.
			h := uint64(rapid.IntRange(1, 1500).Draw(t, "address"))
			return max(h*0x9e3779b97f4a7c15>>rapid.SampledFrom([]uint{0, 0, 0, 60}).Draw(t, "near"), 1)
		})
		for range rapid.IntRange(1, 25).Draw(t, "commits") {
			for range rapid.SampledFrom([]int{1, 10, 300}).Draw(t, "changes") {
				h := hash.Draw(t, "hash")
				m := rapid.SampledFrom([]mark{{how: taken}, {how: dropped}, {key{1, 6}, waiting}}).Draw(t, "mark")
				is, err := d.seen.get(h)
				if err != nil {
					t.Fatal(err)
				}
				if is != want[h] {
					t.Fatalf("%x: %v, want %v", h, is, want[h])
				}
				d.note(record{h, m.tag(), noHost}, is.how == unknown)
				want[h] = m
			}
			if err := d.commit(f.next, rapid.Bool().Draw(t, "quick")); err != nil {
				t.Fatal(err)
			}
			if d.job != nil && rapid.Bool().Draw(t, "wait") {
				<-d.job.done
			}
			if rapid.IntRange(0, 5).Draw(t, "reopen") == 0 {
				reopen()
			}
		}
		if d.seen.n != len(want) {
			t.Errorf("%d addresses, want %d", d.seen.n, len(want))
		}
		for _, h := range slices.Sorted(maps.Keys(want)) {
			for _, h := range []uint64{max(h-1, 1), h, h + 1} {
				if is, err := d.seen.get(h); err != nil || is != want[h] {
					t.Fatalf("%x: %v, %v; want %v", h, is, err, want[h])
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestMergeFrom asserts which runs become one: newer ones of about one size.
func TestMergeFrom(t *testing.T) {
	for _, x := range []struct {
		records []int64
		want    int
	}{
		{nil, 0},
		{[]int64{5}, 1},
		{[]int64{5, 5}, 2},
		{[]int64{5, 5, 5}, 0},
		{[]int64{100, 5, 5}, 3},
		{[]int64{100, 5, 5, 5}, 1},
		{[]int64{20, 5, 5, 5}, 0},
	} {
		var runs []*run
		for _, n := range x.records {
			runs = append(runs, &run{runRef: runRef{records: n}})
		}
		if got := mergeFrom(runs); got != x.want {
			t.Errorf("runs of %v: from %d, want %d", x.records, got, x.want)
		}
	}
}

// TestFilter asserts that a filter has all that was added, and hardly anything else.
func TestFilter(t *testing.T) {
	const n = 100_000
	f := newFilter(n)
	defer f.free()
	hash := func(i int) uint64 { return uint64(i+1) * 0x9e3779b97f4a7c15 }
	for i := range n {
		f.add(hash(i))
	}
	others := 0
	for i := range 2 * n {
		switch has := f.has(hash(i)); {
		case i < n && !has:
			t.Fatalf("address %d is not there", i)
		case i >= n && has:
			others++
		}
	}
	if others > n*2/100 {
		t.Errorf("%d of %d others are there", others, n)
	}
}
