package frontier

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestKeyOrder asserts that the store's keys sort as candidates leave, and that
// nothing of them is lost.
func TestKeyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		priority := rapid.OneOf(
			rapid.SampledFrom([]float64{0, 1, -1, math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64}),
			rapid.Float64())
		draw := func() key { return key{priority.Draw(t, "priority") + 0, rapid.Uint64Min(1).Draw(t, "sequence")} }
		a, b := draw(), draw()
		ka, kb := appendCandidateKey(nil, 7, a), appendCandidateKey(nil, 7, b)
		if a != b && (bytes.Compare(ka, kb) < 0) != a.before(b) {
			t.Errorf("%v and %v sort as %x and %x", a, b, ka, kb)
		}
		host, back, err := parseCandidateKey(ka)
		if host != 7 || back != a || err != nil {
			t.Errorf("%v came back as %v of host %d, %v", a, back, host, err)
		}
		if other := appendCandidateKey(nil, 8, b); bytes.Compare(ka, other) >= 0 {
			t.Errorf("host 7 %x sorts behind host 8 %x", ka, other)
		}
	})
}

// TestTable compares the seen-set with a map.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, want := newTable(), make(map[uint64]mark)
		defer table.free()
		// Few shards and neighbouring places, so that runs of full slots meet.
		hash := rapid.Custom(func(t *rapid.T) uint64 {
			return rapid.Uint64Range(1, 3).Draw(t, "shard")<<(64-shardBits) | rapid.Uint64Range(1, 40).Draw(t, "place")<<rapid.SampledFrom([]uint{0, 64 - shardBits - 6}).Draw(t, "shift")
		})
		for range rapid.IntRange(1, 300).Draw(t, "sets") {
			h := hash.Draw(t, "hash")
			m := rapid.SampledFrom([]mark{{how: taken}, {how: dropped}, {key{-1, 5}, waiting, 2}, {key{1, 6}, waiting, 0}}).Draw(t, "mark")
			table.set(h, m)
			want[h] = m
		}
		if table.n != len(want) {
			t.Errorf("%d addresses, want %d", table.n, len(want))
		}
		for h, m := range want {
			if got := table.get(h); got != m {
				t.Errorf("%x: %v, want %v", h, got, m)
			}
		}
		n := 0
		table.each(func(h uint64, m mark) {
			n++
			if want[h] != m {
				t.Errorf("each gave %x as %v, want %v", h, m, want[h])
			}
		})
		if n != len(want) {
			t.Errorf("each gave %d addresses, want %d", n, len(want))
		}
		if got := table.get(1 << 40); got != (mark{}) {
			t.Errorf("an address never set is %v", got)
		}
	})
}

// TestTableLarge grows shards over the size from which they get pages of their
// own.
func TestTableLarge(t *testing.T) {
	table := newTable()
	defer table.free()
	hash := func(i uint64) uint64 { return i*0x9e3779b97f4a7c15&^(1<<shardBits-1) | 5 }
	const n = 20_000 // in one shard
	for i := range uint64(n) {
		table.set(hash(i+1), mark{key: key{float64(i), i + 1}, how: waiting})
	}
	for i := range uint64(n) {
		if m := table.get(hash(i + 1)); m.seq != i+1 {
			t.Fatalf("address %d is %v", i, m)
		}
	}
}

// FuzzCandidate asserts that a damaged record is an error, or a candidate that
// is written as it was read.
func FuzzCandidate(f *testing.F) {
	f.Add([]byte("\x01\x00\x02\x10http://a.example\x00\x01a\x02fe\x00"))
	f.Add([]byte("\x01\x00\x02\x11http://a.example/\x11http://b.example/\x01a\x02fe\x01m"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCandidate(b, key{1, 1})
		if err != nil {
			return
		}
		again, err := parseCandidate(appendCandidate(nil, &c), key{1, 1})
		if err != nil || again.URL != c.URL || again.From != c.From || again.Depth != c.Depth || again.Kind != c.Kind ||
			!bytes.Equal(again.Features, c.Features) || !bytes.Equal(again.Memory, c.Memory) {
			t.Errorf("%+v came back as %+v, %v", c, again, err)
		}
	})
}
