package apprentice

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/waggle-crawler/waggle/internal/wire"
)

// counts counts features of links by class, low first. Numbers of features are
// hashes already, so the table takes their low bits for a place and goes on to
// the next free one.
type counts struct {
	links [2]int // examples
	sum   [2]int // Σ n of all features
	size  int    // |T|
	slots []slot // a power of two, at most half of them taken
	sums  float64
	most  int // features that it takes; 0 = mostFeatures
}

// slot is a feature; of an empty one both counts are 0, and in the table no
// other.
type slot struct {
	id   uint32
	odds float32 // ln (1+n_high)/(1+n_low)
	n    [2]uint32
}

func (t *counts) at(id uint32) *slot {
	mask := len(t.slots) - 1
	for i := int(id) & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.id == id || s.n == [2]uint32{} {
			return s
		}
	}
}

// slot is that of a feature, taken if it was free.
func (t *counts) slot(id uint32) *slot {
	if 2*t.size >= len(t.slots) {
		old := t.slots
		t.slots = make([]slot, max(1024, 2*len(old)))
		for _, s := range old {
			if s.n != [2]uint32{} {
				*t.at(s.id) = s
			}
		}
	}
	s := t.at(id)
	if s.n == [2]uint32{} {
		s.id = id
		t.size++
	}
	return s
}

func (s *slot) count() {
	s.odds = float32(math.Log(float64(1+uint64(s.n[1])) / float64(1+uint64(s.n[0]))))
}

// put sets the counts of a new feature, of which one at least is above 0.
func (t *counts) put(id, low, high uint32) {
	s := t.slot(id)
	s.n = [2]uint32{low, high}
	s.count()
	t.sum[0] += int(low)
	t.sum[1] += int(high)
}

// mostFeatures bounds the features of a table, which are 128 MB then: with one more it would grow. A site of words
// made up for each page would fill any memory.
const mostFeatures = 1<<22 - 1

// add counts an example. A table that is full takes no feature that is new.
func (t *counts) add(features []byte, class int) {
	t.links[class]++
	for ; len(features) >= 4; features = features[4:] {
		id := binary.LittleEndian.Uint32(features)
		if t.size >= cmp.Or(t.most, mostFeatures) && t.at(id).n == [2]uint32{} {
			continue
		}
		s := t.slot(id)
		s.n[class]++
		s.count()
		t.sum[class]++
	}
}

// move takes an example of the other class into class.
func (t *counts) move(features []byte, class int) {
	t.links[class]++
	t.links[1-class]--
	for ; len(features) >= 4; features = features[4:] {
		s := t.at(binary.LittleEndian.Uint32(features))
		if s.n == [2]uint32{} {
			continue // the table was full
		}
		t.sum[class]++
		t.sum[1-class]--
		s.n[class]++
		s.n[1-class]--
		s.count()
	}
}

// settle works out the part of the odds that all features share.
func (t *counts) settle() {
	t.sums = math.Log(float64(t.size+t.sum[0]) / float64(t.size+t.sum[1]))
}

// evidence is Σ n(τ) ln θ_high,τ/θ_low,τ over features uint32 LE each, and how
// many of them are in T.
func (t *counts) evidence(features []byte) (sum float64, n int) {
	for ; len(features) >= 4; features = features[4:] {
		if o, ok := t.odds(binary.LittleEndian.Uint32(features)); ok {
			sum += o
			n++
		}
	}
	return sum, n
}

// odds are ln θ_high,τ/θ_low,τ; ok is false for a feature outside T.
//
//	θ_{c,τ} = (1 + n_c(τ)) / (|T| + Σ_τ' n_c(τ'))
func (t *counts) odds(id uint32) (ln float64, ok bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	s := t.at(id)
	return float64(s.odds) + t.sums, s.n != [2]uint32{}
}

// read sets the table that Learner.AppendBinary wrote.
func (t *counts) read(r *wire.Reader) {
	slots := r.Number(math.MaxInt32)
	size := r.Count(7)
	if slots&(slots-1) != 0 || slots > max(1024, 4*size) || 2*size > slots {
		r.Fail("a table of %d places for %d features", slots, size)
		return
	}
	t.slots, t.size = make([]slot, slots), size
	at := 0
	for range size {
		at += r.Number(math.MaxInt32)
		if at >= slots {
			r.Fail("a place behind the table")
			return
		}
		s := &t.slots[at]
		s.id, s.n = r.Uint32(), [2]uint32{uint32(r.Number(math.MaxUint32)), uint32(r.Number(math.MaxUint32))}
		s.count()
		t.sum[0] += int(s.n[0])
		t.sum[1] += int(s.n[1])
		if s.n == [2]uint32{} {
			r.Fail("a feature that was not seen")
		}
		at++
	}
}
