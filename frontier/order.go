package frontier

// key places a candidate in the order of its host: higher priority first, and
// among equals the one that entered first. Sequences start at 1, so the zero
// key stands for "none".
type key struct {
	prio float64 // never NaN, never -0
	seq  uint64
}

// before tells whether k leaves the frontier before o.
func (k key) before(o key) bool {
	return k.prio > o.prio || k.prio == o.prio && k.seq < o.seq
}

// search returns the index of the first of keys, best first, that is not
// before k.
func search(keys []key, k key) int {
	lo, hi := 0, len(keys)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if keys[mid].before(k) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// heap is a binary heap whose items know their place in it, so that any of
// them can be moved or removed in logarithmic time.
type heap[T comparable] struct {
	items []T
	less  func(a, b T) bool
	moved func(t T, i int) // t is now at i; -1 when it left
}

func (h *heap[T]) len() int { return len(h.items) }

// top returns the least item of a heap that is not empty.
func (h *heap[T]) top() T { return h.items[0] }

func (h *heap[T]) push(t T) {
	h.items = append(h.items, t)
	h.moved(t, len(h.items)-1)
	h.up(len(h.items) - 1)
}

// remove takes out the item at i.
func (h *heap[T]) remove(i int) {
	last := len(h.items) - 1
	out := h.items[i]
	if i != last {
		h.swap(i, last)
	}
	var zero T
	h.items[last] = zero
	h.items = h.items[:last]
	h.moved(out, -1)
	if i != last {
		h.fix(i)
	}
}

// fix restores the order after the item at i changed.
func (h *heap[T]) fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

func (h *heap[T]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(h.items[i], h.items[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *heap[T]) down(i int) (any bool) {
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			return any
		}
		if r := child + 1; r < len(h.items) && h.less(h.items[r], h.items[child]) {
			child = r
		}
		if !h.less(h.items[child], h.items[i]) {
			return any
		}
		h.swap(i, child)
		i, any = child, true
	}
}

func (h *heap[T]) swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.moved(h.items[i], i)
	h.moved(h.items[j], j)
}
