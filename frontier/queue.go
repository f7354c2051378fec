package frontier

import (
	"slices"
	"sort"
)

// queues are links in memory by the number of their host, of each the best first.
type queues[T any] struct {
	of    [][]item[T]
	moved []item[T] // while they are sorted
}

// item is a link at its place.
type item[T any] struct {
	key
	link *T
}

// find returns a host's queue and the index in it of the first item not before k.
func (s *queues[T]) find(host uint32, k key) ([]item[T], int) {
	for uint32(len(s.of)) <= host {
		s.of = append(s.of, nil)
	}
	q := s.of[host]
	return q, sort.Search(len(q), func(i int) bool { return !q[i].before(k) })
}

// at returns the link at k, nil if there is none.
func (s *queues[T]) at(host uint32, k key) *T {
	q, i := s.find(host, k)
	if i == len(q) || q[i].key != k {
		return nil
	}
	return q[i].link
}

func (s *queues[T]) put(host uint32, k key, link *T) {
	q, i := s.find(host, k)
	s.of[host] = slices.Insert(q, i, item[T]{k, link})
}

// remove takes out the link at k, which is there.
func (s *queues[T]) remove(host uint32, k key) {
	q, i := s.find(host, k)
	if len(q) == 1 {
		s.of[host] = nil
		return
	}
	if i == 0 {
		q[0] = item[T]{}
		s.of[host] = q[1:]
		return
	}
	s.of[host] = slices.Delete(q, i, i+1)
}

// worst is backend.worst.
func (s *queues[T]) worst(host uint32, bound key) (k key, ok bool) {
	q, i := s.find(host, bound)
	if bound.seq == 0 {
		i = len(q)
	}
	if i == 0 {
		return key{}, false
	}
	return q[i-1].key, true
}

// slice is a host's queue and of it at most n items, q[i:j], from the first that is not before a key, from
// the first of all where that is zero; next is the key behind them, zero where there is none.
func (s *queues[T]) slice(host uint32, from key, n int) (q []item[T], i, j int, next key) {
	q, i = s.find(host, from)
	if from.seq == 0 {
		i = 0
	}
	if j = min(i+n, len(q)); j < len(q) {
		next = q[j].key
	}
	return q, i, j, next
}

// reorder sorts a queue of which only q[i:j] is out of order: those apart, and then
// both into one, so that a slice of a long queue costs what it moves.
func (s *queues[T]) reorder(q []item[T], i, j int) {
	s.moved = append(s.moved[:0], q[i:j]...)
	slices.SortFunc(s.moved, func(a, b item[T]) int {
		if a.before(b.key) {
			return -1
		}
		return 1 // no two are equal
	})
	rest := i + copy(q[i:], q[j:]) // q[:rest] are the others, in order
	for left := len(s.moved); left > 0; {
		if last := s.moved[left-1]; rest > 0 && last.before(q[rest-1].key) {
			rest--
			q[rest+left] = q[rest]
		} else {
			left--
			q[rest+left] = last
		}
	}
	clear(s.moved) // which would hold links that have left
}
