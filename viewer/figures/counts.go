package figures

import (
	"cmp"
	"math/bits"
	"slices"
)

// What is shown of many pages and links is counted as the events come: who looks at a
// crawl of a million of them does not wait until all are gone through.

// bitset is a set of numbers from 0.
type bitset []uint64

func (b *bitset) set(i int, in bool) {
	for len(*b) <= i/64 {
		*b = append(*b, 0)
	}
	if in {
		(*b)[i/64] |= 1 << (i % 64)
	} else {
		(*b)[i/64] &^= 1 << (i % 64)
	}
}

// count is how many numbers from one up to another, without that, are in the set.
func (b bitset) count(from, to int) (n int) {
	for to = min(to, 64*len(b)); from < to; {
		w := b[from/64] >> (from % 64)
		step := min(64-from%64, to-from)
		if step < 64 {
			w &= 1<<step - 1
		}
		n += bits.OnesCount64(w)
		from += step
	}
	return n
}

// tally counts links by the codes of their priorities, see encode: in the order of
// codes, without those of which there are none.
type tally []priorityCount

// priorityCount is how many links wait with a priority.
type priorityCount struct {
	code  uint16
	links int32
}

func (t *tally) add(code uint16, links int32) {
	i, ok := slices.BinarySearchFunc(*t, code, func(e priorityCount, code uint16) int { return cmp.Compare(e.code, code) })
	if !ok {
		*t = slices.Insert(*t, i, priorityCount{code, links})
		return
	}
	if (*t)[i].links += links; (*t)[i].links == 0 {
		*t = slices.Delete(*t, i, i+1)
	}
}

// pair is two hosts.
type pair struct{ from, to uint32 }

// lead is the pages of a host that were found on pages of another.
type lead struct{ pages, relevant int }

// count counts a word.
func count(counts *[]int, word uint16) {
	for len(*counts) <= int(word) {
		*counts = append(*counts, 0)
	}
	(*counts)[word]++
}
