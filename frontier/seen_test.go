package frontier

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
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
			d = f.backend.(*disk)
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
				m := rapid.SampledFrom([]mark{{how: taken}, {how: dropped}, {key{1, 6}, waiting, noHost}}).Draw(t, "mark")
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
			if err := d.commit(change{next: f.next, quick: rapid.Bool().Draw(t, "quick")}); err != nil {
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

// TestEarlierVersion takes up a folder of the version before runs, which has one ledger alone, and
// makes runs of it.
func TestEarlierVersion(t *testing.T) {
	fs := vfs.NewMem()
	f, err := open(fs, "frontier", Options{})
	if err != nil {
		t.Fatal(err)
	}
	turn := web.Turn{Done: []web.URL{address(t, "a.example/done")}}
	for i := range 50 {
		turn.Add = append(turn.Add, web.Candidate{URL: address(t, fmt.Sprintf("a%d.example/%d", i%7, i)), Priority: float64(i)})
	}
	if _, err := f.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	m := f.backend.(*disk).meta
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	earlier := []byte{2}
	for _, n := range []uint64{m.ledger, uint64(m.size), uint64(m.records), uint64(m.size), m.next, m.turn, 0} {
		earlier = binary.AppendUvarint(earlier, n)
	}
	db, err := pebble.Open("frontier/queue", storeOptions(fs, newHalt()))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Set([]byte{metaPrefix}, earlier, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	opts := Options{recent: 10}
	for range 2 {
		if f, err = open(fs, "frontier", opts); err != nil {
			t.Fatal(err)
		}
		if s := f.Stats(time.Time{}); s.Queued != 50 || s.Seen != 51 || s.Hosts != 7 {
			t.Errorf("%+v", s)
		}
		if s := f.Standing(address(t, "a.example/done")); s != Done {
			t.Errorf("what was done stands at %d", s)
		}
		if _, err := f.Commit(t.Context(), web.Turn{State: map[string][]byte{"a": {1}}}); err != nil {
			t.Fatal(err)
		}
		d := f.backend.(*disk)
		if d.job != nil {
			<-d.job.done
		}
		if _, err := f.Commit(t.Context(), web.Turn{State: map[string][]byte{"a": {2}}}); err != nil {
			t.Fatal(err)
		}
		if d.meta.ledger != m.ledger+1 || len(d.meta.runs) != 1 {
			t.Errorf("ledger %d, runs %v", d.meta.ledger, d.meta.runs)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
