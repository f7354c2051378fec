package figures

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
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

// cursor is how far somebody has got through the list that was asked for last: who turns its pages
// asks for those that follow one that was shown, and these are chosen in one pass, however deep they lie.
type cursor struct {
	mu   sync.Mutex // lists are made by several goroutines at once
	list string     // the filter, without From and N
	of   int        // events that there were
	at   map[int]int32
}

// mostPassed bounds the places of a list that are kept.
const mostPassed = 1 << 16

// passedList is what of a filter says which list it is a part of; "" = it is not kept.
func passedList(f Filter) string {
	if f.Only != nil {
		return ""
	}
	most := 1.0
	if f.Most != nil {
		most = *f.Most
	}
	f.From, f.N, f.Most = 0, 0, nil
	return fmt.Sprintf("%+v %v", f, most)
}

// before returns the page before the first one that a filter wants, if it is known.
func (p *cursor) before(c *Crawl, f Filter) (id int32, ok bool) {
	if f.From <= 0 {
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of != c.lines || p.list == "" || p.list != passedList(f) {
		return 0, false
	}
	id, ok = p.at[f.From]
	return id, ok
}

// note keeps that a page is the last of the first n.
func (p *cursor) note(c *Crawl, f Filter, n int, id int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := passedList(f); p.of != c.lines || p.list != list || len(p.at) >= mostPassed {
		p.list, p.of, p.at = list, c.lines, map[int]int32{}
	}
	p.at[n] = id
}
