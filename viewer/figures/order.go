package figures

import (
	"container/heap"
	"math/rand/v2"
	"slices"
)

// deepFrom is how many pages may be passed over by a heap of them: with more, those that are
// wanted are chosen among all.
const deepFrom = 5000

// ranked returns n ids of an order without equals, behind the first from of them. It changes the
// order of ids, and takes a time linear in their number.
func ranked(ids []int32, less func(i, j int32) bool, from, n int) []int32 {
	if from >= len(ids) || n <= 0 {
		return nil
	}
	chance := rand.New(rand.NewPCG(1, 2))
	choose(chance, ids, from, less)
	ids = ids[from:]
	if n < len(ids) {
		choose(chance, ids, n, less)
		ids = ids[:n]
	}
	return (&best{ids: ids, less: less}).sorted()
}

// choose brings the first n of an order to the front (Hoare 1961, FIND).
func choose(chance *rand.Rand, ids []int32, n int, less func(i, j int32) bool) {
	for len(ids) > 1 && n > 0 && n < len(ids) {
		pivot := ids[chance.IntN(len(ids))]
		i, j := 0, len(ids)-1
		for i <= j {
			for less(ids[i], pivot) {
				i++
			}
			for less(pivot, ids[j]) {
				j--
			}
			if i <= j {
				ids[i], ids[j] = ids[j], ids[i]
				i, j = i+1, j-1
			}
		}
		switch { // ids[:j+1] come first, ids[i:] last
		case n <= j:
			ids = ids[:j+1]
		case n >= i:
			ids, n = ids[i:], n-i
		default:
			return
		}
	}
}

// best keeps the first of many in an order: a heap with the last of them on top.
type best struct {
	ids  []int32
	less func(i, j int32) bool
	most int
}

func (b *best) Len() int           { return len(b.ids) }
func (b *best) Less(i, j int) bool { return b.less(b.ids[j], b.ids[i]) }
func (b *best) Swap(i, j int)      { b.ids[i], b.ids[j] = b.ids[j], b.ids[i] }
func (b *best) Push(x any)         { b.ids = append(b.ids, x.(int32)) }

// Pop is of heap.Interface.
func (b *best) Pop() any {
	x := b.ids[len(b.ids)-1]
	b.ids = b.ids[:len(b.ids)-1]
	return x
}

func (b *best) add(i int32) {
	switch {
	case len(b.ids) < b.most:
		heap.Push(b, i)
	case b.most > 0 && b.less(i, b.ids[0]):
		b.ids[0] = i
		heap.Fix(b, 0)
	}
}

func (b *best) sorted() []int32 {
	slices.SortFunc(b.ids, func(i, j int32) int {
		switch {
		case b.less(i, j):
			return -1
		case b.less(j, i):
			return 1
		}
		return 0
	})
	return b.ids
}
